"""Operators behind a sum over ranks that should stand before it: each rank scales the sum, and not what it adds."""

from collections.abc import Iterator

import numpy as np

from verdict.graph import ABSENT
from verdict.ops import RULES, Array
from verdict.sweep.flow import CANNOT, SUM, Step, attempt
from verdict.sweep.why.fix import Fix
from verdict.sweep.why.mend import Change, State
from verdict.sweep.why.missing import total
from verdict.sweep.why.scene import Arrays, Scene
from verdict.sweep.why.siblings import Instance, Siblings
from verdict.sweep.why.sums import put_in
from verdict.sweep.why.words import REDUCING, node_text, operator_text, places_text


def behind_sums(scene: Scene, state: State, at: Siblings) -> Iterator[Fix]:
    """What the steps make of what each rank puts in, summed over the ranks."""
    first = scene.step(at.first)
    if at.op not in RULES or len(first.inputs) != 1 or len(first.outputs) != 1 or len(at.steps) < 2:
        return
    summing = {place: _sum_before(scene, scene.step(number)) for place, number in at.steps.items()}
    change: dict[int, Arrays] = {}
    for place, number in at.steps.items():
        sum_before = summing[place]
        made = _before(scene, state, at, place, sum_before) if sum_before is not None else None
        if made is None:
            return
        change[scene.step(number).outputs[0]] = made
    before = scene.step(next(number for number in summing.values() if number is not None))
    node, where = node_text(scene, first), places_text(scene, tuple(at.steps))
    title = f"{node} on {where} comes behind {node_text(scene, before)}: it is due of what each rank adds to the sum"
    help_text = f"put {node} before {node_text(scene, before)}"
    yield Fix("early-reduction", title, at, tuple(at.steps), Change(change), help=help_text)


def _sum_before(scene: Scene, step: Step) -> int | None:
    """The sum over ranks that a step reads."""
    number = scene.maker.get(step.inputs[0])
    if number is None:
        return None
    maker = scene.step(number)
    return number if maker.op == SUM and operator_text(scene, maker) in REDUCING[:1] else None


def _before(scene: Scene, state: State, at: Siblings, place: Instance, number: int) -> Arrays | None:
    """The sum of what the step of each rank makes of what that puts in."""
    parts: list[Arrays] = []
    for rank, arrays in put_in(scene, state, number):
        own = at.steps.get((rank, place[1]))
        made = _made(scene.step(own), arrays) if own is not None else None
        if made is None:
            return None
        parts.append(made)
    return total(parts) if parts else None


def _made(step: Step, arrays: Arrays) -> Arrays | None:
    found: list[Array] = []
    for array in arrays:
        try:
            made = attempt(step, [array])[0]
        except CANNOT:
            return None
        if made is None or made.shape != array.shape or step.outputs[0] == ABSENT:
            return None
        found.append(np.asarray(made, dtype=np.float64))
    return tuple(found)
