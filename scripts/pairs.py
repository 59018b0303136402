"""The two plan files of a run of the evaluation."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import click

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
    return single, _mutated(parallel, *run.mutation) if run.mutation else parallel


def _mutated(parallel: Path, kind: str, seed: int) -> Path:
    """The file of the plan with one fault of a kind."""
    folder = parallel.parent / "faulty"
    words = ("mutate", str(parallel), "--kinds", kind, "--seed", str(seed), "--count", "1", "-o", str(folder))
    done = processes.run(*words)
    if done.status != 0:
        raise click.ClickException(f"{kind}: no fault was put in: {done.errors.strip() or done.verdict}")
    return folder / f"{kind}-0.plan"


def _changed(plan: Plan, change: Callable[[Node], Node | None]) -> Plan:
    segments = (
        segment._replace(nodes=tuple(node for node in map(change, segment.nodes) if node is not None))
        for segment in plan.segments
    )
    return replace(plan, segments=tuple(segments))
