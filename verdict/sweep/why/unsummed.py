"""Collectives that are left out where the single-device plan has nowhere what ranks hold: parts of a sum, as of a split
vocabulary, rows that are meant for others. What ranks make otherwise is summed, or exchanged, on trial, and
the outputs tell whether that was due.
"""

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np

from verdict.sweep.why.edits import reduced
from verdict.sweep.why.fix import Fix
from verdict.sweep.why.mend import Change, State
from verdict.sweep.why.missing import groupings, reduced_next, total, values_of
from verdict.sweep.why.scene import Arrays, Scene, close, is_table
from verdict.sweep.why.siblings import Partition, Siblings
from verdict.sweep.why.words import node_text, ranks_text, readers_text

ALL_TO_ALL = "all_to_all"


def unsummed(scene: Scene, state: State, at: Siblings) -> Iterator[Fix]:
    """What matching steps make otherwise on each rank, and nowhere in the single-device plan, summed or averaged."""
    if at.op.startswith("~") or len(scene.step(at.first).outputs) != 1:
        return
    values = values_of(scene, at, 0)
    arrays = {place: own for place, value in values.items() if (own := state.arrays(value)) is not None}
    if len(arrays) < 2 or len({own[0].shape for own in arrays.values()}) != 1:
        return
    if any(state.look(scene, value) is not None for value in values.values()):
        return
    if reduced_next(scene, state, set(values.values())):
        return
    step, exchanging = scene.step(at.first), exchanges(scene)
    for groups in groupings(scene, list(arrays)):
        if any(all(close(arrays[p], arrays[group[0]]) for p in group) for group in groups):
            continue
        if exchanging and arrays[groups[0][0]][0].ndim and len({len(group) for group in groups}) == 1:
            yield from _exchanged(scene, at, groups, {values[p]: own for p, own in arrays.items()})
        sums = [total([arrays[place] for place in group]) for group in groups]
        if any(map(is_table, sums)):
            continue
        means = [tuple(np.asarray(a / len(g)) for a in own) for g, own in zip(groups, sums, strict=True)]
        for made, word, how in ((sums, "summed", "sum"), (means, "averaged", "avg")):
            over = ranks_text(rank for rank, _ in groups[0])
            read = readers_text(scene, at)
            uses = "use" if " and " in read else "uses"
            node = f"{node_text(scene, step)} makes a part of a sum on each of {over}"
            change = Change({values[p]: own for group, own in zip(groups, made, strict=True) for p in group})
            yield Fix(
                "missing-reduction", f"{node}, and {read} {uses} it before it is {word} over {over}", at,
                tuple(p for group in groups for p in group), change,
                help=f"let it be {word} over {over} before {read}", kin=(over,),
                edits=partial(reduced, scene, at, [0], groups, how),
            )  # fmt: skip


def exchanges(scene: Scene) -> bool:
    """Whether ranks exchange rows anywhere."""
    return any(node.op == ALL_TO_ALL for nodes in scene.collectives.values() for node in nodes)


def _exchanged(scene: Scene, at: Siblings, groups: Partition, arrays: Mapping[int, Arrays]) -> Iterator[Fix]:
    """Each rank with the rows that all of its group have for it."""
    size, step = len(groups[0]), scene.step(at.first)
    if next(iter(arrays.values()))[0].shape[0] % size:
        return
    made: dict[int, Arrays] = {}
    for group in groups:
        values = [scene.step(at.steps[place]).outputs[0] for place in group]
        pieces = [[np.split(array, size) for array in arrays[value]] for value in values]
        for k, value in enumerate(values):
            made[value] = tuple(np.concatenate([rows[k] for rows in seed]) for seed in zip(*pieces, strict=True))
    over = ranks_text(rank for rank, _ in groups[0])
    title = f"{node_text(scene, step)} is handed on to {readers_text(scene, at)} as each of {over} has it"
    yield Fix(
        "wrong-collective", f"{title}, where an all_to_all over them is due", at,
        tuple(place for group in groups for place in group), Change(made), help=f"exchange rows over {over}",
        kin=(over, ALL_TO_ALL),
    )  # fmt: skip
