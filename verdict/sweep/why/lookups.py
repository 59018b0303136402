"""Lookups in a table of which each rank has some rows: it adds the rows of its own indices, and zeros for others."""

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np

from verdict.graph import ABSENT
from verdict.ops import FACTS, Array
from verdict.sweep.flow import REDUCTIONS
from verdict.sweep.why.fix import Fix
from verdict.sweep.why.mend import Budget, Change, State, mended
from verdict.sweep.why.scene import Arrays, Scene, arrays_of, close
from verdict.sweep.why.siblings import Instance, Siblings
from verdict.sweep.why.words import node_text, owners, ranks_text

MOST_STEPS = 8
"""How many steps, those that mask what is looked up, lie between a lookup and the sum over ranks."""


def split_lookups(scene: Scene, state: State, at: Siblings) -> Iterator[Fix]:
    """What goes into the sum over ranks behind a lookup, with the rows that are due of each rank, zeros elsewhere."""
    if not FACTS.looks_up(at.op):
        return
    for other in (step for step in scene.one.steps if FACTS.looks_up(step.op)):
        due = arrays_of(scene.right, other.outputs[0])
        put_in = {place: _summed(scene, scene.step(number).outputs[0]) for place, number in at.steps.items()}
        tables = {p: state.arrays(scene.step(number).inputs[0], p[0]) for p, number in at.steps.items()}
        own = {place: _own_rows(due, table) for place, table in tables.items() if due is not None and table is not None}
        if due is None or len(own) < len(at.steps) or not _add_up(own, due):
            continue
        wrong = {p: v for p, v in put_in.items() if v is not None and _differs(state, v, own[p])}
        if None in put_in.values() or not wrong:
            continue
        change = Change({value: own[place] for place, value in wrong.items()})
        after = mended(scene, state, change, Budget())
        gradients = _gradients(scene, after, at, tables, other.outputs[0]) if after is not None else {}
        yield _told(scene, state, at, wrong, own, Change({**change.values, **gradients}))


def _told(
    scene: Scene, state: State, at: Siblings, wrong: dict[Instance, int], own: dict[Instance, Arrays], change: Change
) -> Fix:
    ranks, node = ranks_text(rank for rank, _ in wrong), node_text(scene, scene.step(at.first))
    single = owners(scene, ids) if (ids := state.look(scene, scene.step(at.first).inputs[0])) is not None else ()
    held = {place: state.arrays(value) for place, value in wrong.items()}
    besides = all(
        bool(np.all((due == 0) | (mine == due)))
        for place, found in held.items()
        for due, mine in zip(own[place], found or (), strict=True)
    )
    if besides:
        title = f"{node} adds rows for indices that are another rank's on {ranks}, where zeros are due"
        help_text = "mask what is looked up for indices of other ranks"
        return Fix("wrong-input", title, at, tuple(wrong), change, help=help_text, single=single)
    title = f"{node} looks up other rows on {ranks} than those of the rank's own indices"
    help_text = "subtract the first row that the rank has from the indices, and mask those of other ranks"
    return Fix("wrong-slice", title, at, tuple(wrong), change, help=help_text, single=single)


def _own_rows(due: Arrays, table: Arrays) -> Arrays:
    """The rows of a lookup that a share of its table has, zeros in the place of the others."""
    return tuple(np.where(_among(rows, share)[..., None], rows, 0.0) for rows, share in zip(due, table, strict=True))


def _among(rows: Array, share: Array) -> Array:
    if rows.shape[-1:] != share.shape[-1:] or share.ndim != 2:
        return np.zeros(rows.shape[:-1], dtype=bool)
    return np.asarray((rows[..., None, :] == share).all(axis=-1).any(axis=-1))


def _add_up(own: dict[Instance, Arrays], due: Arrays) -> bool:
    """Whether the rows of all ranks are those that are due, each once."""
    return len(own) > 1 and close(tuple(np.asarray(sum(found)) for found in zip(*own.values(), strict=True)), due)


def _differs(state: State, value: int, due: Arrays) -> bool:
    held = state.arrays(value)
    return held is not None and held[0].shape == due[0].shape and not close(held, due)


def _summed(scene: Scene, value: int) -> int | None:
    """What of a lookup goes into a sum over ranks, masked or copied; None where nothing of it does so alone."""
    for _ in range(MOST_STEPS):
        steps = [scene.step(reader) for reader in scene.readers.get(value, ())]
        if any(step.op in REDUCTIONS.values() for step in steps):
            return value
        if len(steps) != 1 or len(steps[0].outputs) != 1:
            return None
        value = steps[0].outputs[0]
    return None


def _gradients(
    scene: Scene, after: State, at: Siblings, tables: dict[Instance, Arrays | None], looked_up: int
) -> dict[int, Arrays]:
    """The gradients of the shares of the table, where the right gradient of what is looked up comes near them."""
    indices = {step.inputs[1] for step in scene.one.steps if FACTS.looks_up(step.op) and step.outputs[0] == looked_up}
    single = next((s for s in scene.one.steps if FACTS.is_gradient_of_lookup(s.op) and s.inputs[1] in indices), None)
    own = {scene.step(number).inputs[1]: place for place, number in at.steps.items()}
    whole = arrays_of(scene.right, single.outputs[0]) if single is not None else None
    arriving = arrays_of(scene.right, single.inputs[0]) if single is not None else None
    first = next((s for s in scene.one.steps if FACTS.looks_up(s.op) and s.outputs[0] == looked_up), None)
    table = arrays_of(scene.right, first.inputs[0]) if first is not None else None
    found: dict[int, Arrays] = {}
    for step in (s for s in scene.other.steps if FACTS.is_gradient_of_lookup(s.op) and s.inputs[1] in own):
        share = tables[own[step.inputs[1]]]
        if whole is None or arriving is None or table is None or share is None or step.outputs[0] == ABSENT:
            return {}
        if not any(close(arrays, arriving) for arrays in _before(scene, after, step.inputs[0])):
            return {}
        rows = (_among(every, some) for every, some in zip(table, share, strict=True))
        found[step.outputs[0]] = tuple(gradient[chosen] for gradient, chosen in zip(whole, rows, strict=True))
    return found


def _before(scene: Scene, after: State, value: int) -> Iterator[Arrays]:
    """A value, and those that it is made of by steps that mask or copy."""
    waiting: Sequence[int] = [value]
    for _ in range(MOST_STEPS):
        yield from (arrays for one in waiting if (arrays := after.arrays(one)) is not None)
        makers = [scene.step(scene.maker[one]) for one in waiting if one in scene.maker]
        waiting = list(chain.from_iterable(step.inputs for step in makers))
        if len(waiting) > MOST_STEPS:
            return
