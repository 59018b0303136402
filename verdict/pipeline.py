"""The whole story: two plans in, a report out. Each step consumes the value before it."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from verdict.errors import PlanMismatchError
from verdict.graph import WEIGHT, Plan
from verdict.graph.check import check_plan
from verdict.lineage import Binding, Lineages, Place, bind, propagate, reference
from verdict.lineage.goals import check_goals, untrained
from verdict.ops import RULES
from verdict.options import Options
from verdict.outcome import Assumption, Finding, Outcome, Proved, Refuted, Unknown
from verdict.report import Open, Proofs, Report, Side
from verdict.stage import Cut, Members, Stage, cut, run
from verdict.workers import run_all

Observe = Callable[[str, int, int, Any], None]
"""Told of each step: its name, how many of how many of its tasks are done, and its result at the end."""


def silent(step: str, done: int, total: int, result: Any) -> None:
    """An observer that does nothing."""


def verify(single: Plan, parallel: Plan, options: Options, observe: Observe = silent) -> Report:
    """Tell whether `parallel` computes what `single` computes: the loss, and the gradient of every weight.

    Raises PlanMismatchError where no question can be put between the two.
    """
    observe("check", 0, 1, None)
    binding = bind(single, parallel)
    _require_sound(single)
    structural = check_plan(parallel, RULES)
    observe("lineage", 0, 1, structural)
    if binding.findings:
        return _report(single, parallel, (*binding.findings, *structural), (), (), Proofs())
    lineages = propagate(
        reference(single, parallel.columns, binding.batch),
        parallel,
        binding,
        _whole_microbatch(parallel),
        options.assume,
    )
    observe("stage", 0, 1, lineages)
    stages = cut(lineages)
    observe("prove", 0, len(stages.distinct), stages)
    outcomes = prove(stages.distinct, parallel.columns, options, observe)
    observe("report", 0, 1, outcomes)
    found = (
        *structural,
        *lineages.findings,
        *check_goals(lineages, parallel, binding),
        *_refuted(stages, outcomes),
    )
    still = (*_gaps(lineages), *_open(stages, outcomes))
    assumptions = _assumptions(single, parallel, binding, lineages, stages)
    denied = tuple(
        Finding("assumption-denied", assumption.text, f"assumption {assumption.name}")
        for assumption in assumptions
        if assumption.name in options.denied
    )
    return _report(single, parallel, (*found, *denied), still, assumptions, _proofs(stages, outcomes))


def prove(stages: Sequence[Stage], columns: int, options: Options, observe: Observe = silent) -> list[Outcome]:
    """The outcome of every stage, in their order."""
    return run_all(
        stages,
        partial(run, columns=columns, options=options.solver, exhaustive=options.exhaustive),
        options.workers,
        options.solver.timeout,
        options.memory_mib,
        lambda done: observe("prove", done, len(stages), None),
    )


def _require_sound(single: Plan) -> None:
    wrong = check_plan(single, RULES)
    if wrong:
        raise PlanMismatchError(
            single.source,
            f"the single-device plan itself is not well-formed: {wrong[0].where}: {wrong[0].title}",
            "repair it first; nothing can be compared with it",
        )


def _whole_microbatch(plan: Plan) -> int:
    """The microbatch whose column is looked at: the first one that every segment runs for."""
    runs = Counter(call.microbatch for program in plan.programs for call in program if call.microbatch >= 0)
    return max(range(plan.microbatches), key=lambda microbatch: (runs[microbatch], -microbatch))


def _refuted(stages: Cut, outcomes: Sequence[Outcome]) -> Iterable[Finding]:
    found = dict(zip(stages.distinct, outcomes, strict=True))
    for stage, outcome in found.items():
        if isinstance(outcome, Refuted):
            yield _not_equivalent(stages, stage, outcome)


def _not_equivalent(stages: Cut, stage: Stage, outcome: Refuted) -> Finding:
    op = stage.signature.op
    if not isinstance(stage, Members):
        return Finding("law-fails", f"{op} does not add up over its shares", f"{stage}", values=outcome.mismatches)
    here = [occurrence for occurrence in stages.occurrences if occurrence.stage == stage]
    wrong = sorted({int(mismatch.goal.split()[1]) for mismatch in outcome.mismatches})
    places = [place for occurrence in here for member in wrong for place in occurrence.places[member]]
    member = stage.members[wrong[0]]
    notes = []
    if member.attrs != stage.signature.attrs:
        single = dict(stage.signature.attrs)
        apart = [f"{name}={value!r} (single {single.get(name)!r})" for name, value in member.attrs]
        notes.append("attributes: " + ", ".join(text for text in apart))
    devices = sorted({place.device for place in places})
    notes.append("on ranks " + ", ".join(str(device) for device in devices[:8]) + (", ..." if devices[8:] else ""))
    return Finding(
        "not-equivalent",
        f"{op} computes something else than its single-device partner",
        _show(places[0]),
        tuple(notes),
        extent=len(places),
        values=outcome.mismatches,
    )


def _show(place: Place) -> str:
    return f"{place.op} {place.name} on rank {place.device}"


def _gaps(lineages: Lineages) -> Iterable[Open]:
    for gap in lineages.gaps:
        yield Open(_show(gap.place), gap.reason)
    for name in untrained(lineages.reference):
        yield Open(f"weight {name}", "the single-device plan computes no gradient of it (nothing to compare)")
    if not lineages.reference.plan.losses:
        yield Open(lineages.reference.plan.source, "it declares no loss (nothing to compare)")


def _open(stages: Cut, outcomes: Sequence[Outcome]) -> Iterable[Open]:
    for stage, outcome in zip(stages.distinct, outcomes, strict=True):
        if isinstance(outcome, Unknown):
            yield Open(f"stage of {stage.signature.op} {list(stage.signature.shapes)}", outcome.reason)


def _proofs(stages: Cut, outcomes: Sequence[Outcome]) -> Proofs:
    methods: Counter[str] = Counter()
    for outcome in outcomes:
        if isinstance(outcome, Proved):
            methods.update(dict(outcome.methods))
    return Proofs(
        stages=len(stages.occurrences),
        distinct=len(stages.distinct),
        laws=sum(not isinstance(stage, Members) for stage in stages.distinct),
        obligations=sum(methods.values()),
        confirmed=sum(isinstance(outcome, Proved) and outcome.confirmed for outcome in outcomes),
        methods=tuple(sorted(methods.items())),
    )


def _assumptions(
    single: Plan, parallel: Plan, binding: Binding, lineages: Lineages, stages: Cut
) -> tuple[Assumption, ...]:
    used = sorted({stage.signature.op.removesuffix(".grad") for stage in stages.distinct})
    of_rules = (assumption for op in used if op in RULES for assumption in RULES[op].assumptions)
    always = (
        Assumption("real-arithmetic", "numbers are real numbers, without rounding or overflow"),
        Assumption(
            "shape-reduction",
            f"{len(stages.distinct)} distinct stages were proved at the smallest shapes with the same pattern "
            "of cuts (docs/soundness.md)",
        ),
    )
    found = (
        *always,
        *single.assumptions,
        *parallel.assumptions,
        *binding.assumptions,
        *lineages.assumptions,
        *of_rules,
    )
    return tuple(dict.fromkeys(found))


def _report(
    single: Plan,
    parallel: Plan,
    findings: Sequence[Finding],
    still_open: Sequence[Open],
    assumptions: Sequence[Assumption],
    proofs: Proofs,
) -> Report:
    return Report(
        _side(single),
        _side(parallel),
        tuple(findings),
        tuple(still_open),
        tuple(assumptions),
        proofs,
        len(parallel.losses),
        sum(logical.kind == WEIGHT for logical in parallel.logicals),
    )


def _side(plan: Plan) -> Side:
    return Side(
        plan.source,
        plan.format,
        plan.mesh,
        plan.ranks,
        plan.microbatches,
        sum(len(segment.nodes) for segment in plan.segments),
        sum(logical.kind == WEIGHT for logical in plan.logicals),
    )
