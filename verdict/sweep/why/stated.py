"""Factors that stand in the plan as a number: of all steps in a row at which a factor mends the same, one of these."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from verdict.graph.sources import cited_in
from verdict.ops import RULES
from verdict.ops.numbers import rational
from verdict.sweep.flow import Step
from verdict.sweep.why.edits import SMALL, attributes
from verdict.sweep.why.factors import SAME, factor_text, solved
from verdict.sweep.why.fix import Fix
from verdict.sweep.why.mend import Budget, Change, State, mended
from verdict.sweep.why.naming import is_backward, multiple_of
from verdict.sweep.why.scene import Scene
from verdict.sweep.why.siblings import Instance, Siblings
from verdict.sweep.why.steps import first_of, in_turn, made_by, outputs_with
from verdict.sweep.why.words import node_text, places_text


def multiplies(scene: Scene, state: State, at: Siblings) -> bool:
    """Whether steps do nothing but multiply by a number that stands in them."""
    step = scene.step(at.first)
    rule = RULES.get(step.op)
    if rule is None or len(step.inputs) != 1 or not step.attrs or 0 not in rule.linear_in(1, step.attrs):
        return False
    if rule.moves or rule.copies:
        return False
    read, made = state.arrays(step.inputs[0]), state.arrays(step.outputs[0])
    return read is not None and made is not None and read[0].shape == made[0].shape


def other_numbers(scene: Scene, state: State, at: Siblings) -> Iterator[Fix]:
    """Steps that multiply by a number, with the number that mends an output."""
    if not multiplies(scene, state, at):
        return
    budget = Budget()
    for fix in solved(scene, state, at, lambda change: mended(scene, state, change, budget)):
        yield as_number(scene, state, fix)


def own_numbers(scene: Scene, state: State, at: Siblings) -> Iterator[Fix]:
    """The same of those whose number no single-device step of the operator has."""
    if multiplies(scene, state, at) and not has_twin(scene, at):
        yield from other_numbers(scene, state, at)


def without_factor(scene: Scene, state: State, at: Siblings) -> Iterator[Fix]:
    """Steps that multiply by a number which no single-device step of the operator has, as if they did not; so the same
    of gradients that are recorded of them.
    """
    if not multiplies(scene, state, at) or has_twin(scene, at):
        return
    first = scene.step(at.first)
    read, made = (state.arrays(value) for value in (first.inputs[0], first.outputs[0]))
    factor = multiple_of(made, read) if made is not None and read is not None else None
    if read is None or factor is None:
        return
    for name, number in _numbers(first.attrs):
        if any(scene.step(k).attrs.get(name) != number for k in at.steps.values()):
            continue
        attrs = {**first.attrs, name: 1}
        alone = outputs_with(state, first._replace(attrs=attrs), {})
        if alone is None or not _alike(Change(alone), Change({first.outputs[0]: read})):
            continue
        both = [at.steps, *(each.steps for each in _backward_of(scene, at))]
        held = in_turn(scene, state, ({p: scene.step(k)._replace(attrs=attrs) for p, k in one.items()} for one in both))
        if held:
            nodes = [k for one in both for k in one.values()]
            yield _with_number(scene, at, (name, number, 1), factor, Change(held), nodes)


def _backward_of(scene: Scene, at: Siblings) -> list[Siblings]:
    """Steps of the same operator and attributes that are recorded as the gradient of these."""
    first, cited = scene.step(at.first), cited_in(at.name)
    if cited is None or is_backward(first):
        return []
    alike = (each for each in scene.classes if each.op == at.op and cited_in(each.name) == cited)
    return [
        each for each in alike if is_backward(own := scene.step(each.first)) and dict(own.attrs) == dict(first.attrs)
    ]


def has_twin(scene: Scene, at: Siblings) -> bool:
    """Whether the single-device plan has a step of the same operator and attributes in the same pass."""
    step = scene.step(at.first)
    own = step.op, dict(step.attrs), is_backward(step)
    return any((one.op, dict(one.attrs), is_backward(one)) == own for one in scene.one.steps)


def numbers_there(scene: Scene, state: State, at: Siblings) -> Iterator[Fix]:
    """Steps that multiply by a number, with those that single-device steps of the operator have."""
    if not multiplies(scene, state, at):
        return
    steps = {place: scene.step(number) for place, number in at.steps.items()}
    first = first_of(steps)
    others = [one.attrs for one in scene.one.steps if one.op == at.op and one.attrs.keys() == first.attrs.keys()]
    for name, number in _numbers(first.attrs):
        for wanted in dict.fromkeys(attrs[name] for attrs in others if attrs[name] != number):
            held = made_by(state, [one._replace(attrs={**one.attrs, name: wanted}) for one in steps.values()])
            now = state.arrays(first.outputs[0])
            factor = multiple_of(now, held[first.outputs[0]]) if now is not None and held is not None else None
            if held is None or factor is None:
                continue
            yield _with_number(scene, at, (name, number, wanted), factor, Change(held), list(at.steps.values()))


def _with_number(
    scene: Scene, at: Siblings, attr: tuple[str, float, float], factor: float, change: Change, nodes: list[int]
) -> Fix:
    """Steps with another number. attr: its name, what it is and what is due. nodes: all steps that are to have that."""
    name, _, wanted = attr
    title = _title(scene, {place: scene.step(k) for place, k in at.steps.items()}, attr, factor)
    return Fix(
        "wrong-scale", title, at, tuple(at.steps), change, help=f"use {name}={wanted!r}", kin=(factor_text(factor),),
        edits=partial(attributes, scene, nodes, {name: wanted}, (name,)),
    )  # fmt: skip


def _title(scene: Scene, steps: Mapping[Instance, Step], attr: tuple[str, float, float], factor: float) -> str:
    name, number, wanted = attr
    node, where = node_text(scene, first_of(steps)), places_text(scene, tuple(steps))
    due = f"where {name}={wanted!r} is due (off by a factor {factor_text(factor)})"
    return f"{node} has {name}={number!r} on {where}, {due}"


def as_number(scene: Scene, state: State, fix: Fix) -> Fix:
    """A factor behind steps as the number in them that makes the same; the factor where there is none."""
    numbers = [fix.at.steps[place] for place in fix.instances]
    steps = {place: scene.step(fix.at.steps[place]) for place in fix.instances}
    step, value = first_of(steps), first_of(steps).outputs[0]
    due, now = fix.change.values.get(value), state.arrays(value)
    pivot = int(np.argmax(np.abs(now[0]))) if now is not None else 0
    if due is None or now is None or not now[0].size or not now[0].ravel()[pivot]:
        return fix
    with np.errstate(invalid="ignore"):
        factor = float(due[0].ravel()[pivot] / now[0].ravel()[pivot])
    for name, number in _numbers(step.attrs):
        if any(one.attrs.get(name) != number for one in steps.values()):
            continue
        for wanted in (_times(number, factor), _times(number, 1 / factor)):
            held = made_by(state, [step._replace(attrs={**step.attrs, name: wanted}) for step in steps.values()])
            if held is None or not _alike(fix.change, Change(held)):
                continue
            title = _title(scene, steps, (name, number, wanted), 1 / factor)
            edits = partial(attributes, scene, numbers, {name: wanted}, (name,))
            return fix._replace(title=title, help=f"use {name}={wanted!r}", change=Change(held), edits=edits)
    return fix


def _numbers(attrs: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Attributes that are numbers, and not zero."""
    for name, number in sorted(attrs.items()):
        if isinstance(number, int | float) and not isinstance(number, bool) and number:
            yield name, number


def _times(number: float, factor: float) -> float:
    """A number times a factor that is a quotient of small whole numbers where it is near to one; without rounding."""
    exact = Fraction(factor).limit_denominator(SMALL)
    near = float(f"{number * factor:.12g}")
    if exact and abs(float(exact) - factor) <= SAME * abs(factor):
        near = float(rational(number) * exact)
    return int(near) if near.is_integer() else near


def _alike(one: Change, other: Change) -> bool:
    return one.values.keys() == other.values.keys() and all(
        np.allclose(a, b, rtol=SAME, atol=0.0)
        for value in one.values
        for a, b in zip(one.values[value], other.values[value], strict=True)
    )
