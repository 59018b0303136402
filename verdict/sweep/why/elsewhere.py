"""Steps that read another value than the same operator reads elsewhere on the rank, all their other inputs alike."""

from collections import defaultdict
from collections.abc import Iterator
from functools import partial

from verdict.ops import FACTS
from verdict.sweep.trace import frozen
from verdict.sweep.why.edits import wired
from verdict.sweep.why.fix import Fix
from verdict.sweep.why.mend import Change, State
from verdict.sweep.why.scene import Scene, close
from verdict.sweep.why.siblings import Instance, Siblings
from verdict.sweep.why.steps import outputs_with
from verdict.sweep.why.words import node_text, places_text


def as_elsewhere(scene: Scene, state: State, at: Siblings) -> Iterator[Fix]:
    """One input replaced by what the same operator reads there in another place."""
    first = scene.step(at.first)
    if at.op.startswith("~") or len(first.inputs) < 2:
        return
    for other in scene.classes:
        if other is at or other.op != at.op:
            continue
        chosen: dict[int, dict[Instance, int]] = defaultdict(dict)
        for place, number in at.steps.items():
            mine = scene.step(number)
            theirs = scene.step(other.steps[place]) if place in other.steps else None
            if theirs is None or frozen(theirs.attrs) != frozen(mine.attrs) or len(theirs.inputs) != len(mine.inputs):
                continue
            apart = [k for k, (a, b) in enumerate(zip(mine.inputs, theirs.inputs, strict=True)) if a != b]
            if len(apart) == 1:
                chosen[apart[0]][place] = theirs.inputs[apart[0]]
        for k, values in chosen.items():
            yield from _wired(scene, state, at, other, k, values)


def _wired(
    scene: Scene, state: State, at: Siblings, other: Siblings, k: int, values: dict[Instance, int]
) -> Iterator[Fix]:
    change = {}
    for place, value in values.items():
        step = scene.step(at.steps[place])
        due, has = state.arrays(value, place[0]), state.arrays(step.inputs[k], place[0])
        if due is None or has is None or due[0].shape != has[0].shape or close(due, has):
            return
        change.update(outputs_with(state, step, {k: due}) or {})
    place, value = next(iter(values.items()))
    step = scene.step(at.steps[place])
    has_name, due_name = _made_by(scene, step.inputs[k]), _made_by(scene, value)
    where, reader = places_text(scene, tuple(values)), node_text(scene, scene.step(other.first))
    maker = scene.maker.get(value)
    summed = maker is not None and _adds(scene, maker, step.inputs[k])
    node = f"{node_text(scene, step)} on {where}"
    title = f"{node} reads {has_name} as input {k}, where {due_name} is due, as in {reader}"
    if summed:
        title = f"{node} reads {has_name} before it is summed; {reader} reads the sum, {due_name}"
    code = "missing-reduction" if summed else "wrong-input"
    edits = partial(wired, scene, [at.steps[place] for place in values], k, list(values.values()))
    yield Fix(code, title, at, tuple(values), Change(change), help=f"wire in {due_name}", edits=edits)


def _adds(scene: Scene, maker: int, value: int) -> bool:
    """Whether a step adds this value to others."""
    step = scene.step(maker)
    return value in step.inputs and (step.op == "~sum" or FACTS.is_sum(step.op))


def _made_by(scene: Scene, value: int) -> str:
    maker = scene.maker.get(value)
    return node_text(scene, scene.step(maker)) if maker is not None else "what is given"
