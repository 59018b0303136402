"""Differences that are taken the other way round, and sums in place of differences: a sign that is wrong."""

from collections.abc import Iterator

import numpy as np

from verdict.graph import ABSENT
from verdict.sweep.why.fix import Fix
from verdict.sweep.why.mend import Change, State
from verdict.sweep.why.scene import Arrays, Scene, broadcasts, close
from verdict.sweep.why.siblings import Siblings
from verdict.sweep.why.words import maker_text, node_text, places_text

WAYS = {(1, 1): "{} plus {}", (1, -1): "{} less {}", (-1, 1): "{1} less {0}"}
"""How two values are added, by their signs, in words."""
Signs = tuple[int, int]


def turned(scene: Scene, state: State, at: Siblings) -> Iterator[Fix]:
    """With a difference taken the other way round."""
    return (fix for is_turned, fix in _signed(scene, state, at) if is_turned)


def signed(scene: Scene, state: State, at: Siblings) -> Iterator[Fix]:
    """With a sum in place of a difference, or a difference in place of a sum."""
    return (fix for is_turned, fix in _signed(scene, state, at) if not is_turned)


def _signed(scene: Scene, state: State, at: Siblings) -> Iterator[tuple[bool, Fix]]:
    """With other signs of what steps add, and whether these are the opposite ones."""
    numbers = tuple(at.steps.values())
    steps = {number: scene.step(number) for number in numbers}
    if any(len(step.inputs) != 2 or len(step.outputs) != 1 or ABSENT in step.inputs for step in steps.values()):
        return
    reads = {n: [state.arrays(value, step.place.rank) for value in step.inputs] for n, step in steps.items()}
    sides = {n: (one, other) for n, (one, other) in reads.items() if one is not None and other is not None}
    now = _signs(scene, state, at, sides) if len(sides) == len(numbers) else None
    if now is None:
        return
    first = scene.step(at.first)
    made = [maker_text(scene, value) for value in first.inputs]
    for due in (signs for signs in WAYS if signs != now):
        values = {scene.step(n).outputs[0]: _added(due, *sides[n]) for n in numbers}
        node, due_text = f"{node_text(scene, first)} on {places_text(scene, tuple(at.steps))}", WAYS[due].format(*made)
        title = f"{node} makes {WAYS[now].format(*made)}, where {due_text} is due"
        fix = Fix("operator-differs", title, at, tuple(at.steps), Change(values), help=f"make it {due_text}")
        yield due == (-now[0], -now[1]), fix


def _signs(scene: Scene, state: State, at: Siblings, sides: dict[int, tuple[Arrays, Arrays]]) -> Signs | None:
    """With which signs steps add what they read; None where they do something else, as far as numbers tell."""
    one, other = sides[at.first]
    made = state.arrays(scene.step(at.first).outputs[0])
    if made is None or not (broadcasts(one, made) and broadcasts(other, made)):
        return None
    return next((signs for signs in WAYS if close(_added(signs, one, other), made)), None)


def _added(signs: Signs, one: Arrays, other: Arrays) -> Arrays:
    return tuple(np.asarray(signs[0] * a + signs[1] * b) for a, b in zip(one, other, strict=True))
