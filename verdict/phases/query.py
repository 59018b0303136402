"""What is asked of a run, and what its phases have found so far."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from verdict.diagnose import Raw
from verdict.graph import Plan, without_effects
from verdict.lineage import Lineages
from verdict.observer import SILENT, Observer
from verdict.options import Options
from verdict.outcome import Outcome
from verdict.report import Open, Report
from verdict.stage import Cut, Stage


@dataclass(frozen=True)
class Query:
    """Whether `parallel` computes what `single` computes, under these options, and who watches. causes: whether it is
    asked, too, what makes a plan wrong that is refuted.
    """

    single: Plan
    parallel: Plan
    options: Options = field(default_factory=Options)
    observer: Observer = SILENT
    causes: bool = True

    @cached_property
    def values(self) -> tuple[Plan, Plan]:
        """Both plans as functions: without their effects."""
        return without_effects(self.single), without_effects(self.parallel)


Answers = Callable[[Query], Iterator[Report]]
"""What tells the answers to a query, each of which stands by itself."""


class Examined(NamedTuple):
    """The report with the findings as they were made, and what it was made from: the walked columns, the outcome of
    every distinct stage, what was found at the door and about the results, the stages, and what the single-device plan
    leaves without a question. ran: whether both plans were run on numbers, from end to end. uneven: whether nodes meet
    others in some microbatches than in others: what is walked of one microbatch proves nothing of the plan.
    """

    report: Report
    walks: tuple[Lineages, ...] = ()
    outcomes: Mapping[Stage, Outcome] = {}
    raw: Raw = Raw()
    stages: Cut = Cut((), ())
    missing: tuple[Open, ...] = ()
    ran: bool = False
    uneven: bool = False
