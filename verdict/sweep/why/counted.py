"""What each of several ranks adds to its part of a sum, though it should be added once: a bias before an all_reduce."""

from collections.abc import Iterator, Sequence, Set
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
from verdict.sweep.why.words import elements_text, maker_text, node_text, owners, ranks_text


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
                    made = _without(scene, state, at.steps[place], {k})
                    if made is None:
                        return
                    change[values[place]] = made
            ids = state.look(scene, first.inputs[k])
            what = elements_text(scene, ids) if ids is not None else maker_text(scene, first.inputs[k])
            ranks = ranks_text(rank for rank, _ in groups[0])
            node, count = node_text(scene, first), len(groups[0])
            title = f"{node} adds {what} to a part of a sum on each of {ranks}: it is counted {count} times"
            single = owners(scene, ids) if ids is not None else ()
            yield Fix(
                "reduced-twice", title, at, tuple(values), Change(change), single=single,
                help=f"add {what} behind the sum over {ranks}, or on one of them only",
                edits=partial(without, scene, others, k) if plain else tuple,
            )  # fmt: skip


def joined_often(scene: Scene, state: State, at: Siblings) -> Iterator[Fix]:
    """What is laid beside parts by each of a group, though it should be counted once: norms of weights that each rank
    has whole, beside those of its shards. Zeros stand in its place on all of the group but one.
    """
    first = scene.step(at.first)
    if len(first.inputs) < 2 or len(first.outputs) != 1 or not FACTS.moves(first.op, len(first.inputs)):
        return
    values = values_of(scene, at, 0)
    for groups in groupings(scene, list(values)):
        change: dict[int, Arrays] = {}
        copies = [_copies(scene, state, at, group) for group in groups]
        if len({*copies}) != 1 or not 0 < len(copies[0]) < len(first.inputs):
            continue
        for place in (place for group in groups for place in group[1:]):
            made = _without(scene, state, at.steps[place], copies[0])
            if made is None:
                return
            change[values[place]] = made
        k = min(copies[0])
        ids = state.look(scene, first.inputs[k])
        what = elements_text(scene, ids) if ids is not None else maker_text(scene, first.inputs[k])
        more = f" and {len(copies[0]) - 1} more" if len(copies[0]) > 1 else ""
        ranks, count = ranks_text(rank for rank, _ in groups[0]), len(groups[0])
        title = f"{node_text(scene, first)} lays {what}{more} beside parts of a sum on each of {ranks}"
        yield Fix(
            "reduced-twice", f"{title}: it is counted {count} times", at, tuple(values), Change(change),
            single=owners(scene, ids) if ids is not None else (),
            help=f"add it behind the sum over {ranks}, or on one of them only",
        )  # fmt: skip


def _copies(scene: Scene, state: State, at: Siblings, group: Sequence[Instance]) -> frozenset[int]:
    """Which inputs of a step are the same on all of a group, and not zero."""
    read = [[state.arrays(v, place[0]) for v in scene.step(at.steps[place]).inputs] for place in group]
    found: set[int] = set()
    for k, each in enumerate(zip(*read, strict=False)):
        known = [arrays for arrays in each if arrays is not None]
        if len(known) == len(group) > 1 and known[0][0].any() and all(close(own, known[0]) for own in known):
            found.add(k)
    return frozenset(found)


def _without(scene: Scene, state: State, number: int, gone: Set[int]) -> Arrays | None:
    """What a step makes with zeros in place of some inputs."""
    step = scene.step(number)
    found: list[Array] = []
    for seed in range(len(state.values)):
        inputs = []
        for position, value in enumerate(step.inputs):
            arrays = state.arrays(value, step.place.rank)
            if arrays is None:
                return None
            inputs.append(np.zeros_like(arrays[seed]) if position in gone else arrays[seed])
        try:
            made = attempt(step, inputs)[0]
        except CANNOT:
            return None
        if made is None or step.outputs[0] == ABSENT:
            return None
        found.append(np.asarray(made, dtype=np.float64))
    return tuple(found)
