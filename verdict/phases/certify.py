"""A refutation is certified before it is said: both plans are run on random numbers, from end to end.

A divergence of the walk says that the parallel plan is not written as the single-device plan is: it reads something
else there. A stage that fails says that a node computes something else than its partner. Where the numbers of the
results agree all the same, neither refutes the plan. It stays an open question, never a proof. So it does where the
plans are too large to be run, where one microbatch of one replica alone shows nothing, and where a difference shows
only with ids that are no rows of their tables and of which nobody said that they occur.

What no proof decides is run the same way: where the numbers of the results differ, the plan is refuted by them.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from verdict.concrete import AGREE, CANNOT, DIFFER, FAULT, Comparison
from verdict.counting import Progress
from verdict.diagnose import Raw
from verdict.graph import ABSENT, Plan
from verdict.graph.cone import of_losses
from verdict.inputs import USUAL, Scale
from verdict.lineage import Evidence, Lineages
from verdict.lineage.values import Label
from verdict.observer import SILENT, Phase
from verdict.ops import Law
from verdict.outcome import Finding
from verdict.phases.meetings import FEW_STEPS, agree, in_any_order
from verdict.phases.numbers import (
    AGREED,
    DIFFERENT,
    DISTINCT,
    LOUD,
    OF_SIZES,
    OPEN,
    QUIET,
    at_ends,
    at_full_shapes,
    is_reduced,
    is_slight,
    run_on_numbers,
    unasked,
)
from verdict.phases.query import Examined, Query
from verdict.phases.replica import one_column
from verdict.phases.silenced import gradients_behind, silenced
from verdict.phases.walk import walk
from verdict.report import Open, Report, Verdict
from verdict.report.questions import NOT_CONFIRMED, NOT_RUN, NOTHING_TO_COMPARE
from verdict.sweep import MOST_CAUSES, apart_on_numbers, findings, steps_of

SLIGHT = "run on random numbers the plans differ by no more than constants of 32 bits do"

CERTAIN = frozenset(
    {
        *("assumption-denied", "dtype-differs", "wrong-dtype"),
        *("read-before-wait", "unordered-streams", "stale-read", "overwritten-early"),
    }
)
"""Findings of what numbers do not show: what is taken on trust, types of numbers, and the order of memory's use."""

NOT_THERE = frozenset({"gradient-missing", "loss-missing", "output-missing", "weight-not-covered"})
"""Findings of what is not declared. Where all that is declared agrees, they alone are borne out."""

SHARES = frozenset({"missing-reduction", "reduced-twice", "wrong-scale"})
"""Codes of declared outputs that are made of what they must be made of, in other multiples."""

MISFIT = "shape-mismatch"
"""What the walk says of a tensor that holds a value of another shape than what reads it takes."""


def certify(query: Query, examined: Examined) -> Examined:
    """What was examined: a finding that numbers do not bear out is open again, and nothing is explained of it."""
    if not examined.report.findings:
        return examined
    query.observer.begin(Phase.CERTIFY)
    examined = in_any_order(query, examined)
    proved = needs_no_run(examined)
    if len(proved) > len(examined.raw.structural) and agree(query):
        proved = examined.raw.structural
    report = _certified(query, examined.report, proved, examined.walks)
    if report.findings == examined.report.findings:
        return examined._replace(report=report, ran=True)
    return examined._replace(report=report, walks=(), raw=Raw(examined.raw.structural), ran=True)


def contradict(query: Query, examined: Examined) -> Examined:
    """What was examined, refuted where it is open and the plans, run on random numbers, come to other results; of what
    is PROVED, where nothing is divided by zero, at the ends of what integers may be. Nothing is run twice, nor under
    assumptions that were made by choice: numbers know none.
    """
    if query.options.assume or examined.report.verdict is Verdict.REFUTED:
        return examined
    proved = examined.report.verdict is Verdict.PROVED
    scales = at_ends(*query.values) if proved else unasked(*query.values, examined.ran)
    if not scales:
        return examined
    query.observer.begin(Phase.CERTIFY)
    found = next(_differences(query, scales, partial(query.observer.advance, Phase.CERTIFY)), None)
    if found is None:
        return examined._replace(ran=True)
    notes = tuple(f"where it goes wrong is open; the first question: {each.where}" for each in examined.report.open[:1])
    causes = _loud_causes(query, found[1]) or (replace(found[0], notes=notes),)
    return Examined(replace(examined.report, findings=causes), raw=Raw(examined.raw.structural), ran=True)


def unconfirmed(examined: Examined) -> Report:
    """The report of what was examined, while numbers were not asked yet."""
    return _open_again(examined.report, needs_no_run(examined), "numbers were not asked yet")


def needs_no_run(examined: Examined) -> tuple[Finding, ...]:
    """Findings that follow from the plan's form, and what is wrong with declared outputs where all before them is
    proved: they hold other shares of the right sums.

    Of a sum that is always 0, or infinite, other shares are the same, which numbers show (`agree`).
    """
    ends = set(examined.raw.ends)
    if examined.report.open or any(finding not in ends for finding in examined.report.findings):
        return examined.raw.structural
    shares = (each for each in examined.raw.ends if each.code in SHARES and _is_of_sums(each, examined.walks))
    return (*examined.raw.structural, *shares)


def _is_of_sums(finding: Finding, walks: Sequence[Lineages]) -> bool:
    """Whether an output is made of parts of sums alone. Of what is computed along an axis (a scatter of some of its
    rows), nothing says what such parts come to.
    """
    if not isinstance(finding.evidence, Evidence):
        return True
    axes = [axis for share in finding.evidence.value or () for label, _ in share.part for axis in label.axes]
    return all(_is_summed(axis, walk) for axis in axes if axis.node != ABSENT for walk in walks)


def _is_summed(axis: Label, walk: Lineages) -> bool:
    axes = walk.reference.partners[axis.node].meaning.axes
    return axes is not None and any(atom.name == axis.atom and atom.law is Law.SUM for atom in axes.atoms)


def _certified(
    query: Query, report: Report, proved: Collection[Finding], walks: Sequence[Lineages] = ()
) -> Report:
    """The report with those of its findings that are certified by numbers, or that need none.

    proved: findings that follow from the form of the plan, or from what was proved of its outputs.
    """
    doubtful = _doubtful(report, proved)
    if not doubtful:
        return report
    progress = partial(query.observer.advance, Phase.CERTIFY)
    if doubtful[0].code != MISFIT and _some_differ(query, doubtful[0], walks, progress):
        return report
    found, told = run_on_numbers(*query.values, progress=progress), AGREED
    if isinstance(found, str) and (alone := _one_column(query)) is not None:
        whole, found = found, run_on_numbers(*alone, progress=progress)
        told = f"{whole}, and run on random numbers one microbatch of one replica agrees"
    if isinstance(found, str):
        told = f"it was not confirmed: {found}"
    elif found.outcome == CANNOT:
        opened = _open_again(report, proved, "it was not confirmed: the plans cannot be run on numbers")
        why = tuple(Open(fault.where, fault.what, NOT_RUN) for fault in found.faults)
        return replace(opened, open=tuple(dict.fromkeys((*why, *opened.open))))
    elif found.outcome == FAULT and found.rows and not found.differing:
        absent = [finding for finding in report.findings if finding.code in NOT_THERE]
        return _open_again(report, (*proved, *absent), AGREED) if absent else report
    elif found.outcome != AGREE:
        full = at_full_shapes(*query.values, found) if found.outcome == DIFFER else found
        if not isinstance(full, str) and is_slight(full):
            told = SLIGHT
        elif full == OF_SIZES:
            told = OF_SIZES
        elif isinstance(full, str) or full.outcome != AGREE:
            return _without_misfits(report, proved, full)
    elif doubtful[0].code != MISFIT and any(_differences(query, (LOUD[0], QUIET), progress)):
        return report
    return _open_again(report, proved, told)


def _some_differ(query: Query, finding: Finding, walks: Sequence[Lineages], progress: Progress) -> bool:
    """Whether some results of large plans differ for certain: the losses, where the finding is about what they are
    computed by, which half of the nodes says, else the gradients of a weight. Where other layers can be silenced, few
    nodes say so.
    """
    single, parallel = query.values
    if steps_of(single) + steps_of(parallel) < FEW_STEPS:
        return False
    losses = of_losses(single), of_losses(parallel)
    before = bool(parallel.losses) and _is_within(finding, losses[1])
    cones = losses if before else gradients_behind(query.values, finding)
    few = None if cones is None else silenced(query.values, cones, finding, walks)
    if few is not None and differ(query, (few.single, few.parallel), Scale(silent=few.weights), progress):
        return True
    return before and differ(query, losses, USUAL, progress)


def differ(query: Query, plans: tuple[Plan, Plan], scale: Scale, progress: Progress) -> bool:
    """Whether results of plans differ for certain on numbers of some scale, in one column where there are several."""
    whole = replace(query, single=plans[0], parallel=plans[1], observer=SILENT)
    pair = plans if plans[1].columns == 1 else _one_column(whole)
    found = "it has no column" if pair is None else run_on_numbers(*pair, progress=progress, scale=scale)
    if pair is None or isinstance(found, str) or found.outcome != DIFFER:
        return False
    full = at_full_shapes(*pair, found, scale)
    return not isinstance(full, str) and full.outcome == DIFFER and not is_slight(full)


def _is_within(finding: Finding, plan: Plan) -> bool:
    """Whether the place at which a finding shows first is one of a plan's nodes, if it says so."""
    if not isinstance(finding.evidence, Evidence):
        return True
    place = finding.evidence.places[0]
    nodes = (node for segment in plan.segments if segment.device == place.device for node in segment.nodes)
    return any((node.op, node.name) == (place.op, place.name) for node in nodes)


def _one_column(query: Query) -> tuple[Plan, Plan] | None:
    """One microbatch of one replica, where the walk proves that the step is the sum of such: all that is declared of
    it, be that little.
    """
    single, parallel = query.values
    one = one_column(single, parallel)
    if one is None:
        return None
    report = walk(Query(single, one.copies, query.options)).report
    if report.findings or any(question.code != NOTHING_TO_COMPARE for question in report.open):
        return None
    return one.single, one.parallel


def _without_misfits(report: Report, proved: Collection[Finding], found: Comparison | str) -> Report:
    """The report of plans that were run: shapes fit there, and a walk that begins with one that does not has followed
    another part of a value than the plan means. What it says behind that goes with it.
    """
    doubtful = _doubtful(report, proved)
    if not doubtful or doubtful[0].code != MISFIT or isinstance(found, str):
        return report
    told = _difference(found)
    return report if told is None else replace(report, findings=(*(f for f in report.findings if f in proved), told))


def _differences(query: Query, scales: Sequence[Scale], progress: Progress) -> Iterator[tuple[Finding, Scale]]:
    """That the results of plans differ for certain on random numbers of some scale, and that."""
    for scale in scales:
        found = run_on_numbers(*query.values, progress=progress, scale=scale, few=OPEN)
        if isinstance(found, str):
            return
        full = at_full_shapes(*query.values, found, scale, OPEN) if found.outcome == DIFFER else found
        told = None if isinstance(full, str) else _difference(full, scale)
        if told is not None:
            yield told, scale


def _loud_causes(query: Query, scale: Scale) -> tuple[Finding, ...]:
    """Where plans that differ on numbers of some scale go wrong there, as far as that is seen."""
    single, parallel = query.values
    swept = apart_on_numbers(single, parallel, query.options, scale) if query.causes else None
    return () if swept is None else findings(single, parallel, swept, MOST_CAUSES)


def _difference(found: Comparison, scale: Scale = USUAL) -> Finding | None:
    """The first result in which plans that were run at full shapes differ for certain. scale: of the numbers; where it
    is another than the usual one, a difference is certain only that is far more than this adds to rounding.
    """
    if found.outcome != DIFFER or is_reduced(found):
        return None
    least = DIFFERENT if scale == USUAL else DISTINCT
    row = next((row for row in found.differing if not row.error <= least * row.size), None)
    if row is None:
        return None
    off = f"is off by {row.error:.3g}" if np.isfinite(row.error) else "is no number"
    title = f"run on {_in_words(scale)} it {off}, where the greatest element is {row.size:.3g}"
    return Finding("not-equivalent", title, f"{row.what} {row.where}")


def _in_words(scale: Scale) -> str:
    by = ((what, factor) for what, factor in (("inputs", scale.inputs), ("weights", scale.weights)) if factor != 1)
    zeros = ("some rows of inputs zero",) if scale.zeros else ()
    ends = (f"all integers the {'greatest' if scale.end > 0 else 'least'} that they may be",) if scale.end else ()
    return ", ".join(("random numbers", *zeros, *ends, *(f"{what} multiplied by {factor:g}" for what, factor in by)))


def _open_again(report: Report, proved: Collection[Finding], why: str) -> Report:
    """The report with its findings as open questions, but for those that need no numbers."""
    doubtful = _doubtful(report, proved)
    return replace(
        report,
        findings=tuple(finding for finding in report.findings if finding not in doubtful),
        open=(*(Open(f.where, f"{f.title} ({f.code}); but {why}", NOT_CONFIRMED) for f in doubtful), *report.open),
    )


def _doubtful(report: Report, proved: Collection[Finding]) -> list[Finding]:
    return [finding for finding in report.findings if finding.code not in CERTAIN and finding not in proved]
