"""Plans whose ranks hold blocks of positions that do not lie side by side, asked in the order of ranks.

Both plans are given the same in that order. That they compute what they did is proved of each distinct single-device
node; then the parallel plan computes what the single-device plan does where it does so in that order. Only what is
PROVED is said: all else is asked of the plans as they are given.
"""

from collections.abc import Mapping
from dataclasses import replace

from verdict.graph import GRAD
from verdict.observer import SILENT
from verdict.ops import RULES
from verdict.outcome import Outcome, Proved
from verdict.phases.between import between_cut_points
from verdict.phases.numbers import difference_at_own_shapes
from verdict.phases.prove import prove
from verdict.phases.query import Examined, Query
from verdict.phases.summary import denied_of, proofs_of, side_of
from verdict.phases.walk import walk
from verdict.report import Verdict
from verdict.residue import by_blocks
from verdict.stage import Stage

BY = "{}, blocks in the order of ranks"


def by_blocks_of_ranks(query: Query) -> Examined | None:
    """What is PROVED in the order in which ranks hold blocks of what they are given; None where nothing is."""
    single, parallel = query.values
    if query.options.exhaustive or query.options.assume:
        return None
    found = by_blocks(single, parallel)
    if found is None or difference_at_own_shapes(single, parallel) is not None:
        return None
    outcomes = prove(found.questions, 1, query.options, {})
    if not all(isinstance(outcome, Proved) for outcome in outcomes):
        return None
    asked = replace(query, single=found.single, parallel=found.parallel, observer=SILENT)
    walked = walk(asked)
    watched = replace(asked, observer=query.observer)
    proof = walked if walked.report.verdict is Verdict.PROVED else between_cut_points(watched, walked, ran=True)
    if proof is None:
        return None
    return _told(query, proof, dict(zip(found.questions, outcomes, strict=True)))


def _told(query: Query, proof: Examined, laws: Mapping[Stage, Outcome]) -> Examined | None:
    """A proof as one of the plans as they are given, with what it rests on besides; None where that is denied."""
    report, stages = proof.report, proof.stages
    every = replace(stages, questions=(*stages.questions, *laws))
    used = {stage.signature.op.removesuffix(GRAD) for stage in laws}
    rules = (assumption for op in sorted(used) if op in RULES for assumption in RULES[op].assumptions)
    assumptions = tuple(dict.fromkeys((*report.assumptions, *rules)))
    if any(denied_of(assumptions, query.options.denied)):
        return None
    told = replace(
        report,
        single=side_of(query.single),
        parallel=side_of(query.parallel),
        proofs=proofs_of(every, [*(proof.outcomes[stage] for stage in stages.questions), *laws.values()]),
        assumptions=assumptions,
        evidence=report.evidence._replace(by=BY.format(report.evidence.by)),
    )
    return proof._replace(report=told)
