"""The story: two plans in, a report out."""

from collections.abc import Iterator
from dataclasses import replace

from verdict.graph import Plan
from verdict.graph.check import shown
from verdict.graph.kept import with_kept
from verdict.limits import OutOfTime, limited, uncollected
from verdict.observer import SILENT, Observer, Phase
from verdict.options import Options
from verdict.outcome import Finding
from verdict.phases import (
    Examined,
    Query,
    by_rows_of_ranks,
    certify,
    contradict,
    explain,
    first_told,
    pictured,
    side_of,
    sweep,
    told,
    unconfirmed,
    walk,
    with_draws,
    without_complex,
)
from verdict.repair import corrections, effects, repairs, with_repairs
from verdict.report import Open, Proofs, Report, Verdict
from verdict.report.questions import OUT_OF_LIMIT, SPECS_MISSING


def verify(single: Plan, parallel: Plan, options: Options, observer: Observer = SILENT) -> Report:
    """Whether `parallel` computes what `single` computes: every loss, gradient, updated weight and further output.

    Each answer stands by itself, and the last one within the limits is the best: what is ended before it is decided is
    UNKNOWN. Raises PlanFileError where a plan is malformed, PlanMismatchError where the two have nothing in common.
    """
    report = Report(side_of(single), side_of(parallel), (), (), (), Proofs())
    try:
        with uncollected(), limited(options.limits):
            alone, across = without_complex(single), without_complex(parallel)
            for answer in with_draws(Query(with_kept(alone, across), across, options, observer), _answers):
                report = answer
    except (OutOfTime, MemoryError) as error:
        return _cut_short(report, options.limits.in_words(error))
    return report


def _answers(query: Query) -> Iterator[Report]:
    """The walk's answer, of which nothing is said that needs numbers; the verdict; its causes and repairs."""
    examined = walk(query)
    yield _shown(query, unconfirmed(examined))
    ranked = by_rows_of_ranks(query, examined)
    if ranked is None:
        yield from _decided(query, examined)
        return
    answers = _decided(ranked.query, ranked.examined)
    yield first_told(query, ranked, next(answers))
    for report in answers:
        yield told(query, ranked, report)


def _decided(query: Query, examined: Examined) -> Iterator[Report]:
    """The verdict on what was walked; its causes and repairs."""
    examined = decide(query, examined)
    yield examined.report
    if examined.report.findings and not query.causes:
        return
    query.observer.begin(Phase.REPAIR)
    proposals = repairs(query, examined, decide)
    repaired = any(repair.proved for repair in proposals)
    explained = explain(query, examined, repaired)
    if not repaired:
        others = corrections(query, examined, explained, _verdict) or effects(query, explained, _verdict)
        proposals = others or proposals
    query.observer.begin(Phase.REPORT)
    yield pictured(query, with_repairs(explained, proposals))


def _verdict(query: Query) -> Report:
    """The verdict alone, of a plan that was repaired."""
    quiet = replace(query, observer=SILENT)
    return decide(quiet, walk(quiet)).report


def decide(query: Query, examined: Examined) -> Examined:
    """The verdict on what was walked: what is refuted is run on numbers, what is open is swept, then run on numbers."""
    if any(each.code == SPECS_MISSING for each in examined.report.open):
        return examined
    examined = certify(query, examined)
    examined = sweep(query, examined)
    examined = contradict(query, examined)
    return examined._replace(report=_shown(query, examined.report))


def _shown(query: Query, report: Report) -> Report:
    """The report, with what runs of both programs showed where nothing else refutes."""
    return report if report.findings else replace(report, findings=shown(query.parallel))


def _cut_short(report: Report, why: str) -> Report:
    if report.verdict is Verdict.UNKNOWN:
        return replace(report, open=(Open("the run", why, OUT_OF_LIMIT), *report.open))
    return replace(report, notes=(*report.notes, Finding("cut-short", "causes and repairs were not looked for", why)))
