"""Sums with a summand too many: the same one twice, or one that does not belong there."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from verdict.graph import ABSENT
from verdict.ops import FACTS
from verdict.sweep.flow import SUM, Step
from verdict.sweep.results import DECLARED
from verdict.sweep.why.edits import without
from verdict.sweep.why.fix import Fix
from verdict.sweep.why.mend import Change, State
from verdict.sweep.why.missing import total
from verdict.sweep.why.scene import Arrays, Scene, close
from verdict.sweep.why.siblings import Siblings
from verdict.sweep.why.words import collective, elements_text, maker_text, node_text, owners, places_text


def doubled(scene: Scene, state: State, at: Siblings) -> Iterator[Fix]:
    """Without a summand that is another one over again."""
    yield from (fix for fix in _without_one(scene, state, at) if fix.code == "reduced-twice")


def superfluous(scene: Scene, state: State, at: Siblings) -> Iterator[Fix]:
    """Without a summand that is none of the others."""
    yield from (fix for fix in _without_one(scene, state, at) if fix.code != "reduced-twice")


def _without_one(scene: Scene, state: State, at: Siblings) -> Iterator[Fix]:
    first = scene.step(at.first)
    if not adds(scene, first) or any(not adds(scene, scene.step(number)) for number in at.steps.values()):
        return
    for k in reversed(range(len(first.inputs))):
        values: dict[int, Arrays] = {}
        again = True
        for number in at.steps.values():
            step = scene.step(number)
            found = [state.arrays(value, step.place.rank) for value in step.inputs]
            known = [arrays for arrays in found if arrays is not None]
            if len(known) < len(first.inputs) or len({arrays[0].shape for arrays in known}) != 1:
                return
            rest = [arrays for n, arrays in enumerate(known) if n != k]
            again = again and any(close(known[k], other) for other in rest)
            values[step.outputs[0]] = total(rest)
        ids = state.look(scene, first.inputs[k])
        if any(_steady(arrays) for arrays in values.values()):
            continue
        what = elements_text(scene, ids) if ids is not None else maker_text(scene, first.inputs[k])
        node, where = node_text(scene, first), places_text(scene, tuple(at.steps))
        code, title = "wrong-input", f"{node} on {where} adds {what}, which does not belong to the sum"
        if again:
            code, title = "reduced-twice", f"{node} on {where} adds {what} twice"
        single = owners(scene, ids) if ids is not None else ()
        blamed = _adding(scene, at, k) or at
        if blamed is not at and not again:
            title = f"{node_text(scene, scene.step(blamed.first))} on {where} adds {what} to what does not hold it"
        yield Fix(
            code, title, blamed, tuple(blamed.steps), Change(values), single=single, help=f"do not add {what}",
            edits=partial(without, scene, at.steps.values(), k),
        )  # fmt: skip


def _steady(arrays: Arrays) -> bool:
    """Whether a value is the same on all seeds: a constant, of which a sum is a multiple."""
    return all(np.array_equal(array, arrays[0]) for array in arrays)


def _adding(scene: Scene, at: Siblings, k: int) -> Siblings | None:
    """The nodes that add something to accumulators; None where the sums are nodes of their own."""
    if at.op != SUM:
        return None
    makers = {place: scene.maker.get(scene.step(number).inputs[k], ABSENT) for place, number in at.steps.items()}
    return next((one for one in scene.classes if {*makers.values()} <= {*one.steps.values()}), None)


def adds(scene: Scene, step: Step) -> bool:
    """Whether a step of a rank does nothing but add two or more values up: an addition, or an accumulator."""
    if len(step.inputs) < 2:
        return False
    if step.op == SUM:
        return collective(scene, step) is None and step.place.name != DECLARED.step.node.name
    return FACTS.is_sum(step.op) and {*step.attrs.values()} <= {1}
