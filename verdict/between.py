"""From cut point to cut point: what the walk leaves open of a column, where its islands are proved."""

from collections.abc import Callable, Sequence

from verdict.examine import Examined, examine, outcomes_of
from verdict.graph import Plan, without_effects
from verdict.lineage import Signature, bind
from verdict.options import Options
from verdict.outcome import Proved
from verdict.report import Verdict
from verdict.residue import decide
from verdict.stage import Stage
from verdict.summary import with_islands


def between_cut_points(
    single: Plan, parallel: Plan, options: Options, examined: Examined, progress: Callable[[int, int], None]
) -> Examined | None:
    """What is PROVED of a pair by a walk that rests on proved cut points; None where nothing is.

    It is not asked where every stage is proved by itself, nor under assumptions that were made by choice.
    """
    if options.exhaustive or options.assume or not examined.walks or _takes_from_another(parallel):
        return None
    plain, known = without_effects(parallel), dict(examined.outcomes)

    def unproved(stages: Sequence[Stage]) -> frozenset[Signature]:
        known.update(zip(stages, outcomes_of(stages, parallel.columns, options, known), strict=True))
        return frozenset(stage.signature for stage in stages if not isinstance(known[stage], Proved))

    binding = bind(without_effects(single), plain)
    found = decide(examined.walks[0].reference, plain, binding, options, unproved, progress)
    if found is None:
        return None
    again = examine(single, parallel, options, known=known, before=examined, walk=found.walk)
    report = with_islands(again.report, found)
    denied = any(assumption.name in options.denied for assumption in report.assumptions)
    return None if denied or report.verdict is not Verdict.PROVED else again._replace(report=report)


def _takes_from_another(plan: Plan) -> bool:
    """Whether a microbatch reads what another one made."""
    return any(call.crossed for program in plan.programs for call in program)
