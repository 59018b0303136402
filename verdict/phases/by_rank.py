"""Large plans of which ranks flatten strided shares, asked in two steps: by the plan that flattens rows rank by rank.

That this plan computes what the single-device plan computes is proved first. Then the parallel plan computes what the
one computes where it computes what the other does: all that is asked is asked of this one.
"""

from dataclasses import replace
from typing import NamedTuple

from verdict.observer import SILENT, Phase
from verdict.outcome import Assumption
from verdict.phases.between import between_cut_points
from verdict.phases.numbers import is_borne_out
from verdict.phases.query import Examined, Query
from verdict.phases.summary import side_of
from verdict.phases.walk import walk
from verdict.report import Report, Verdict
from verdict.residue import by_rank, given_blocks
from verdict.sweep import is_small

BY = "{}, rows in the order of ranks"


class Ranked(NamedTuple):
    """The question that is asked in place of another one, what the walk says of it, and what that this is the same
    question rests on.
    """

    query: Query
    examined: Examined
    assumptions: tuple[Assumption, ...]


def by_rows_of_ranks(query: Query, examined: Examined, small: bool = False) -> Ranked | None:
    """The same question about rows in the order of ranks, where the walk leaves it open and it is too large to be swept
    as it is; None where ranks hold no strided shares of rows, or it is not proved to be the same question. Where they
    hold blocks that do not lie side by side, that comes first (`by_blocks`).

    small: whether that is asked, too, of what can be swept as it is.
    """
    decided = examined.report.verdict is Verdict.PROVED or examined.raw.structural or not examined.walks
    if decided or query.options.exhaustive or query.options.assume:
        return None
    pair = by_rank(*query.values)
    if pair is None or (not small and (is_small(*query.values) or given_blocks(*query.values) is not None)):
        return None
    query.observer.begin(Phase.SWEEP)
    single = query.values[0]
    same = replace(query, single=single, parallel=pair.single, observer=SILENT)
    proof = between_cut_points(same, walk(same), frozenset((0, tensor) for tensor in pair.moved))
    if proof is None:
        return None
    asked = replace(query, single=pair.single, parallel=pair.parallel)
    return Ranked(asked, walk(asked), proof.report.assumptions)


def first_told(query: Query, ranked: Ranked, report: Report) -> Report:
    """The same of the verdict. Where it is PROVED, what is not too large is run on numbers as it is given: raises
    InternalError where these say the contrary.
    """
    if report.verdict is Verdict.PROVED:
        is_borne_out(*query.values, "with rows in the order of ranks")
    return told(query, ranked, report)


def told(query: Query, ranked: Ranked, report: Report) -> Report:
    """What is said of the question that was asked, as an answer to the query."""
    by = BY.format(report.evidence.by) if report.evidence.by else ""
    return replace(
        report,
        single=side_of(query.single),
        parallel=side_of(query.parallel),
        assumptions=tuple(dict.fromkeys((*report.assumptions, *ranked.assumptions))),
        evidence=report.evidence._replace(by=by),
    )
