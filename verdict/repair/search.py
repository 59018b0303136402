"""The search: repairs that the findings suggest are tried on the plan, and proved by verifying the whole of it.

The earliest findings are repaired one by one, since others may follow from them; what is left then, all at once.
Each attempt costs one verification of the repaired plan, in which only stages are proved that are new. How many
attempts are made depends on the size of the plan alone, so that the same plans give the same report.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import islice
from typing import NamedTuple

from verdict.errors import VerdictError
from verdict.graph import ABSENT, GRAD, Fault, Plan
from verdict.lineage import Evidence
from verdict.observer import Phase
from verdict.options import Options
from verdict.outcome import Finding, Outcome
from verdict.phases import Examined, Query, walk
from verdict.repair.addends import add_addend
from verdict.repair.attributes import attributes_of_namesake, refuted, restore_attributes
from verdict.repair.calls import as_twin, count_microbatches, in_order_of_microbatches, reduce_late
from verdict.repair.case import Candidate, Case
from verdict.repair.collectives import agree, refit
from verdict.repair.dataflow import produce
from verdict.repair.edits import Patch, apply, joined
from verdict.repair.namesakes import as_namesake, declare_gradients
from verdict.repair.operators import insert_operator
from verdict.repair.order import order_by_region, place_by_rank
from verdict.repair.peers import pair_by_region
from verdict.repair.reductions import reduce_origin, reduce_over_replicas, reduce_parts
from verdict.repair.superfluous import drop_addend, drop_reduction
from verdict.repair.wiring import own_microbatch, redeclare, rewire
from verdict.report import Repair, Report, Verdict
from verdict.stage import Stage

Kind = Callable[[Case, Finding], Iterator[Candidate]]
Decided = Callable[[Query, Examined], Examined]
"""What goes on from a walk to the verdict, by the sweep and by numbers."""
KINDS: tuple[Kind, ...] = (
    reduce_origin, reduce_parts, reduce_over_replicas, drop_addend, drop_reduction, order_by_region, place_by_rank,
    pair_by_region, rewire, own_microbatch, agree, refit, add_addend, declare_gradients, as_namesake, produce, as_twin,
    count_microbatches, in_order_of_microbatches, reduce_late, restore_attributes, attributes_of_namesake, redeclare,
    insert_operator,
)  # fmt: skip
"""The kinds of repair, in the order in which they are tried. Each knows what it can do nothing about."""
EARLY = 2
"""How many findings are repaired one by one before the rest at once."""
EACH = 6
"""How many candidates of one finding are tried."""
NODES = 24_000
"""How many nodes all attempts together may have: each attempt verifies the whole of a repaired plan."""
LEAST, ALL_ATTEMPTS = 2, 12
"""Attempts: as many as make NODES nodes, within these bounds."""
MOST_SWEPT = 400
"""Up to so many nodes, a repaired plan that the walk does not prove is decided as any plan is, by the sweep, too: that
takes a fraction of a second, and much longer for larger plans.
"""


class _Trial(NamedTuple):
    """Candidates to be made at once, each with the findings that suggest it."""

    parts: tuple[tuple[Candidate, tuple[Finding, ...]], ...]


class _Step(NamedTuple):
    """A trial that was accepted: the findings before it, its edits, and what it gave."""

    before: tuple[Finding, ...]
    trial: _Trial
    patch: Patch
    plan: Plan
    examined: Examined


class _Told(NamedTuple):
    """A repair without the plan that all repairs make, see `Repair`."""

    codes: tuple[str, ...]
    sentence: str
    proved: bool
    findings: tuple[Finding, ...]


class Found(NamedTuple):
    """The repairs of a plan: the edits that all of them make, in their order, and what is said of each."""

    patches: tuple[Patch, ...]
    told: tuple[_Told, ...]


def repairs(query: Query, examined: Examined, decided: Decided | None = None) -> tuple[Repair, ...]:
    """Repairs of a refuted plan, see `found_repairs`."""
    return with_plan(query.parallel, found_repairs(query, examined, decided))


def with_plan(parallel: Plan, found: Found) -> tuple[Repair, ...]:
    """The repairs that were found of a plan, each with the plan that all of them make."""
    plan = reduce(apply, found.patches, parallel)
    return tuple(Repair(one.codes, one.sentence, plan, one.proved, one.findings) for one in found.told)


def found_repairs(query: Query, examined: Examined, decided: Decided | None = None) -> Found:
    """Repairs of a refuted plan: all of them together are proved, or each removes what it says it does.

    examined: what was found of it. decided: decides a small repaired plan that its walk does not prove. None are looked
    for in a plan with effects, which the repairs here do not know.
    """
    parallel, attempts = query.parallel, query.options.attempts
    left = most = 0 if parallel.effects else _attempts(parallel) if attempts is None else attempts

    def tried(spent: int) -> None:
        query.observer.advance(Phase.REPAIR, most - left + spent, most, "attempts")

    known: dict[Stage, Outcome] = dict(examined.outcomes)
    steps: list[_Step] = []
    plan = parallel
    while left > 0 and examined.report.swept is None and examined.report.verdict is Verdict.REFUTED:
        case = Case(query.single, plan, examined)
        found, spent = _step(case, query.options, known, left, len(steps) < EARLY, decided, tried)
        left -= spent
        if found is None:
            break
        steps.append(found)
        plan, examined = found.plan, found.examined
    return Found(tuple(step.patch for step in steps), tuple(_repairs(steps, examined)))


def with_repairs(report: Report, found: tuple[Repair, ...]) -> Report:
    """The report with repairs, each as the help of the findings that it is about."""
    return replace(report, findings=tuple(_helped(finding, found) for finding in report.findings), repairs=found)


def _helped(finding: Finding, repairs: Sequence[Repair]) -> Finding:
    """The finding with the sentences of the repairs for its nodes and tensors; with all, where none is for it."""
    about = _about((finding.evidence, *finding.also))
    alone = [one.sentence for one in repairs if about & _about(found.evidence for found in one.findings)]
    mine = alone or [one.sentence for one in repairs if one.proved or len(repairs) == 1]
    return replace(finding, help="; ".join(dict.fromkeys(mine))) if mine else finding


def _about(evidence: Iterable[object]) -> set[tuple[object, ...]]:
    """The nodes and the tensors that evidence names."""
    found: set[tuple[object, ...]] = set()
    for one in evidence:
        if isinstance(one, Evidence | Fault):
            found |= {(place.device, place.name.removesuffix(GRAD)) for place in one.places}
            found |= {("tensor", tensor) for tensor in one.tensors}
    return found


def _attempts(plan: Plan) -> int:
    return max(LEAST, min(ALL_ATTEMPTS, NODES // max(plan.size, 1)))


def _step(
    case: Case, options: Options, known: dict[Stage, Outcome], left: int, alone: bool, decided: Decided | None,
    tried: Callable[[int], None],
) -> tuple[_Step | None, int]:  # fmt: skip
    """The first trial that proves the plan, else one after which less is wrong; and how many were made.

    tried: told of each that is over.
    """
    best: _Step | None = None
    before = case.examined.report
    spent = 0
    for trial in islice(_trials(case, alone), left):
        spent += 1
        found = _tried(case, trial, options, known, decided)
        tried(spent)
        if found is None:
            continue
        known.update(found.examined.outcomes)
        after = found.examined.report
        if after.verdict is Verdict.PROVED:
            return found, spent
        if len(after.open) <= len(before.open) and _wrong(after) < _wrong(best.examined.report if best else before):
            best = found
            if not _names(after) - _names(before) and len(before.findings) > 1:
                break
    return best, spent


def _trials(case: Case, alone: bool) -> Iterator[_Trial]:
    """What to try: the first candidate of every finding together, then all candidates one by one.

    alone: the first candidates of the first findings by themselves before that, since the others may follow.
    """
    offers = [(finding, _candidates(case, finding)) for finding in case.examined.report.findings]
    suggested: list[tuple[Candidate, tuple[Finding, ...]]] = []
    for finding, candidates in offers:
        candidate = next(candidates, None)
        same = [k for k, (other, _) in enumerate(suggested) if candidate and other.patch == candidate.patch]
        if same:
            suggested[same[0]] = (suggested[same[0]][0], (*suggested[same[0]][1], finding))
        elif candidate:
            suggested.append((candidate, (finding,)))
    early = suggested[:EARLY] if alone else []
    yield from (_Trial((part,)) for part in early)
    fits = joined(case.plan, [candidate.patch for candidate, _ in suggested])[1]
    together = tuple(part for part, fit in zip(suggested, fits, strict=True) if fit)
    if len(together) > 1:
        yield _Trial(together)
    yield from (_Trial((part,)) for part in suggested[len(early) :])
    tried = [candidate for candidate, _ in suggested]
    for finding, candidates in offers:
        for candidate in candidates:
            if all(candidate.patch != other.patch for other in tried):
                tried.append(candidate)
                yield _Trial(((candidate, (finding,)),))


def _candidates(case: Case, finding: Finding) -> Iterator[Candidate]:
    return islice((candidate for kind in KINDS for candidate in kind(case, finding)), EACH)


def _tried(
    case: Case, trial: _Trial, options: Options, known: Mapping[Stage, Outcome], decided: Decided | None
) -> _Step | None:
    """The plan with a trial, verified; None where that makes no plan. What decides it besides counts where it proves
    it: what the walk says of it is what the next step goes on from.
    """
    patch, _ = joined(case.plan, [candidate.patch for candidate, _ in trial.parts])
    query = Query(case.single, apply(case.plan, patch), options)
    try:
        examined = walk(query, known, case.examined, case.plan)
        if decided and examined.report.verdict is not Verdict.PROVED and query.parallel.size <= MOST_SWEPT:
            whole = decided(query, examined)
            examined = whole if whole.report.verdict is Verdict.PROVED else examined
    except VerdictError:
        return None
    return _Step(case.examined.report.findings, trial, patch, query.parallel, examined)


def _wrong(report: Report) -> tuple[int, int, int]:
    """How much is wrong: with the form of the plan, altogether, and how much is open."""
    form = sum(isinstance(finding.evidence, Fault) for finding in report.findings)
    return form, len(report.findings), len(report.open)


def _names(report: Report) -> set[tuple[str, str, str]]:
    return set().union(*(_names_of(finding) for finding in report.findings))


def _names_of(finding: Finding) -> set[tuple[str, str, str]]:
    return {(finding.code, finding.title, finding.where)}


def _repairs(steps: Sequence[_Step], examined: Examined) -> Iterator[_Told]:
    proved = examined.report.verdict is Verdict.PROVED
    parts = [part for step in steps for part in _parts(step)]
    for candidate, findings in parts:
        codes = tuple(dict.fromkeys(finding.code for finding in findings))
        if proved:
            end = "every obligation holds" if len(parts) == 1 else "with the other repairs every obligation holds"
        elif examined.report.verdict is Verdict.REFUTED and _is_cause(findings, examined):
            end = "removes this finding; others remain"
        else:
            continue
        yield _Told(codes, f"{candidate.sentence}: {end}", proved, findings)


def _is_cause(findings: Sequence[Finding], after: Examined) -> bool:
    """Whether nothing that is wrong still makes what these findings are about: else they only follow from it."""
    if not after.walks:
        return True
    bases = after.walks[0].reference.bases
    wrong = {one.evidence.partner for one in after.report.findings if isinstance(one.evidence, Evidence)}
    wrong |= {partner for partner, _ in refuted(after)}
    about = [one.evidence for one in findings if isinstance(one.evidence, Evidence)]
    return not any(bases[share.base].node in wrong - {ABSENT} for one in about for share in one.value or ())


def _parts(step: _Step) -> Iterator[tuple[Candidate, tuple[Finding, ...]]]:
    """Each candidate of a step with the findings that it removed; the first has those that nothing was tried for."""
    after = _names(step.examined.report)
    gone = [finding for finding in step.before if not _names_of(finding) & after]
    tried = {finding for _, findings in step.trial.parts for finding in findings}
    others = tuple(finding for finding in gone if finding not in tried)
    for number, (candidate, findings) in enumerate(step.trial.parts):
        yield candidate, (*(finding for finding in findings if finding in gone), *(() if number else others))
