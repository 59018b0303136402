"""The two plan files of a run of the evaluation."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from scripts import processes
from scripts.runs import Run
from verdict.backends import load, save
from verdict.graph import Node, Plan


def files(run: Run, plans: Path, folder: Path) -> tuple[Path, Path]:
    """Its files below `plans`, or generated ones in `folder`, its fault put into the parallel plan."""
    if not run.model:
        return plans / run.pair[0], plans / run.pair[1]
    single, parallel = processes.generate(run.model, run.sizes, folder)
    if run.change:
        save(_changed(load(str(parallel)), run.change), str(parallel))
    return single, parallel


def _changed(plan: Plan, change: Callable[[Node], Node | None]) -> Plan:
    segments = (
        segment._replace(nodes=tuple(node for node in map(change, segment.nodes) if node is not None))
        for segment in plan.segments
    )
    return replace(plan, segments=tuple(segments))
