"""Nodes that hand on what they are given, where the single-device plan does something with it: an operator left out."""

from collections.abc import Iterator

import numpy as np

from verdict.graph import ABSENT, COPY
from verdict.ops import FACTS
from verdict.sweep.why.factors import Scaled, factor_text, factors
from verdict.sweep.why.fix import Fix
from verdict.sweep.why.mend import Change, State
from verdict.sweep.why.missing import values_of
from verdict.sweep.why.naming import multiple_of, within
from verdict.sweep.why.scene import Arrays, Scene, arrays_of, close
from verdict.sweep.why.siblings import Instance, Siblings
from verdict.sweep.why.words import called, elements_text, node_text, places_text, single_line

MOST_PARTNERS = 8
"""How many single-device steps that read what is handed on are tried, the first ones."""


def copies(scene: Scene, state: State, at: Siblings, scaled: Scaled) -> Iterator[Fix]:
    """What the single-device plan makes of it alone, or as the gradient of an operator; and the factor by which what is
    handed on is off.
    """
    if at.op != COPY:
        return
    value = scene.step(at.first).inputs[0]
    ids = state.look(scene, value)
    if ids is None:
        yield from factors(scene, state, at, scaled)
        return
    tried = 0
    for number, other in enumerate(scene.one.steps):
        if FACTS.copies(other.op, len(other.inputs), len(other.outputs)):
            continue
        of_it = scene.trace.reads[number][: other.grads or 1] if other.grads or len(other.inputs) == 1 else ()
        if not any(within(ids, own) for own in of_it):
            continue
        tried += 1
        if tried > MOST_PARTNERS:
            return
        for output in other.outputs:
            whole = arrays_of(scene.right, output) if output != ABSENT else None
            if whole is not None:
                yield from _made_of_it(scene, state, at, number, whole)


def _made_of_it(scene: Scene, state: State, at: Siblings, number: int, whole: Arrays) -> Iterator[Fix]:
    """The region of what a single-device step makes that is where what is handed on is."""
    change: dict[int, Arrays] = {}
    wrong: list[Instance] = []
    for place, value in values_of(scene, at, 0).items():
        now, ids = state.arrays(value), state.look(scene, value)
        block = scene.elements.of(int(ids.flat[0])) if ids is not None and ids.size else None
        if now is None or ids is None or block is None or now[0].ndim != whole[0].ndim:
            return
        start = [0] * now[0].ndim
        if block.shape == whole[0].shape:
            start = [int(k) for k in np.unravel_index(int(ids.flat[0]) - block.start, block.shape)]
        box = tuple(slice(k, k + size) for k, size in zip(start, now[0].shape, strict=True))
        due = tuple(np.asarray(array[box]) for array in whole)
        if due[0].shape != now[0].shape:
            return
        if not close(now, due):
            change[value] = due
            wrong.append(place)
    if not change:
        return
    value, due = next(iter(change.items()))
    now, ids = state.arrays(value), state.look(scene, value)
    factor = multiple_of(now, due) if now is not None else None
    step, other = scene.step(at.first), scene.one.steps[number]
    what = elements_text(scene, ids) if ids is not None else "what it reads"
    wanted = called(other.op, other.place.name)
    node = f"{node_text(scene, step)} on {places_text(scene, wrong)} hands on {what}"
    code, title = "wrong-input", f"{node} as it is, where the single-device plan has {wanted}"
    if factor is not None:
        code, title = "wrong-scale", f"{node}, {factor_text(factor)} times what {wanted} makes of it"
    yield Fix(
        code, title, at, tuple(wrong), Change(change), single=(single_line(scene, number),), help=f"put {wanted} there"
    )
