"""The whole story within limits, told in answers that each stand by themselves: the last one is the best.

Before anything is known the answer is UNKNOWN. What the walk finds is not REFUTED before numbers confirm it. Causes and
repairs come last, and change no verdict.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from verdict.certify import unconfirmed
from verdict.examine import Observe, examine, silent
from verdict.graph import Plan
from verdict.limits import Limits, OutOfTime, limited
from verdict.options import Options
from verdict.outcome import Finding
from verdict.pipeline import deeper, explain, needs_no_run
from verdict.repair import Proposal, repairs, with_help
from verdict.report import Open, Proofs, Report, Verdict
from verdict.summary import side_of


class Told(NamedTuple):
    """An answer, and the repairs that go with it, those that are proved first."""

    report: Report
    proposals: tuple[Proposal, ...] = ()


def tell(
    single: Plan,
    parallel: Plan,
    options: Options,
    attempts: int | None,
    limits: Limits,
    observe: Observe = silent,
) -> Told:
    """Whether `parallel` computes what `single` computes, as far as the limits allow.

    attempts: how many repairs are tried at most; None leaves it to the search. Raises PlanFileError where a plan is
    malformed, PlanMismatchError where the two have nothing in common.
    """
    told = Told(_nothing_yet(single, parallel))
    try:
        with limited(limits):
            for answer in _story(single, parallel, options, attempts, observe):
                told = answer
    except (OutOfTime, MemoryError) as error:
        return told._replace(report=_cut_short(told.report, limits.in_words(error)))
    return told


def _story(single: Plan, parallel: Plan, options: Options, attempts: int | None, observe: Observe) -> Iterator[Told]:
    examined = examine(single, parallel, options, observe)
    yield Told(unconfirmed(examined.report, needs_no_run(examined), "numbers were not asked yet"))
    examined = deeper(single, parallel, options, examined, observe)
    yield Told(examined.report)
    observe("repair", 0, 1, None)
    proposals = repairs(single, parallel, examined, options, attempts)
    observe("report", 0, 1, None)
    yield Told(with_help(explain(single, parallel, options, examined), proposals), proposals)


def _nothing_yet(single: Plan, parallel: Plan) -> Report:
    return Report(side_of(single), side_of(parallel), (), (), (), Proofs())


def _cut_short(report: Report, why: str) -> Report:
    if report.verdict is Verdict.UNKNOWN:
        return replace(report, open=(Open("the run", why), *report.open))
    return replace(report, notes=(*report.notes, Finding("cut-short", "causes and repairs were not looked for", why)))
