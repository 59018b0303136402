"""The whole story: two plans in, a report out. Each step consumes the value before it."""

from dataclasses import replace
from functools import partial

from verdict.between import between_cut_points
from verdict.certify import certified, contradicted
from verdict.deepen import deepen, mended
from verdict.diagnose import Raw, diagnose, scene_of
from verdict.examine import Examined, Observe, examine, silent
from verdict.graph import Plan, without_effects
from verdict.options import Options
from verdict.outcome import Finding
from verdict.replica import one_column, split
from verdict.report import Evidence, Report, Verdict

SHARES = frozenset({"missing-reduction", "reduced-twice", "wrong-scale"})
"""Codes of declared outputs that are made of what they must be made of, in other multiples."""

def verify(single: Plan, parallel: Plan, options: Options, observe: Observe = silent) -> Report:
    """Tell whether `parallel` computes what `single` computes: the loss, and the gradient of every weight.

    Raises PlanFileError where a plan is malformed, PlanMismatchError where the two have nothing in common.
    """
    examined = examine(single, parallel, options, observe)
    return explain(single, parallel, options, deeper(single, parallel, options, examined, observe))


def deeper(single: Plan, parallel: Plan, options: Options, examined: Examined, observe: Observe = silent) -> Examined:
    """What was examined, with what only the walk refutes run on numbers, and the sweep's answer to what is open; what
    stays open is run on numbers, too.
    """
    asked = bool(examined.report.findings)
    examined = certify(single, parallel, options, examined, observe)
    report = examined.report
    if report.verdict is not Verdict.UNKNOWN:
        return examined
    observe("sweep", 0, 1, None)
    between = between_cut_points(single, parallel, options, examined, partial(_sweeping, observe))
    if between is not None:
        return between
    single, parallel = without_effects(single), without_effects(parallel)
    swept = _one_replica(single, parallel, options, report, observe)
    if swept is None:
        swept = deepen(single, parallel, options, report, partial(_sweeping, observe))
    examined = examined if swept is report else Examined(swept)
    return examined if asked else contradict(single, parallel, options, examined)


def _one_replica(single: Plan, parallel: Plan, options: Options, report: Report, observe: Observe) -> Report | None:
    """What the sweep says of one replica, where replicas do nothing but add up and the walk proves that they may; None
    where all have to be swept.
    """
    one = None if options.exhaustive else split(single, parallel)
    if one is None:
        return None
    law = examine(single, one.copies, options).report
    if law.verdict is not Verdict.PROVED:
        return None
    trusted = replace(report, assumptions=tuple(dict.fromkeys((*report.assumptions, *law.assumptions))))
    found = deepen(one.single, one.parallel, options, trusted, partial(_sweeping, observe))
    if found.swept is None:
        return None
    evidence = Evidence(found.evidence.outputs, "sweep of one replica, walk of all")
    return replace(found, proofs=law.proofs, swept=replace(found.swept, replicas=parallel.replicas), evidence=evidence)


def _sweeping(observe: Observe, done: int, total: int) -> None:
    observe("sweep", done, total, None)


def certify(single: Plan, parallel: Plan, options: Options, examined: Examined, observe: Observe = silent) -> Examined:
    """What was examined: a finding that numbers do not bear out is open again, and nothing is explained of it."""
    if not examined.report.findings:
        return examined
    observe("certify", 0, 1, None)
    single, parallel = without_effects(single), without_effects(parallel)
    column = partial(_one_column, single, parallel, options)
    report = certified(single, parallel, examined.report, needs_no_run(examined), column)
    if report.findings == examined.report.findings:
        return examined._replace(report=report)
    return examined._replace(report=report, walks=(), raw=Raw(examined.raw.structural))


def contradict(single: Plan, parallel: Plan, options: Options, examined: Examined) -> Examined:
    """What was examined, refuted where it is open and numbers refute it.

    They are not asked under assumptions that were made by choice: these are not in them.
    """
    if options.assume:
        return examined
    report = contradicted(without_effects(single), without_effects(parallel), examined.report)
    return examined if report is examined.report else Examined(report, raw=Raw(examined.raw.structural))


def needs_no_run(examined: Examined) -> tuple[Finding, ...]:
    """Findings that follow from the plan's form, and what is wrong with declared outputs where all before them is
    proved: they hold other shares of the right sums.
    """
    ends = set(examined.raw.ends)
    if examined.report.open or any(finding not in ends for finding in examined.report.findings):
        return examined.raw.structural
    return (*examined.raw.structural, *(finding for finding in examined.raw.ends if finding.code in SHARES))


def _one_column(single: Plan, parallel: Plan, options: Options) -> tuple[Plan, Plan] | None:
    """One microbatch of one replica, where the walk proves that the step is the sum of such."""
    one = one_column(single, parallel)
    if one is None or examine(single, one.copies, options).report.verdict is not Verdict.PROVED:
        return None
    return one.single, one.parallel


def explain(single: Plan, parallel: Plan, options: Options, examined: Examined) -> Report:
    """The report with one finding for each cause, the earliest first, each with what it takes to understand it.

    A plan that was refuted stays so: where nothing can be explained, the findings stand as they were made.
    """
    report, stages = examined.report, examined.stages
    if not report.findings or report.swept is not None:
        return report
    single, parallel = without_effects(single), without_effects(parallel)
    outcomes = tuple(examined.outcomes[stage] for stage in stages.questions)
    scene = scene_of(single, parallel, examined.walks, stages, outcomes, options.exhaustive) if examined.walks else None
    denied = tuple(finding for finding in report.findings if finding.code == "assumption-denied")
    explained = (*diagnose(parallel, examined.raw, scene), *denied)
    report = replace(report, findings=explained or report.findings)
    return report if examined.raw.structural else mended(single, parallel, options, report)
