"""Plans whose ranks hold blocks of positions that do not lie side by side, asked in the order of ranks.

Both plans are given the same in that order. That they compute what they did is proved of each distinct single-device
node; then the parallel plan computes what the single-device plan does where it does so in that order. Only what is
PROVED is said: all else is asked of the plans as they are given.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from verdict.graph import GRAD
from verdict.observer import SILENT
from verdict.ops import RULES
from verdict.outcome import Assumption, Outcome, Proved
from verdict.phases.between import between_cut_points
from verdict.phases.by_layers import by_few_layers
from verdict.phases.by_rank import Ranked, by_rows_of_ranks
from verdict.phases.numbers import difference_at_own_shapes
from verdict.phases.prove import prove
from verdict.phases.query import Examined, Query
from verdict.phases.summary import denied_of, proofs_of, side_of
from verdict.phases.walk import walk
from verdict.report import Verdict
from verdict.residue import by_blocks
from verdict.residue.by_blocks import Asked, Reordered
from verdict.stage import Stage

BY = "{}, blocks in the order of ranks"
BY_ROWS = "{}, blocks and rows in the order of ranks"


def by_blocks_of_ranks(query: Query) -> Examined | None:
    """What is PROVED in the order in which ranks hold blocks of what they are given; None where nothing is."""
    single, parallel = query.values
    if query.options.exhaustive or query.options.assume:
        return None
    if by_blocks(single, parallel) is None or difference_at_own_shapes(single, parallel) is not None:
        return None
    laws = dict[Stage, Outcome]()
    found = _lawful(query, laws)
    if found is None:
        return None
    asked = replace(query, single=found.single, parallel=found.parallel, observer=SILENT)
    walked = walk(asked)
    ranked = by_rows_of_ranks(asked, walked, small=True)
    rows = ranked or Ranked(asked, walked, ())
    watched = replace(rows.query, observer=query.observer)
    proved = rows.examined.report.verdict is Verdict.PROVED
    few = None if proved else by_few_layers(watched).examined
    proof = rows.examined if proved else few or between_cut_points(watched, rows.examined, ran=True)
    if proof is None:
        return None
    by = BY if ranked is None else BY_ROWS
    return _told(query, proof, {stage: laws[stage] for stage in found.questions}, rows.assumptions, by)


def _lawful(query: Query, known: dict[Stage, Outcome]) -> Reordered | None:
    """Both plans in the order of ranks, with all that this rests on proved: nodes of which it is not read blocks as
    they were. None where there are none. known: outcomes, to which fresh ones are added.
    """
    refused: set[Asked] = set()
    while True:
        found = by_blocks(*query.values, refused)
        if found is None:
            return None
        stages = tuple(found.questions)
        known.update(zip(stages, prove(stages, 1, query.options, known), strict=True))
        wrong = {found.questions[stage] for stage in stages if not isinstance(known[stage], Proved)}
        if not wrong:
            return found
        if None in wrong:
            return None
        refused.update(about for about in wrong if about is not None)


def _told(
    query: Query, proof: Examined, laws: Mapping[Stage, Outcome], others: Sequence[Assumption], by: str
) -> Examined | None:
    """A proof as one of the plans as they are given, with what it rests on besides; None where that is denied.

    by: how it was asked. others: what that rests on.
    """
    report, stages = proof.report, proof.stages
    every = replace(stages, questions=(*stages.questions, *laws))
    used = {stage.signature.op.removesuffix(GRAD) for stage in laws}
    rules = (assumption for op in sorted(used) if op in RULES for assumption in RULES[op].assumptions)
    assumptions = tuple(dict.fromkeys((*report.assumptions, *others, *rules)))
    if any(denied_of(assumptions, query.options.denied)):
        return None
    told = replace(
        report,
        single=side_of(query.single),
        parallel=side_of(query.parallel),
        proofs=proofs_of(every, [*(proof.outcomes[stage] for stage in stages.questions), *laws.values()]),
        assumptions=assumptions,
        evidence=report.evidence._replace(by=by.format(report.evidence.by)),
    )
    return proof._replace(report=told)
