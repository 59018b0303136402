"""The verdict on a mutant held against the oracle: what was killed, missed, a false alarm or equivalent."""

from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from verdict.concrete import AGREE, CANNOT, DIFFER, FAULT, Comparison, compare_prepared, prepare
from verdict.errors import VerdictError
from verdict.graph import Plan
from verdict.options import Options
from verdict.outcome import Outcome
from verdict.phases import CERTAIN, Examined, Query, walk
from verdict.pipeline import decide
from verdict.stage import Stage

KILLED, MISSED, FALSE_ALARM = "killed", "missed", "false alarm"
EQUIVALENT, UNKNOWN, REFUSED, UNCHECKED = "equivalent", "unknown", "refused", "unchecked"
CLASSES = (KILLED, REFUSED, EQUIVALENT, UNKNOWN, FALSE_ALARM, MISSED, UNCHECKED)
"""REFUSED: the plan is malformed, no question can be put (exit status 2). UNCHECKED: the oracle cannot run it."""


Oracle = Callable[[Plan, Plan], tuple[str, str]]
"""(single, plan) -> what the oracle says of them, and a sentence: one of the outcomes of verdict.comparison."""
MOST_SWEPT = 500
"""Up to so many nodes on all ranks, the sweep is asked about what the walk leaves open."""


class Judgement(NamedTuple):
    """verdict: PROVED, REFUTED, UNKNOWN, or REFUSED where no question can be put. reasons: codes, or what is open."""

    outcome: str
    verdict: str
    oracle: str
    reasons: tuple[str, ...]
    detail: str


class Known:
    """What mutants of one pair have in common, by their number of columns: what was examined first, and the outcomes of
    stages, each of which is proved once.
    """

    def __init__(self) -> None:
        self._outcomes: dict[int, dict[Stage, Outcome]] = {}
        self.before: dict[int, Examined] = {}

    def of(self, plan: Plan) -> MutableMapping[Stage, Outcome]:
        """The outcomes that hold for plans of as many columns as this one has."""
        return self._outcomes.setdefault(plan.columns, {})


def judge(single: Plan, plan: Plan, oracle: Oracle, options: Options, known: Known | None = None) -> Judgement:
    """Ask the verifier and the oracle whether `plan` computes what `single` computes.

    Of what numbers do not show (types that are stated wrongly, the order of memory's use) no oracle can say anything.
    """
    verdict, reasons = _verdict(single, plan, options, known or Known())
    said, detail = oracle(single, plan)
    outcome = outcome_of(verdict, said)
    if outcome == FALSE_ALARM and CERTAIN.issuperset(reasons):
        outcome = UNCHECKED
    return Judgement(outcome, verdict, said, reasons, detail)


def _verdict(single: Plan, plan: Plan, options: Options, known: Known) -> tuple[str, tuple[str, ...]]:
    query = Query(single, plan, replace(options, most_swept=MOST_SWEPT))
    try:
        examined = walk(query, known.of(plan), known.before.get(plan.columns))
    except VerdictError as error:
        return "REFUSED", (error.problem,)
    known.of(plan).update(examined.outcomes)
    if examined.walks:
        known.before.setdefault(plan.columns, examined)
    report = decide(query, examined).report
    codes = tuple(sorted({finding.code for finding in report.findings}))
    return report.verdict.name, codes or tuple(str(gap) for gap in report.unanswered[:1])


def own_oracle(seeds: Sequence[int]) -> Oracle:
    """The engine `own` on these seeds: what the first of them says that shows no agreement."""
    return partial(_by_own_engine, seeds)


def _by_own_engine(seeds: Sequence[int], single: Plan, plan: Plan) -> tuple[str, str]:
    prepared = prepare(single, plan)
    if isinstance(prepared, Comparison):
        return prepared.outcome, "; ".join(map(str, prepared.faults))
    for seed in seeds:
        found = compare_prepared(prepared, seed)
        if found.outcome != AGREE:
            row = next(iter(found.differing), None)
            told = f"{row.what} {row.where}: error {row.error:.3g} of {row.size:.3g}" if row else ""
            return found.outcome, "; ".join(map(str, found.faults)) or told
    return AGREE, ""


def outcome_of(verdict: str, oracle: str) -> str:
    """The class of a verdict, where the oracle says this."""
    if verdict == "UNKNOWN":
        return UNKNOWN
    if verdict == "REFUSED":
        return REFUSED
    if oracle == CANNOT:
        return UNCHECKED
    wrong = oracle in (DIFFER, FAULT)
    if verdict == "PROVED":
        return MISSED if wrong else EQUIVALENT
    return KILLED if wrong else FALSE_ALARM
