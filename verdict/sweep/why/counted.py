"""What each of several ranks adds to its part of a sum, though it should be added once: a bias before an all_reduce."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from verdict.graph import ABSENT
from verdict.ops import FACTS, Array
from verdict.sweep.flow import CANNOT, attempt
from verdict.sweep.why.edits import without
from verdict.sweep.why.fix import Fix
from verdict.sweep.why.mend import Change, State
from verdict.sweep.why.missing import groupings, reduced_next, values_of
from verdict.sweep.why.scene import Arrays, Scene, close
from verdict.sweep.why.siblings import Instance, Siblings
from verdict.sweep.why.words import elements_text, node_text, owners, ranks_text


def counted_often(scene: Scene, state: State, at: Siblings) -> Iterator[Fix]:
    """The steps without an input that all of a group add, on all of the group but one."""
    first = scene.step(at.first)
    if len(first.inputs) < 2 or not FACTS.is_adding(first.op, len(first.inputs), first.attrs):
        return
    plain = FACTS.is_sum(first.op) and {*first.attrs.values()} <= {1}
    values = values_of(scene, at, 0)
    if not reduced_next(scene, state, set(values.values())):
        return
    for k in reversed(range(len(first.inputs))):
        added: dict[Instance, Arrays] = {}
        for place in values:
            inputs = scene.step(at.steps[place]).inputs
            arrays = state.arrays(inputs[k], place[0]) if k < len(inputs) else None
            if arrays is not None:
                added[place] = arrays
        for groups in groupings(scene, list(added)):
            if not all(close(added[place], added[group[0]]) for group in groups for place in group):
                continue
            change: dict[int, Arrays] = {}
            others = [at.steps[place] for group in groups for place in group[1:]]
            for group in groups:
                for place in group[1:]:
                    made = _without(scene, state, at.steps[place], k)
                    if made is None:
                        return
                    change[values[place]] = made
            ids = state.look(scene, first.inputs[k])
            what = elements_text(scene, ids) if ids is not None else f"input {k}"
            ranks = ranks_text(rank for rank, _ in groups[0])
            node, count = node_text(scene, first), len(groups[0])
            title = f"{node} adds {what} to a part of a sum on each of {ranks}: it is counted {count} times"
            single = owners(scene, ids) if ids is not None else ()
            yield Fix(
                "reduced-twice", title, at, tuple(values), Change(change), single=single,
                help=f"add {what} behind the sum over {ranks}, or on one of them only",
                edits=partial(without, scene, others, k) if plain else tuple,
            )  # fmt: skip


def _without(scene: Scene, state: State, number: int, k: int) -> Arrays | None:
    """What a step makes with zeros in place of an input."""
    step = scene.step(number)
    found: list[Array] = []
    for seed in range(len(state.values)):
        inputs = []
        for position, value in enumerate(step.inputs):
            arrays = state.arrays(value, step.place.rank)
            if arrays is None:
                return None
            inputs.append(np.zeros_like(arrays[seed]) if position == k else arrays[seed])
        try:
            made = attempt(step, inputs)[0]
        except CANNOT:
            return None
        if made is None or step.outputs[0] == ABSENT:
            return None
        found.append(np.asarray(made, dtype=np.float64))
    return tuple(found)
