"""From cut point to cut point: what the walk leaves open of a column, where its islands are proved."""

from collections.abc import Callable, Sequence, Set
from dataclasses import replace
from functools import partial

from verdict.graph import Plan
from verdict.lineage import Signature, bind, reference
from verdict.observer import SILENT, Phase
from verdict.outcome import Proved
from verdict.phases.numbers import difference_at_own_shapes
from verdict.phases.prove import prove
from verdict.phases.query import Examined, Query
from verdict.phases.summary import has_rule, with_islands
from verdict.phases.walk import table_of, walk_on
from verdict.report import Verdict
from verdict.residue import Decided, decide
from verdict.stage import Stage


def between_cut_points(
    query: Query,
    examined: Examined,
    others: Set[tuple[int, int]] = frozenset(),
    ran: bool = False,
    is_enough: Callable[[Decided], bool] = lambda found: True,
) -> Examined | None:
    """What is PROVED of a pair by a walk that rests on proved cut points; None where nothing is.

    It is not asked where every stage is proved by itself, nor under assumptions that were made by choice, nor of what
    differs when it is run on numbers, as far as it is not too large for that: the sweep tells why, or where they differ
    by no more than rounding of 32 bits makes, as casts of large integers do, decides. others: tensors, with their
    devices, that hold no shares of single-device values. ran: whether they were run, and agree. is_enough: whether that
    is decided what is asked for.
    """
    options, (single, parallel) = query.options, query.values
    if options.exhaustive or options.assume:
        return None
    if _takes_from_another(parallel) or not (_has_rules(single) and _has_rules(parallel)):
        return None
    if not ran and difference_at_own_shapes(single, parallel) is not None:
        return None
    known = dict(examined.outcomes)

    def unproved(stages: Sequence[Stage]) -> frozenset[Signature]:
        known.update(zip(stages, prove(stages, parallel.columns, options, known), strict=True))
        return frozenset(stage.signature for stage in stages if not isinstance(known[stage], Proved))

    progress = partial(query.observer.advance, Phase.SWEEP)
    binding = bind(single, parallel)
    table = table_of(examined, single, parallel, binding) or reference(single, parallel.columns, binding.batch)
    found = decide(table, parallel, binding, options, unproved, progress, others)
    if found is None or not is_enough(found):
        return None
    again = walk_on(replace(query, observer=SILENT), known, examined, found.walk)
    report = with_islands(again.report, found)
    denied = any(assumption.name in options.denied for assumption in report.assumptions)
    if denied or report.verdict is not Verdict.PROVED:
        return None
    return again._replace(report=report)


def _has_rules(plan: Plan) -> bool:
    """Whether all operators are known."""
    return all(has_rule(op) for op in {node.op for segment in plan.segments for node in segment.nodes})


def _takes_from_another(plan: Plan) -> bool:
    """Whether a microbatch reads what another one made."""
    return any(call.crossed for program in plan.programs for call in program)
