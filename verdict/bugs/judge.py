"""What Verdict says of one bug: the right plan must be proved, the one with the bug refuted with the expected code."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

from verdict.errors import VerdictError
from verdict.graph import Plan
from verdict.options import Options
from verdict.report import Verdict
from verdict.verify import verify

REFUSED = "REFUSED"
"""No question could be put: a plan is malformed, or the two have nothing in common."""


class Bug(Protocol):
    """A bug as the suite's files describe it."""

    @property
    def name(self) -> str:
        """Of its file."""

    @property
    def title(self) -> str:
        """What went wrong, in one line."""

    @property
    def sources(self) -> Sequence[str]:
        """Where it was reported."""

    @property
    def category(self) -> str:
        """What kind of bug it is."""

    @property
    def parallelism(self) -> str:
        """Where it occurs."""

    @property
    def expected(self) -> Sequence[str]:
        """The codes of the findings that belong to it; "A or B" where either says what is wrong."""

    @property
    def denied(self) -> Sequence[str]:
        """The assumptions that are denied."""

    def twin(self) -> tuple[Plan, Plan]:
        """The single-device plan and the right parallel plan."""

    def plans(self) -> tuple[Plan, Plan]:
        """The single-device plan and the parallel plan with the bug."""


class Answer(NamedTuple):
    """verdict: its name, or REFUSED. codes: of the findings; for what is open or refused, why."""

    verdict: str
    codes: tuple[str, ...]


@dataclass(frozen=True)
class Judged:
    """One bug with the answers on both plans. seconds: for both, reading included."""

    bug: Bug
    twin: Answer
    found: Answer
    seconds: float

    @property
    def as_expected(self) -> bool:
        """The right plan is proved, the other refuted, and its codes are those that were expected."""
        choices = [set(code.split(" or ")) for code in self.bug.expected]
        found = set(self.found.codes)
        named = all(found & choice for choice in choices) and found <= set().union(*choices)
        return self.twin == Answer(Verdict.PROVED.name, ()) and self.found.verdict == Verdict.REFUTED.name and named


def judge(bug: Bug, options: Options) -> Judged:
    """Ask about both plans. Raises VerdictError where the suite's own file is malformed."""
    start = time.perf_counter()
    asked = replace(options, denied=options.denied | frozenset(bug.denied))
    twin, found = _answer(bug.twin, asked), _answer(bug.plans, asked)
    return Judged(bug, twin, found, time.perf_counter() - start)


def _answer(plans: Callable[[], tuple[Plan, Plan]], options: Options) -> Answer:
    single, parallel = plans()
    try:
        report = verify(single, parallel, options)
    except VerdictError as error:
        return Answer(REFUSED, (error.problem,))
    codes = tuple(sorted({finding.code for finding in report.findings}))
    return Answer(report.verdict.name, codes or tuple(str(gap) for gap in report.unanswered[:1]))
