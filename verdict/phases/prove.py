"""Every distinct stage is proved or refuted once, in processes with limits."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from verdict.observer import SILENT, Observer, Phase
from verdict.options import Options
from verdict.outcome import Outcome
from verdict.stage import Stage, run
from verdict.workers import run_all

STAGES = "stages"
"""What is counted."""


def prove(
    stages: Sequence[Stage],
    columns: int,
    options: Options,
    known: Mapping[Stage, Outcome],
    observer: Observer = SILENT,
) -> list[Outcome]:
    """The outcome of every stage of a plan of so many columns, in their order; those that are known are not asked."""
    asked = [stage for stage in stages if stage not in known]
    solver = replace(options.solver, alike=not options.exhaustive)
    observer.advance(Phase.PROVE, 0, len(asked), STAGES)
    fresh = iter(
        run_all(
            asked,
            partial(run, columns=columns, options=solver, exhaustive=options.exhaustive),
            options.workers,
            options.solver.timeout,
            options.memory_mib,
            lambda done: observer.advance(Phase.PROVE, done, len(asked), STAGES),
        )
    )
    return [known[stage] if stage in known else next(fresh) for stage in stages]
