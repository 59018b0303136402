"""Plans that draw random numbers: verified with their draws as inputs, in the one or two ways that these may match."""

from collections.abc import Iterator
from dataclasses import replace

from verdict.graph.draws import draws_of, replaced
from verdict.graph.matched import Pair, matched
from verdict.graph.sources import source_of
from verdict.observer import SILENT
from verdict.ops.drawn import constant, mirrored
from verdict.phases.influence import both_matter
from verdict.phases.query import Answers, Query
from verdict.report import Evidence, Open, Report, Verdict
from verdict.report.questions import DRAWS_NOT_MATCHED

UNTOLD = "the ranks draw others than one device does, and which of them belong together is not told"
OTHERWISE = "the ranks draw {} numbers, and one device {} ones: whether what they make of them is alike is not told"
MIRRORED = "the ranks use draws the other way round (-x, 1 - x): whether what they make of them is alike is not told"
DENIED = "assumption-denied"


def with_draws(query: Query, answers: Answers) -> Iterator[Report]:
    """The answers to a query whose plans may draw random numbers. answers: of one whose plans do not."""
    found = matched(query.single, query.parallel)
    if found is None or found.exact:
        yield from answers(query if found is None else _put(query, found.own))
        return
    report = None
    for report in answers(_put(query, found.first)):
        if not _by_values(report):
            yield report
    if report is None or not _by_values(report):
        return
    denied = tuple(finding for finding in report.findings if finding.code == DENIED)
    if found.wrong is not None and found.assigned is not None:
        right = _last(query, found.assigned, answers, causes=False)
        if right.verdict is Verdict.PROVED and both_matter(query, found, found.wrong):
            wrong = found.wrong.finding
            told = replace(wrong, source=source_of(query.parallel, wrong.where))
            yield replace(right, findings=(told,), evidence=Evidence())
            return
    without = replaced(query.single, constant), replaced(query.parallel, constant)
    still = _last(query, without, answers, causes=found.assigned is not None)
    why = found.wrong.finding.title if found.wrong is not None else UNTOLD
    if still.verdict is Verdict.REFUTED:
        otherwise = _of_other_kinds(query)
        if not otherwise:
            turned = without[0], replaced(query.parallel, mirrored)
            if _last(query, turned, answers, causes=False).verdict is Verdict.REFUTED:
                yield still if found.assigned is not None else report
                return
        still, why = replace(still, repairs=(), pictures=()), otherwise or MIRRORED
    question = Open("random numbers", why, DRAWS_NOT_MATCHED)
    yield replace(still, findings=denied, open=(question, *still.open), evidence=Evidence())


def _of_other_kinds(query: Query) -> str:
    """What the ranks draw that one device does not, where it draws, too: a mask may be drawn, or be a comparison of
    uniform numbers, so that numbers that are put in the place of both tell nothing. Nothing where there is none.
    """
    alone, ranks = ({str(draw.attrs["kind"]) for draw in draws_of(plan)} for plan in (query.single, query.parallel))
    if not alone or ranks <= alone:
        return ""
    return OTHERWISE.format(" and ".join(sorted(ranks - alone)), " and ".join(sorted(alone)))


def _by_values(report: Report) -> bool:
    """Whether a report refutes, and not by what is denied alone."""
    return any(finding.code != DENIED for finding in report.findings)


def _last(query: Query, pair: Pair, answers: Answers, causes: bool) -> Report:
    """The last of the answers to a pair, that is looked at beside the one that was asked for. causes: whether one that
    is refuted says why.
    """
    *_, last = answers(replace(_put(query, pair), observer=SILENT, causes=causes))
    return last


def _put(query: Query, pair: Pair) -> Query:
    return replace(query, single=pair[0], parallel=pair[1])
