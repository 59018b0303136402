"""Flat buffers apart: what is computed of them element by element is computed piece by piece.

Gradients of many weights lie in one buffer, which is scaled and summed over ranks. Elements of different pieces do not
meet there, and what is proved of a weight is then no more than what concerns it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from verdict.graph import ABSENT, Shape
from verdict.ops import RULES
from verdict.ops.rule import Law
from verdict.sweep.flow import CANNOT, CONCATENATE, PIECE, REDUCTIONS, Flow, Step
from verdict.sweep.moves import move_of

MOST_PIECES = 1_000
"""The most pieces of one buffer that are told apart."""
MOST_LONG = 20_000
"""The most elements of one buffer in which pieces are looked for: a token is made for each."""
Bounds = frozenset[int]
"""Where pieces of a buffer begin, in the order in which its elements stand."""


def apart(flow: Flow, shapes: Sequence[Shape]) -> Flow:
    """The same flow with such steps in pieces, whose results are joined. shapes: of its values."""
    bounds: dict[int, Bounds] = {}
    steps: list[Step] = []
    values = flow.values
    for step in flow.steps:
        inputs = [shapes[value] for value in step.inputs if value != ABSENT]
        if _is_flat(step, shapes) and _is_each(step, inputs, shapes[step.outputs[0]]):
            own = Bounds().union(*(bounds.get(value, ()) for value in step.inputs))
            bounds[step.outputs[0]] = own
            ends = sorted({0, *own, *inputs[0]})
            made = list(_pieces(step, ends, values)) if 2 < len(ends) <= MOST_PIECES else [step]
            steps += made
            values += len(made) - 1
        else:
            if _joins(step, bounds):
                bounds |= _moved(step, inputs, bounds)
            steps.append(step)
    return replace(flow, steps=tuple(steps), values=values)


def _is_flat(step: Step, shapes: Sequence[Shape]) -> bool:
    """Whether a step reads something, all that it makes has one dimension, and it is no gradient."""
    made = [shapes[value] for value in step.outputs if value != ABSENT]
    flat = all(len(shape) == 1 and 1 < shape[0] <= MOST_LONG for shape in made)
    return bool(made and step.inputs) and flat and not step.grads and ABSENT not in step.inputs


def _joins(step: Step, bounds: Mapping[int, Bounds]) -> bool:
    """Whether pieces may begin in what a step makes: of several inputs, or of what has some. Gradients have none."""
    whole = not step.grads and ABSENT not in step.inputs
    return whole and (len(step.inputs) > 1 or any(bounds.get(value) for value in step.inputs))


def _is_each(step: Step, inputs: Sequence[Shape], made: Shape) -> bool:
    """Whether a step computes each element of those that stand in its place."""
    if len(step.outputs) != 1 or any(shape != made for shape in inputs):
        return False
    if step.op in REDUCTIONS.values():
        return True
    rule = RULES.get(step.op)
    if rule is None or rule.moves or rule.drops is not None:
        return False
    try:
        axes = rule.axes(inputs, step.attrs)
    except CANNOT:
        return False
    return [atom.law for atom in axes.atoms] == [Law.EACH] and len({*axes.inputs, *axes.outputs}) == 1


def _moved(step: Step, inputs: Sequence[Shape], bounds: Mapping[int, Bounds]) -> dict[int, Bounds]:
    """Of what only moves elements: where those of another input begin, and where pieces of inputs do."""
    rule = RULES.get(step.op)
    sizes = [int(np.prod(shape, dtype=np.int64)) for shape in inputs]
    moves = step.op in (CONCATENATE, PIECE) if rule is None else rule.moves
    move = move_of(step, inputs) if moves and sum(sizes) <= 2 * MOST_LONG else None
    if move is None:
        return {}
    firsts = np.cumsum([0, *sizes])
    begin: set[int] = set()
    for first, value in zip(firsts.tolist(), step.inputs, strict=False):
        begin |= {first + place for place in bounds.get(value, ())}
    found = {}
    for value, sources in zip(step.outputs, move.outputs, strict=True):
        if value != ABSENT and sources is not None:
            flat = sources.ravel()
            others = np.flatnonzero(np.diff(np.searchsorted(firsts, flat, side="right"))) + 1
            found[value] = Bounds(others.tolist()) | {k for k, source in enumerate(flat.tolist()) if source in begin}
    return found


def _pieces(step: Step, ends: Sequence[int], values: int) -> Iterator[Step]:
    """The step in pieces, between the places `ends`. values: the first number that is free."""
    joined = []
    for start, stop in pairwise(ends):
        taken = []
        for value in step.inputs:
            yield Step(PIECE, (value,), (values,), {"axis": 0, "start": start, "stop": stop}, 0, step.place)
            taken.append(values)
            values += 1
        yield step._replace(inputs=tuple(taken), outputs=(values,))
        joined.append(values)
        values += 1
    yield Step(CONCATENATE, tuple(joined), step.outputs, {"axis": 0}, 0, step.place)
