"""What the walk leaves open is swept: between its cut points, else one replica, else all ranks."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from verdict import sweep as engine
from verdict.graph import ABSENT, GRAD, WEIGHT, Plan
from verdict.inputs import endless
from verdict.lineage.drawn import draws_again
from verdict.lineage.reference import reference
from verdict.observer import Phase
from verdict.ops import RULES
from verdict.ops.granted import assumed
from verdict.outcome import Assumption
from verdict.phases.between import between_cut_points
from verdict.phases.by_blocks import by_blocks_of_ranks
from verdict.phases.query import Examined, Query
from verdict.phases.replica import split
from verdict.phases.summary import REDUCTION, denied_of, sized_in, swept_of
from verdict.phases.walk import walk
from verdict.report import Evidence, Open, Proofs, Report, Verdict
from verdict.report.questions import DRAWS_NOT_MATCHED, NO_PROOF, NOT_RUN, NOTHING_TO_COMPARE
from verdict.stage.vacuity import vacuous


def sweep(query: Query, examined: Examined) -> Examined:
    """What was examined, with what the sweep says where the walk left it open."""
    most = query.options.most_swept
    if examined.report.verdict is not Verdict.UNKNOWN:
        return examined
    if most is not None and engine.steps_of(query.parallel) > most:
        return examined
    query.observer.begin(Phase.SWEEP)
    between = None if examined.uneven else by_blocks_of_ranks(query) or between_cut_points(query, examined)
    if between is not None:
        return between
    one = None if query.options.exhaustive else _one_replica(query, examined.report)
    return Examined(_swept(query, examined.report) if one is None else one, ran=examined.ran)


def _one_replica(query: Query, report: Report) -> Report | None:
    """What the sweep says of one replica, where replicas do nothing but add up and the walk proves that they may; None
    where all have to be swept.
    """
    single, parallel = query.values
    one = split(single, parallel)
    if one is None:
        return None
    law = walk(Query(single, one.copies, query.options)).report
    if law.verdict is not Verdict.PROVED:
        return None
    trusted = replace(report, assumptions=tuple(dict.fromkeys((*report.assumptions, *law.assumptions))))
    found = _swept(replace(query, single=one.single, parallel=one.parallel), trusted)
    if found.swept is None:
        return None
    evidence = Evidence(found.evidence.outputs, "sweep of one replica, walk of all")
    return replace(found, proofs=law.proofs, swept=replace(found.swept, replicas=parallel.replicas), evidence=evidence)


def _swept(query: Query, report: Report) -> Report:
    """An open report with what the sweep says of all ranks.

    Draws of random numbers are functions of their input to the sweep: it is not asked where two of them would be one.
    """
    single, parallel = query.values
    if draws_again(reference(single, 1, {})):
        why = "not swept: several of its nodes draw random numbers for one input"
        return replace(report, open=(*report.open, Open(single.source, why, DRAWS_NOT_MATCHED)))
    swept = engine.sweep(single, parallel, query.options, partial(query.observer.advance, Phase.SWEEP))
    if swept.fault is not None:
        return replace(report, open=(*report.open, Open(swept.fault.where, f"not swept: {swept.fault.what}", NOT_RUN)))
    assumptions = (*_assumptions(single, parallel, report, swept.shapes == engine.OWN), *sized_in([swept]))
    causes = engine.MOST_CAUSES if query.causes else 0
    found = (*engine.findings(single, parallel, swept, causes), *denied_of(assumptions, query.options.denied))
    return replace(
        report,
        findings=found,
        open=() if found else (*_nothing_to_compare(single), *_without_proof(single, swept.open)),
        assumptions=assumptions,
        proofs=Proofs(),
        evidence=Evidence(swept.established, "sweep"),
        losses=len(single.losses),
        gradients=len(single.gradients),
        outputs=len(single.outputs),
        swept=swept_of(swept),
    )


def _without_proof(single: Plan, items: Sequence[tuple[str, str]]) -> Iterator[Open]:
    """What has no proof. Of masks made of integers that may be any, little is known: which they are can be stated."""
    names = endless(single) if items else ()
    if names:
        ranges = ", ".join(f"`range {name} LOW HIGH`" for name in names)
        why = (
            f"{', '.join(names)} may hold any integers: where they lie between bounds, state {ranges} in the "
            "single-device plan (`ranges` of a Program), which may decide it"
        )
        yield Open(single.source, why, NO_PROOF)
    for item in items:
        yield Open(*item, NO_PROOF)


def _nothing_to_compare(single: Plan) -> Iterator[Open]:
    """Weights that nothing trains of what the single-device plan declares, and what means nothing of what it declares.

    A plan without a loss and without gradients is about its further outputs alone.
    """
    if not single.losses and not single.outputs:
        yield Open(single.source, "it declares no loss (nothing to compare)", NOTHING_TO_COMPARE)
    if not single.losses and not single.gradients:
        return
    for nothing in vacuous(reference(single, 1, {})):
        yield Open(nothing.where, nothing.reason, NOTHING_TO_COMPARE)
    declared = {
        single.tensors[held.weight].logical for held in (*single.gradients, *single.outputs) if held.weight != ABSENT
    }
    for index, logical in enumerate(single.logicals):
        if logical.kind == WEIGHT and index not in declared:
            yield Open(
                f"weight {logical.name}",
                "the single-device plan computes no gradient of it (nothing to compare)",
                NOTHING_TO_COMPARE,
            )


def _assumptions(single: Plan, parallel: Plan, report: Report, own_shapes: bool) -> tuple[Assumption, ...]:
    """What the walk took for granted, and what the rules of all operators do; no reduction at the plans' own shapes."""
    used = {node.op.removesuffix(GRAD) for plan in (single, parallel) for s in plan.segments for node in s.nodes}
    of_rules = (assumption for op in sorted(used) if op in RULES for assumption in RULES[op].assumptions)
    found = dict.fromkeys((*report.assumptions, *of_rules, *assumed(single)))
    return tuple(assumption for assumption in found if not own_shapes or assumption != REDUCTION)
