"""Recipes applied to arrays of exact numbers, by the operators' own rules. A replay script carries this file."""

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from verdict.ops import RULES, Array
from verdict.outcome import CONCATENATE, Applied, Recipe

TOLERANCE = 1e-9
"""Of numbers that have no exact form (an exponential, a square root), relative to the larger one."""


def apply(recipe: Recipe, inputs: Sequence[Array]) -> Array:
    """The sum of the recipe's steps."""
    return np.asarray(reduce(np.add, [_step(step, inputs) for step in recipe]), dtype=object)


def _step(step: Applied, inputs: Sequence[Array]) -> Array:
    read = [_cut(inputs[number], box) for number, box in step.inputs]
    made = np.asarray(_made(step, read), dtype=object)
    return np.asarray(_cut(made, step.region) * step.factor, dtype=object)


def _made(step: Applied, read: list[Array]) -> Array:
    attrs = dict(step.attrs)
    if not step.op:
        return read[0]
    if step.op == CONCATENATE:
        return np.concatenate(read, axis=int(str(attrs["dim"])))
    rule = RULES[step.op.removesuffix(".grad")]
    every = rule.gradient(read[step.grads :], read[: step.grads], attrs) if step.grads else rule.forward(read, attrs)
    made = every[step.output]
    if made is None:
        raise ValueError(f"{step.op} has no output {step.output}")
    return made


def _cut(array: Array, box: tuple[tuple[int, int], ...]) -> Array:
    return np.asarray(array[tuple(slice(start, stop) for start, stop in box)], dtype=array.dtype)


def differ(one: Any, other: Any) -> bool:
    """Whether two numbers differ: exactly, or by more than rounding where one has no exact form."""
    if isinstance(one, float) or isinstance(other, float):
        one, other = float(one), float(other)
        return not abs(one - other) <= TOLERANCE * max(abs(one), abs(other), 1.0) and one != other
    return bool(one != other)


def mismatches(single: Array, parallel: Array) -> Array:
    """Where two arrays of one shape differ, as an array of bools."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.frompyfunc(differ, 2, 1)(single, parallel), dtype=np.bool_)
