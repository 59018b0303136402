"""From cut point to cut point: what the walk leaves open of a plan of one column, where its islands are proved."""

from collections.abc import Callable

from verdict.examine import Examined, examine, outcomes_of
from verdict.graph import Plan, without_effects
from verdict.lineage import Lineages, Signature, bind
from verdict.options import Options
from verdict.outcome import Proved
from verdict.report import Verdict
from verdict.residue import decide
from verdict.stage import cut
from verdict.summary import with_islands


def between_cut_points(
    single: Plan, parallel: Plan, options: Options, examined: Examined, progress: Callable[[int, int], None]
) -> Examined | None:
    """What is PROVED of a pair by a walk that rests on proved cut points; None where nothing is.

    It is not asked where every stage is proved by itself, nor under assumptions that were made by choice.
    """
    if options.exhaustive or options.assume or parallel.columns > 1 or not examined.walks:
        return None
    plain, known = without_effects(parallel), dict(examined.outcomes)

    def unproved(walk: Lineages) -> frozenset[Signature]:
        stages = cut((walk,)).questions
        known.update(zip(stages, outcomes_of(stages, 1, options, known), strict=True))
        return frozenset(stage.signature for stage in stages if not isinstance(known[stage], Proved))

    binding = bind(without_effects(single), plain)
    found = decide(examined.walks[0].reference, plain, binding, options, unproved, progress)
    if found is None:
        return None
    again = examine(single, parallel, options, known=known, before=examined, walk=found.walk)
    report = with_islands(again.report, found)
    denied = any(assumption.name in options.denied for assumption in report.assumptions)
    return None if denied or report.verdict is not Verdict.PROVED else again._replace(report=report)
