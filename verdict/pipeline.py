"""The story: two plans in, a report out."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from verdict.beside import beside
from verdict.graph import Plan
from verdict.graph.check import shown
from verdict.graph.kept import with_kept
from verdict.graph.merged import merged
from verdict.limits import OutOfTime, limited, uncollected
from verdict.observer import SILENT, Observer, Phase
from verdict.options import Options
from verdict.outcome import Finding
from verdict.phases import (
    Examined,
    Query,
    by_few_layers,
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
    with_constants_computed,
    with_draws,
    with_masks,
    with_values_unsaid,
    without_complex,
)
from verdict.repair import corrections, effects, found_repairs, with_plan, with_repairs
from verdict.report import Open, Proofs, Report, Verdict
from verdict.report.questions import OUT_OF_LIMIT, SPECS_MISSING

MANY_NODES = 20_000
"""From how many nodes of the parallel plan on repairs are looked for beside what else is asked: they take a second."""


class Interrupted(KeyboardInterrupt):
    """An interrupt, from the terminal or by a signal, when the verdict was reached. report: what stands."""

    def __init__(self, report: Report) -> None:
        super().__init__()
        self.report = report


def verify(
    single: Plan, parallel: Plan, options: Options, observer: Observer = SILENT, causes: bool = True
) -> Report:
    """Whether `parallel` computes what `single` computes: every loss, gradient, updated weight and further output.

    Each answer stands by itself, and the last one within the limits is the best: what is ended before it is decided is
    UNKNOWN. causes: whether it is asked, too, what makes a plan wrong that is refuted, which may take longer than to
    refute it. Raises PlanFileError where a plan is malformed, PlanMismatchError where the two have nothing in common;
    Interrupted for an interrupt when it is decided.
    """
    report = Report(side_of(single), side_of(parallel), (), (), (), Proofs())
    try:
        with uncollected(), limited(options.limits):
            alone, across = without_complex(single), without_complex(merged(parallel))
            query = Query(with_kept(alone, across), across, options, observer, causes)
            for answer in with_values_unsaid(query, partial(with_constants_computed, answers=_drawn)):
                report = answer
    except (OutOfTime, MemoryError) as error:
        return _cut_short(report, options.limits.in_words(error))
    except KeyboardInterrupt:
        if report.verdict is Verdict.UNKNOWN:
            raise
        raise Interrupted(_cut_short(report, "it was interrupted")) from None
    return report


def _drawn(query: Query) -> Iterator[Report]:
    return with_masks(query, partial(with_draws, answers=_answers))


def _answers(query: Query) -> Iterator[Report]:
    """The walk's answer, of which nothing is said that needs numbers; the verdict; its causes and repairs."""
    few = by_few_layers(query)
    examined = few.examined or walk(query, admitted=few.admitted)
    yield _shown(query, unconfirmed(examined))
    ranked = by_rows_of_ranks(query, examined)
    if ranked is None:
        yield from _decided(query, examined)
        return
    answers = _decided(ranked.query, ranked.examined)
    yield first_told(query, ranked, next(answers))
    for report in answers:
        yield told(query, ranked, report)


def _decided(query: Query, walked: Examined) -> Iterator[Report]:
    """The verdict on what was walked; its causes and repairs. Of large plans the repairs of what the walk refutes are
    looked for while numbers are asked, on a second processor, and hold where these bear out what it says.
    """
    search = partial(found_repairs, replace(query, observer=SILENT), walked, decide)
    with beside(search, _takes_long(query, walked)) as found_beside:
        examined = decide(query, walked)
        yield examined.report
        if examined.report.findings and not query.causes:
            return
        query.observer.begin(Phase.REPAIR)
        same = examined.report.findings == walked.report.findings and examined.report.open == walked.report.open
        found = found_beside() if same else found_repairs(query, examined, decide)
    proposals = with_plan(query.parallel, found)
    repaired = any(repair.proved for repair in proposals)
    explained = explain(query, examined, repaired)
    if not repaired:
        others = corrections(query, examined, explained, _verdict) or effects(query, explained, _verdict)
        proposals = others or proposals
    query.observer.begin(Phase.REPORT)
    yield pictured(query, with_repairs(explained, proposals))


def _takes_long(query: Query, walked: Examined) -> bool:
    """Whether a walk has found what numbers are asked about, in a plan whose repairs take longer than to copy this
    process.
    """
    looked_for = query.causes and walked.report.verdict is Verdict.REFUTED
    return looked_for and query.options.workers > 1 and query.parallel.size >= MANY_NODES


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
