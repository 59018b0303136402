"""Two plans in, what the walk and its stages say of them out. Each step consumes the value before it."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from verdict.diagnose import Raw, dtype_notes, other_operators, scene_of
from verdict.due import due_of
from verdict.errors import PlanMismatchError
from verdict.graph import Plan, without_effects
from verdict.graph.check import check_plan
from verdict.graph.form import require_form, require_whole
from verdict.graph.memory import check_effects
from verdict.graph.microbatches import walked_microbatches
from verdict.graph.types import check_types
from verdict.lineage import Binding, Lineages, Reference, bind, propagate, reference
from verdict.lineage.goals import check_goals, undecided
from verdict.lineage.judged import judge
from verdict.ops import CAST, RULES
from verdict.ops.types import GRADIENTS, beyond, kind
from verdict.options import Options
from verdict.outcome import Finding, Outcome
from verdict.report import Open, Proofs, Report
from verdict.stage import Cut, Stage, cut, run
from verdict.summary import (
    assumptions_of,
    gaps_of,
    missing_of,
    open_gap,
    open_of,
    proofs_of,
    refuted_of,
    side_of,
    trained_weights,
    walked,
)
from verdict.workers import run_all

Observe = Callable[[str, int, int, Any], None]
"""Told of each step: its name, how many of how many of its tasks are done, and the result of the step before."""


def silent(step: str, done: int, total: int, result: Any) -> None:
    """An observer that does nothing."""


class Examined(NamedTuple):
    """The report with the findings as they were made, and what it was made from: the walked columns, the outcome of
    every distinct stage, what was found at the door and about the results, the stages, and what the single-device plan
    leaves without a question.
    """

    report: Report
    walks: tuple[Lineages, ...] = ()
    outcomes: Mapping[Stage, Outcome] = {}
    raw: Raw = Raw()
    stages: Cut = Cut((), ())
    missing: tuple[Open, ...] = ()


def examine(
    single: Plan,
    parallel: Plan,
    options: Options,
    observe: Observe = silent,
    known: Mapping[Stage, Outcome] | None = None,
    before: Examined | None = None,
    walk: Lineages | None = None,
) -> Examined:
    """Verify, and keep what was found on the way.

    known: outcomes of stages of another parallel plan of the same single plan, options and number of columns;
    they are not asked again. before: what was found of one of the same single plan, which is not looked at again.
    walk: the walk of the only column, with cut points that are proved.
    """
    observe("check", 0, 1, (single, parallel))
    for plan in (single, parallel):
        require_form(plan, RULES)
    values = without_effects(single), without_effects(parallel)
    binding = bind(*values)
    if before is None:
        _require_sound(single)
    types = check_types(values[1], RULES, kind, GRADIENTS, beyond)
    structural = (*check_effects(parallel, RULES), *check_plan(values[1], RULES), *types)
    single, parallel = values
    observe("lineage", 0, 1, structural)
    sides = (side_of(single), side_of(parallel))
    if binding.findings:
        wrong = (*binding.findings, *structural)
        return Examined(Report(*sides, wrong, (), (), Proofs()), raw=Raw(wrong))
    known_table = _table_of(before, single, parallel, binding)
    table = known_table or reference(single, parallel.columns, binding.batch)
    missing = before.missing if before and known_table else tuple(missing_of(table))
    walks = (
        (walk,)
        if walk is not None
        else tuple(
            propagate(table, parallel, binding, microbatch, options.assume, options.exhaustive)
            for microbatch in walked_microbatches(parallel, options.exhaustive)
        )
    )
    observe("stage", 0, 1, walks)
    stages = cut(walks, options.exhaustive)
    observe("prove", 0, len(stages.questions), stages)
    outcomes = outcomes_of(stages.questions, parallel.columns, options, known or {}, observe)
    observe("report", 0, 1, outcomes)
    notes = dtype_notes(parallel, walks)
    casts = (CAST,) if notes else ()
    assumptions = tuple(dict.fromkeys((*assumptions_of(single, parallel, binding, walks, stages), *casts)))
    judged = [judge(walk, parallel, binding) for walk in walks]
    pairs = tuple(zip(judged, walks, strict=True))
    ends = [finding for one, walk in pairs for finding in check_goals(one, walk, parallel, binding)]
    if any(walk.gaps for walk in walks):
        ends.extend(other_operators(scene_of(single, parallel, walks, stages, outcomes, options.exhaustive)))
    if CAST.name in options.denied:
        ends, notes = [*ends, *notes], ()
    findings = (
        *structural,
        *(finding for walk in walks for finding in walk.findings),
        *ends,
        *refuted_of(stages, outcomes),
        *(
            Finding("assumption-denied", assumption.text, f"assumption {assumption.name}")
            for assumption in assumptions
            if assumption.name in options.denied
        ),
    )
    unknown = tuple(gap for one, walk in pairs for gap in undecided(one, walk))
    still_open = (
        *gaps_of(walks),
        *missing,
        *(open_gap(gap) for gap in unknown),
        *open_of(stages, outcomes),
    )
    report = Report(
        *sides,
        findings=tuple(dict.fromkeys(findings)),
        open=tuple(dict.fromkeys(still_open)),
        assumptions=assumptions,
        proofs=proofs_of(stages, outcomes),
        due=due_of(single, parallel),
        evidence=walked(judged, outcomes),
        losses=len(parallel.losses),
        gradients=trained_weights(table),
        outputs=len(single.outputs),
        notes=notes,
    )
    answers = dict(zip(stages.questions, outcomes, strict=True))
    return Examined(report, walks, answers, Raw(structural, tuple(dict.fromkeys(ends))), stages, missing)


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


def outcomes_of(
    stages: Sequence[Stage],
    columns: int,
    options: Options,
    known: Mapping[Stage, Outcome],
    observe: Observe = silent,
) -> list[Outcome]:
    """The outcome of every stage, in their order; those that are known are not proved again."""
    asked = [stage for stage in stages if stage not in known]
    fresh = iter(prove(asked, columns, options, observe))
    return [known[stage] if stage in known else next(fresh) for stage in stages]


def _require_sound(single: Plan) -> None:
    require_whole(single)
    plain = without_effects(single)
    types = check_types(plain, RULES, kind, GRADIENTS, beyond)
    wrong = (*check_effects(single, RULES), *check_plan(plain, RULES), *types)
    if wrong:
        raise PlanMismatchError(
            single.source,
            f"the single-device plan itself is not well-formed: {wrong[0].where}: {wrong[0].title}",
            "repair it first; nothing can be compared with it",
        )


def _table_of(before: Examined | None, single: Plan, parallel: Plan, binding: Binding) -> Reference | None:
    """The table of the single-device plan's values, if it has been made before for so many columns and this batch."""
    table = before.walks[0].reference if before and before.walks else None
    if table and (table.plan, table.columns, table.batch) == (single, parallel.columns, binding.batch):
        return table
    return None
