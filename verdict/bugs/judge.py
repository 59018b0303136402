"""What Verdict says of one bug: the right plan must be proved, the one with the bug refuted with the expected code."""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

from verdict.errors import VerdictError
from verdict.graph import Plan
from verdict.options import Options
from verdict.outcome import Finding
from verdict.pipeline import verify
from verdict.report import Verdict

NAME = re.compile(r"[\w.'-]+(?::\d+)?")
"""A name in a place, or a line of a file."""
REFUSED = "REFUSED"
"""No question could be put: a plan is malformed, or the two have nothing in common."""


class Bug(Protocol):
    """A bug as the suite's files describe it."""

    @property
    def name(self) -> str:
        """Of its file."""

    @property
    def recorded(self) -> bool:
        """Whether its plans are recordings of programs."""

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
    def place(self) -> Sequence[str]:
        """The names of which the first finding must name one."""

    @property
    def ranks(self) -> Sequence[int]:
        """The ranks at which the first finding must be; none are any."""

    @property
    def missed(self) -> Sequence[str]:
        """What is known not to be reached: proved, refuted, code, place."""

    @property
    def denied(self) -> Sequence[str]:
        """The assumptions that are denied."""

    def twin(self) -> tuple[Plan, Plan]:
        """The single-device plan and the right parallel plan."""

    def plans(self) -> tuple[Plan, Plan]:
        """The single-device plan and the parallel plan with the bug."""


class Answer(NamedTuple):
    """verdict: its name, or REFUSED. codes: of the findings; for what is open or refused, why.

    findings: the first one first. repaired: whether a repair is proved.
    """

    verdict: str
    codes: tuple[str, ...]
    findings: tuple[Finding, ...] = ()
    repaired: bool = False


@dataclass(frozen=True)
class Judged:
    """One bug with the answers on both plans. seconds: for both, reading and repairs included."""

    bug: Bug
    twin: Answer
    found: Answer
    seconds: float

    @property
    def proved(self) -> bool:
        """Whether the right plan is proved."""
        return self.twin.verdict == Verdict.PROVED.name

    @property
    def refuted(self) -> bool:
        """Whether the plan with the bug is refuted."""
        return self.found.verdict == Verdict.REFUTED.name

    @property
    def code(self) -> bool:
        """Whether the codes of the findings are those that were expected."""
        choices = [set(code.split(" or ")) for code in self.bug.expected]
        found = set(self.found.codes)
        return self.refuted and all(found & choice for choice in choices) and found <= set().union(*choices)

    @property
    def place(self) -> bool:
        """Whether the first finding is where the bug is."""
        if not self.found.findings:
            return False
        first = self.found.findings[0]
        ranks = not self.bug.ranks or set(first.ranks) == set(self.bug.ranks)
        return ranks and bool(set(self.bug.place) & set(NAME.findall(first.where)))

    @property
    def single(self) -> bool:
        """Whether one finding tells of the bug."""
        return len(self.found.findings) == 1

    @property
    def repaired(self) -> bool:
        """Whether a repair is proved."""
        return self.found.repaired

    @property
    def missed(self) -> tuple[str, ...]:
        """What is not reached of that which the bug's file asks for."""
        return tuple(self._missed())

    def _missed(self) -> Iterator[str]:
        if not self.proved:
            yield "proved"
        if not self.refuted:
            yield "refuted"
        if not self.code:
            yield "code"
        if not self.place:
            yield "place"

    @property
    def as_expected(self) -> bool:
        """Whether exactly that is missed which is known to be."""
        return set(self.missed) == set(self.bug.missed)


def judge(bug: Bug, options: Options) -> Judged:
    """Ask about both plans. Raises VerdictError where the suite's own file is malformed."""
    start = time.perf_counter()
    asked = replace(options, denied=options.denied | frozenset(bug.denied))
    twin, found = _answer(bug.twin, replace(asked, attempts=0)), _answer(bug.plans, asked)
    return Judged(bug, twin, found, time.perf_counter() - start)


def _answer(plans: Callable[[], tuple[Plan, Plan]], options: Options) -> Answer:
    single, parallel = plans()
    try:
        report = verify(single, parallel, options)
    except VerdictError as error:
        return Answer(REFUSED, (error.problem,))
    codes = tuple(sorted({finding.code for finding in report.findings}))
    repaired = any(repair.proved for repair in report.repairs)
    why = tuple(str(gap) for gap in report.unanswered[:1])
    return Answer(report.verdict.name, codes or why, report.findings, repaired)
