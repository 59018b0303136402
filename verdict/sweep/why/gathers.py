"""Pieces that are joined, or handed out, in another order or among other ranks than they should be."""

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import islice, permutations

import numpy as np

from verdict.sweep.flow import CONCATENATE, PIECE
from verdict.sweep.why.edits import grouped
from verdict.sweep.why.fix import Fix
from verdict.sweep.why.mend import Change, State
from verdict.sweep.why.missing import groupings, values_of
from verdict.sweep.why.scene import Arrays, Scene, close
from verdict.sweep.why.siblings import Instance, Siblings
from verdict.sweep.why.words import elements_text, entered, node_text, operator_text, owners, ranks_text

MOST_ORDERS = 24
"""Of up to four pieces all orders are tried, of more pieces the first so many, the order that they have included."""


def gathers(scene: Scene, state: State, at: Siblings) -> Iterator[Fix]:
    """What ranks join, in other orders and of other groups; what they take, of other positions."""
    operator = operator_text(scene, scene.step(at.first))
    if at.op == CONCATENATE and operator == "all_gather":
        yield from _orders(scene, state, at)
        yield from _groups(scene, state, at)
    if at.op == PIECE:
        yield from _exchanged(scene, state, at)


def _orders(scene: Scene, state: State, at: Siblings) -> Iterator[Fix]:
    first = scene.step(at.first)
    size, axis = len(first.inputs), first.attrs["axis"]
    ranks = entered(scene, first)
    for order in islice(permutations(range(size)), 1, MOST_ORDERS):
        values: dict[int, Arrays] = {}
        for number in at.steps.values():
            step = scene.step(number)
            pieces = [state.arrays(value) for value in step.inputs]
            present = [arrays for arrays in pieces if arrays is not None]
            if len(present) < size or len(step.inputs) != size:
                return
            values[step.outputs[0]] = joined([present[k] for k in order], axis)
        due = [ranks[k] for k in order] if len(ranks) == size else list(order)
        title = f"{node_text(scene, first)} joins the pieces of {ranks_text(ranks)} in the order {ranks}, {due} is due"
        yield Fix("wrong-order", title, at, tuple(at.steps), Change(values), help=f"list the ranks as {due}")


def _groups(scene: Scene, state: State, at: Siblings) -> Iterator[Fix]:
    for microbatch in sorted({m for _, m in at.steps}):
        held: dict[int, tuple[int, Arrays]] = {}
        gathering = []
        for (_, m), number in at.steps.items():
            step = scene.step(number)
            ranks = entered(scene, step)
            if m != microbatch or len(ranks) != len(step.inputs):
                continue
            gathering.append(step)
            for rank, value in zip(ranks, step.inputs, strict=True):
                arrays = state.arrays(value, rank)
                if arrays is None:
                    return
                held[rank] = (step.outputs[0], arrays)
        if not gathering:
            continue
        first = gathering[0]
        axis, own = first.attrs["axis"], entered(scene, first)
        for groups in groupings(scene, [(rank, microbatch) for rank in sorted(held)]):
            if any(set(own) == {rank for rank, _ in group} for group in groups):
                continue
            if not all(_fit([held[rank][1] for rank, _ in group], axis) for group in groups):
                continue
            reads: dict[tuple[int, int], Arrays] = {}
            for group in groups:
                whole = joined([held[rank][1] for rank, _ in group], axis)
                reads.update({(held[rank][0], rank): whole for rank, _ in group})
            due = next(group for group in groups if own[0] in {rank for rank, _ in group})
            text = ranks_text(rank for rank, _ in due)
            title = f"{node_text(scene, first)} joins what {ranks_text(own)} hold; the pieces are on {text}"
            edits = partial(grouped, scene, at.steps.values(), groups)
            yield Fix(
                "wrong-group", title, at, tuple(at.steps), Change({}, reads), help=f"gather over {text}", edits=edits
            )


def _exchanged(scene: Scene, state: State, at: Siblings) -> Iterator[Fix]:
    """Each takes the piece that another one of its group takes."""
    values = values_of(scene, at, 0)
    arrays: dict[Instance, Arrays] = {}
    for place, value in values.items():
        found = state.arrays(value)
        if found is not None:
            arrays[place] = found
    tried = 0
    for groups in groupings(scene, list(arrays)):
        if len({len(group) for group in groups}) != 1 or all(
            close(arrays[place], arrays[group[0]]) for group in groups for place in group
        ):
            continue
        for order in islice(permutations(range(len(groups[0]))), 1, MOST_ORDERS):
            change = {
                values[place]: arrays[group[k]] for group in groups for place, k in zip(group, order, strict=True)
            }
            tried += 1
            if tried > 2 * MOST_ORDERS:
                return
            swapped = {place: group[k] for group in groups for place, k in zip(group, order, strict=True)}
            yield _taken(scene, state, at, swapped, change)


def _taken(
    scene: Scene, state: State, at: Siblings, swapped: Mapping[Instance, Instance], change: Mapping[int, Arrays]
) -> Fix:
    place, source = next((place, source) for place, source in swapped.items() if place != source)
    step = scene.step(at.steps[place])
    has, due = (state.look(scene, scene.step(at.steps[p]).outputs[0]) for p in (place, source))
    mine = elements_text(scene, has) if has is not None else f"the piece {step.attrs['start']}:{step.attrs['stop']}"
    theirs = elements_text(scene, due) if due is not None else f"what rank {source[0]} takes"
    title = f"{node_text(scene, step)} on rank {place[0]} takes {mine}, where {theirs} is due"
    single = owners(scene, due) if due is not None else ()
    return Fix("wrong-slice", title, at, tuple(swapped), Change(change), single=single, help=f"take {theirs}")


def _fit(pieces: list[Arrays], axis: int) -> bool:
    """Whether arrays have the same sizes, but for those along an axis."""
    return len({(array.ndim, *array.shape[:axis], *array.shape[axis + 1 :]) for array, *_ in pieces}) == 1


def joined(pieces: list[Arrays], axis: int) -> Arrays:
    """Arrays joined along an axis, on each seed."""
    return tuple(np.concatenate(seed, axis=axis) for seed in zip(*pieces, strict=True))
