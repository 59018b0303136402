"""Plans whose constants were computed in floats, each in its own way: verified with what these are but for rounding."""

from collections.abc import Iterator
from dataclasses import replace

from verdict.counting import uncounted
from verdict.graph.computed import NAME, as_meant, computed_in
from verdict.inputs import USUAL
from verdict.phases.certify import differ
from verdict.phases.query import Answers, Query
from verdict.report import Report, Verdict


def with_constants_computed(query: Query, answers: Answers) -> Iterator[Report]:
    """The answers to a query. Where one plan has constants that were computed in floats and that the other one has not,
    the pair is asked first with all such as what they are but for rounding. PROVED rests on that assumption then, and
    REFUTED it is where the plans as they are differ for certain, too; else it is asked as it is.
    """
    alone, ranks = computed_in(query.single), computed_in(query.parallel)
    if alone != ranks and NAME not in query.options.denied:
        single, parallel = (as_meant(plan, alone | ranks) for plan in (query.single, query.parallel))
        decided = False
        for report in answers(replace(query, single=single, parallel=parallel)):
            if not decided and report.verdict is Verdict.REFUTED and not _differs(query):
                break
            decided = decided or report.verdict is not Verdict.UNKNOWN
            if decided:
                yield report
        if decided:
            return
    yield from answers(query)


def _differs(query: Query) -> bool:
    return differ(query, (query.single, query.parallel), USUAL, uncounted)
