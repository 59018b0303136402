"""Where the walk leaves questions open the sweep is asked, which knows plans of any structure."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from verdict.graph import ABSENT, WEIGHT, Plan
from verdict.lineage.reference import draws_again, reference
from verdict.ops import RULES
from verdict.options import Options
from verdict.outcome import Assumption, Finding
from verdict.report import Evidence, Open, Proofs, Report, Sweep, Verdict
from verdict.stage.vacuity import vacuous
from verdict.summary import REDUCTION, asked
from verdict.sweep import OWN, Swept, findings, steps_of, sweep

Progress = Callable[[int, int], None]
MOST_MENDED = 150
"""Up to so many steps of all ranks, plans are explained by corrections; of larger ones the walk's findings stay."""
MOST_RECORDED = 5_000
"""Up to so many steps of all ranks, what the walk refutes is explained by corrections that mend the outputs: in plans,
and in recorded programs, of whose operators the walk knows least.
"""
RECORDED = "recorded-step"
"""The assumption that a recorded program comes with."""
MATTERS_OF_FORM = frozenset(
    {"assumption-denied", "dtype-differs", "gradient-missing", "loss-missing", "output-missing"}
)
"""Codes of findings that outputs do not show, or that say what is not there."""


def deepen(single: Plan, parallel: Plan, options: Options, report: Report, progress: Progress) -> Report:
    """The report of a pair that the walk could not prove, with what the sweep says of it.

    A plan that the walk refutes stays refuted where its outputs differ in numbers, and where it cannot be run. Draws
    of random numbers are functions of their input to the sweep: it is not asked where two of them would be one.
    """
    if draws_again(reference(single, 1, {})):
        why = "not swept: several of its nodes draw random numbers for one input"
        return report if report.findings else replace(report, open=(*report.open, Open(single.source, why)))
    swept = sweep(single, parallel, options, progress)
    if report.verdict is Verdict.REFUTED and (swept.different or swept.missing or swept.fault is not None):
        return report
    if swept.fault is not None:
        return replace(report, open=(*report.open, Open(swept.fault.where, f"not swept: {swept.fault.what}")))
    assumptions = _assumptions(single, parallel, report, swept.shapes == OWN)
    denied = (
        Finding("assumption-denied", assumption.text, f"assumption {assumption.name}")
        for assumption in assumptions
        if assumption.name in options.denied
    )
    found = (*findings(single, parallel, swept), *denied)
    return replace(
        report,
        findings=found,
        open=() if found else (*_nothing_to_compare(single), *(Open(*item) for item in swept.open)),
        assumptions=assumptions,
        proofs=Proofs(),
        evidence=Evidence(swept.established, "sweep"),
        losses=len(single.losses),
        gradients=len(single.gradients),
        outputs=len(single.outputs),
        swept=_told(swept),
    )


def mended(single: Plan, parallel: Plan, options: Options, report: Report) -> Report:
    """A refuted report with the causes that corrections show, where they mend all that differs, in a small plan that
    lists all its ranks.

    What the walk says of a plan that is built otherwise than the single-device plan may be beside the point; where
    both find the same, the walk's findings say more.
    """
    recorded = any(assumption.name == RECORDED for assumption in parallel.assumptions)
    small = parallel.columns == 1 and steps_of(parallel) <= (MOST_RECORDED if recorded else MOST_MENDED)
    told = {finding.code for finding in report.findings}
    if report.verdict is not Verdict.REFUTED or not small or told & MATTERS_OF_FORM:
        return report
    swept = sweep(single, parallel, options)
    found = findings(single, parallel, swept) if swept.different and swept.fault is None else ()
    codes = {finding.code for finding in found}
    unexplained = found[:1] if recorded else found
    if not found or any(finding.code == "not-equivalent" for finding in unexplained) or codes == told:
        return report
    return replace(report, findings=found, open=(), proofs=Proofs(), swept=_told(swept))


def _told(swept: Swept) -> Sweep:
    return Sweep(
        swept.steps,
        swept.claims,
        swept.distinct,
        swept.methods,
        swept.compared,
        swept.shapes,
        swept.larger,
        solvers=asked(swept.answers),
    )


def _nothing_to_compare(single: Plan) -> Iterator[Open]:
    """Weights that nothing trains of what the single-device plan declares, and what means nothing of what it declares.

    A plan without a loss and without gradients is about its further outputs alone.
    """
    if not single.losses and not single.outputs:
        yield Open(single.source, "it declares no loss (nothing to compare)")
    if not single.losses and not single.gradients:
        return
    for nothing in vacuous(reference(single, 1, {})):
        yield Open(nothing.where, nothing.reason)
    declared = {
        single.tensors[held.weight].logical for held in (*single.gradients, *single.outputs) if held.weight != ABSENT
    }
    for index, logical in enumerate(single.logicals):
        if logical.kind == WEIGHT and index not in declared:
            yield Open(
                f"weight {logical.name}", "the single-device plan computes no gradient of it (nothing to compare)"
            )


def _assumptions(single: Plan, parallel: Plan, report: Report, own_shapes: bool) -> tuple[Assumption, ...]:
    """What the walk took for granted, and what the rules of all operators do; no reduction at the plans' own shapes."""
    used = {node.op.removesuffix(".grad") for plan in (single, parallel) for s in plan.segments for node in s.nodes}
    of_rules = (assumption for op in sorted(used) if op in RULES for assumption in RULES[op].assumptions)
    found = dict.fromkeys((*report.assumptions, *of_rules))
    return tuple(assumption for assumption in found if not own_shapes or assumption != REDUCTION)
