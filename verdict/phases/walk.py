"""The walk: what every tensor of the parallel plan holds, in single-device values, and a proof of each distinct stage.

Nothing that is found here is said before numbers bear it out (`certify`).
"""

from collections.abc import Mapping, Sequence
from functools import partial

from verdict.diagnose import Raw, dtype_notes, other_operators, scene_of
from verdict.graph import Plan, without_effects
from verdict.graph.microbatches import walked_microbatches
from verdict.lineage import Binding, Lineages, Reference, Unstated, bind, propagate, reference, resumed
from verdict.lineage.goals import check_goals, undecided
from verdict.lineage.judged import judge
from verdict.observer import Phase
from verdict.ops import CAST
from verdict.outcome import Assumption, Outcome
from verdict.phases.door import Admitted, admit
from verdict.phases.due import due_of
from verdict.phases.prove import prove
from verdict.phases.query import Examined, Query
from verdict.phases.summary import (
    assumptions_of,
    denied_of,
    gaps_of,
    missing_of,
    open_gap,
    open_of,
    proofs_of,
    refuted_of,
    side_of,
    trained_weights,
    unlike_of,
    walked,
)
from verdict.report import Due, Open, Proofs, Report, Verdict
from verdict.report.questions import NO_RULE, SPECS_MISSING
from verdict.stage import Cut, Stage, cut
from verdict.words import listed

MOST_UNSTATED = 4
"""How many inputs are named whose parts nobody stated; dots stand for the others."""


def walk(
    query: Query,
    known: Mapping[Stage, Outcome] | None = None,
    before: Examined | None = None,
    was: Plan | None = None,
    admitted: Admitted | None = None,
) -> Examined:
    """What the walk and its stages say.

    known: outcomes of stages of another parallel plan of the same single plan, options and number of columns;
    they are not asked again. before: what was found of one of the same single plan, which is not looked at again. was:
    that parallel plan, of which this one is a repair: where that proves it, what it changes alone is walked. admitted:
    what was found at the door, if both plans have passed it.
    Raises PlanFileError where a plan is malformed, PlanMismatchError where the two have nothing in common.
    """
    observer = query.observer
    if admitted is None:
        observer.begin(Phase.CHECK, (query.single, query.parallel))
        admitted = admit(query, sound=before is not None)
    single, parallel = query.values
    observer.begin(Phase.LINEAGE, admitted.structural)
    if admitted.binding.findings:
        wrong = (*admitted.binding.findings, *admitted.structural)
        return Examined(Report(side_of(single), side_of(parallel), wrong, (), (), Proofs()), raw=Raw(wrong))
    if admitted.binding.unstated:
        open_ = (_unstated(parallel, admitted.binding.unstated),)
        return Examined(Report(side_of(single), side_of(parallel), admitted.structural, open_, (), Proofs()))
    known_table = table_of(before, single, parallel, admitted.binding)
    table = known_table or reference(single, parallel.columns, admitted.binding.batch)
    missing = before.missing if before and known_table else tuple(missing_of(table))
    changed = _resumed(query, was, before, admitted.binding) if was and before and known_table else None
    if changed is not None:
        found = _proved(query, admitted, missing, changed, known or {})
        if found.report.verdict is Verdict.PROVED:
            return found
    return _proved(query, admitted, missing, _walks(query, table, admitted.binding), known or {})


def _unstated(parallel: Plan, unstated: Sequence[Unstated]) -> Open:
    """The question which part of its inputs each rank of a recorded program has."""
    each = [f"{one.name} ({list(one.parallel)} of {list(one.single)})" for one in unstated]
    one = unstated[0]
    share = f'"{one.name}": shard({one.axis}, ctx.rank, {one.single[one.axis] // one.parallel[one.axis]})'
    unsaid = f"nothing says which part of {listed(each, MOST_UNSTATED)} a rank has"
    return Open(parallel.source, f"{unsaid}: state it in the Program, as specs={{{share}}}", SPECS_MISSING)


def walk_on(query: Query, known: Mapping[Stage, Outcome], before: Examined, lineages: Lineages) -> Examined:
    """What the stages of the same plans say of their only column, with cut points that are proved.

    before: what was found of the pair without these. known: outcomes of stages.
    """
    admitted = Admitted(bind(*query.values), before.raw.structural)
    return _proved(query, admitted, before.missing, (lineages,), known, before.report.due if before.walks else None)


def _proved(
    query: Query,
    admitted: Admitted,
    missing: tuple[Open, ...],
    walks: tuple[Lineages, ...],
    known: Mapping[Stage, Outcome],
    due: Due | None = None,
) -> Examined:
    """The stages of walks, proved, and what comes of them. due: what must be established, where that is known."""
    query.observer.begin(Phase.STAGE, walks)
    stages = cut(walks, query.options.exhaustive)
    query.observer.begin(Phase.PROVE, stages)
    outcomes = prove(stages.questions, query.parallel.columns, query.options, known, query.observer)
    query.observer.begin(Phase.REPORT, outcomes)
    due = due or due_of(*query.values)
    return _examined(query, admitted, missing, walks, stages, outcomes, due)


def _resumed(query: Query, was: Plan, before: Examined, binding: Binding) -> tuple[Lineages, ...] | None:
    """The walks of a plan that was repaired, of what its repair changes; None where all of it must be walked."""
    parallel, options = query.values[1], query.options
    columns = [walked_microbatches(plan, options.exhaustive) for plan in (was, parallel)]
    if options.exhaustive or columns[0] != columns[1]:
        return None
    found = [
        resumed(walk, without_effects(was), parallel, binding, microbatch, options.assume)
        for walk, microbatch in zip(before.walks, columns[0], strict=True)
    ]
    known = tuple(walk for walk in found if walk is not None)
    return known if len(known) == len(found) else None


def _walks(query: Query, table: Reference, binding: Binding) -> tuple[Lineages, ...]:
    parallel, options = query.values[1], query.options
    progress = partial(query.observer.advance, Phase.LINEAGE)
    return tuple(
        propagate(table, parallel, binding, microbatch, options.assume, options.exhaustive, progress)
        for microbatch in walked_microbatches(parallel, options.exhaustive)
    )


def _examined(
    query: Query,
    admitted: Admitted,
    missing: tuple[Open, ...],
    walks: tuple[Lineages, ...],
    stages: Cut,
    outcomes: Sequence[Outcome],
    due: Due,
) -> Examined:
    """The report of what was found at the door, on the way and about the results, and what it is made from."""
    (single, parallel), options, binding = query.values, query.options, admitted.binding
    notes = dtype_notes(parallel, walks)
    assumptions = _assumptions(query, binding, walks, stages, casts=bool(notes))
    judged = [judge(walk, parallel, binding) for walk in walks]
    pairs = tuple(zip(judged, walks, strict=True))
    ends = [finding for one, walk in pairs for finding in check_goals(one, walk, parallel, binding)]
    if any(walk.gaps for walk in walks):
        ends.extend(other_operators(scene_of(single, parallel, walks, stages, outcomes, options.exhaustive)))
    if CAST.name in options.denied:
        ends, notes = [*ends, *notes], ()
    findings = (
        *admitted.structural,
        *(finding for walk in walks for finding in walk.findings),
        *ends,
        *refuted_of(stages, outcomes),
        *denied_of(assumptions, options.denied),
    )
    still_open = (
        *gaps_of(walks),
        *unlike_of(parallel),
        *missing,
        *(open_gap(gap) for one, walk in pairs for gap in undecided(one, walk)),
        *open_of(stages, outcomes),
    )
    report = Report(
        side_of(single),
        side_of(parallel),
        findings=tuple(dict.fromkeys(findings)),
        open=tuple(sorted(dict.fromkeys(still_open), key=lambda question: question.code != NO_RULE)),
        assumptions=assumptions,
        proofs=proofs_of(stages, outcomes),
        due=due,
        evidence=walked(judged, outcomes),
        losses=len(parallel.losses),
        gradients=trained_weights(walks[0].reference),
        outputs=len(single.outputs),
        notes=notes,
    )
    answers = dict(zip(stages.questions, outcomes, strict=True))
    raw = Raw(admitted.structural, tuple(dict.fromkeys(ends)))
    return Examined(report, walks, answers, raw, stages, missing)


def _assumptions(
    query: Query, binding: Binding, walks: Sequence[Lineages], stages: Cut, casts: bool
) -> tuple[Assumption, ...]:
    """All that the verdict rests on, each once. casts: whether numbers are cast somewhere."""
    found = assumptions_of(*query.values, binding, walks, stages)
    return tuple(dict.fromkeys((*found, *((CAST,) if casts else ()))))


def table_of(before: Examined | None, single: Plan, parallel: Plan, binding: Binding) -> Reference | None:
    """The table of the single-device plan's values, if it has been made before for so many columns and this batch."""
    table = before.walks[0].reference if before and before.walks else None
    if table and (table.plan, table.columns, table.batch) == (single, parallel.columns, binding.batch):
        return table
    return None
