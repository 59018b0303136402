"""Large plans of many equal layers, asked with few of them.

That layers are equal, and stand for each other, is looked at in the whole plans. Of a pair with few of them all is
proved, and what is proved of a layer must be the same from layer to layer; then it is so of all. Only what is PROVED is
said: all else is asked of the plans as they are.
"""

from dataclasses import replace
from typing import NamedTuple

from verdict.errors import PlanFileError, PlanMismatchError
from verdict.graph.microbatches import unlike
from verdict.layers import KEPT, Fewer, carries, established, fewer_layers, trained
from verdict.lineage import Binding, Reference, reference
from verdict.observer import SILENT, Phase
from verdict.phases.between import between_cut_points
from verdict.phases.door import Admitted, admit
from verdict.phases.due import due_of
from verdict.phases.query import Examined, Query
from verdict.phases.summary import side_of
from verdict.phases.walk import walk
from verdict.report import Evidence, Verdict
from verdict.residue import Decided, given_blocks
from verdict.sweep import steps_of

BY = "{}, of {} of {} equal layers"
MANY_STEPS = 50_000
"""From how many nodes of the parallel plan on layers are looked for: smaller plans take a second or two as they are."""


class Few(NamedTuple):
    """What was found at the door, if both plans were there, and what is PROVED by few of their layers, if it is."""

    admitted: Admitted | None = None
    examined: Examined | None = None


def by_few_layers(query: Query, least: int = MANY_STEPS) -> Few:
    """What is PROVED of a pair by the same pair with few of its equal layers. least: nodes of the parallel plan.

    Raises as `admit` does. What few layers alone lack, as by the names that are left, is no matter.
    """
    if query.options.exhaustive or query.options.assume or query.parallel.size < least:
        return Few()
    query.observer.begin(Phase.CHECK, (query.single, query.parallel))
    admitted = admit(query, sound=False)
    binding = admitted.binding
    if admitted.structural or binding.findings or binding.unstated or any(unlike(query.parallel)):
        return Few(admitted)
    try:
        fewer = fewer_layers(*query.values, binding)
        return Few(admitted, None if fewer is None else _proved(query, fewer, binding))
    except (PlanFileError, PlanMismatchError):
        return Few(admitted)


def _proved(query: Query, fewer: Fewer, binding: Binding) -> Examined | None:
    """What is PROVED of few layers, told of the whole pair, if it is so of all. binding: of the whole pair."""

    def whole() -> Reference:
        single, parallel = query.values
        return reference(single, parallel.columns, binding.batch)

    asked = replace(query, single=fewer.single.plan, parallel=fewer.parallel.plan, observer=SILENT)
    query.observer.begin(Phase.LINEAGE, ())
    found = walk(asked)
    if found.report.verdict is Verdict.PROVED:
        return _told(query, fewer, binding, found) if carries(fewer, found.walks[0], None, whole) else None
    most = query.options.most_swept
    is_open = found.report.verdict is Verdict.UNKNOWN and found.walks
    if not is_open or (most is not None and steps_of(query.parallel) > most):
        return None
    if given_blocks(*asked.values) is not None:
        return None

    def is_so_of_all(decided: Decided) -> bool:
        return carries(fewer, decided.walk, decided, whole)

    query.observer.begin(Phase.SWEEP)
    watched = replace(asked, observer=query.observer)
    between = between_cut_points(watched, found, is_enough=is_so_of_all)
    return None if between is None else _told(query, fewer, binding, between)


def _told(query: Query, fewer: Fewer, binding: Binding, found: Examined) -> Examined | None:
    """A proof of few layers as one of the whole pair; None where that leaves something open that is due."""
    report, (single, parallel) = found.report, query.values
    layers, stated = (KEPT, fewer.layers), {one.name: one for one in binding.assumptions}
    outputs = established(fewer.parallel, parallel, report.evidence.outputs)
    told = replace(
        report,
        single=side_of(query.single),
        parallel=side_of(query.parallel),
        assumptions=tuple(stated.get(one.name, one) for one in report.assumptions),
        due=due_of(single, parallel),
        gradients=trained(fewer.single, single, found.walks[0].reference),
        outputs=len(single.outputs),
        evidence=Evidence(outputs, BY.format(report.evidence.by, *layers), layers),
    )
    return found._replace(report=told) if told.verdict is Verdict.PROVED else None
