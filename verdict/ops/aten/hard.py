"""Activations made of straight pieces, and their gradients. [c] is 1 where c holds, else 0.

hardsigmoid   min(max(x + 3, 0), 6) / 6       dx = dy [-3 < x < 3] / 6
hardswish     x min(max(x + 3, 0), 6) / 6     dx = dy (x / 3 + 1/2) [-3 < x < 3], dy from 3 on
celu          x [x > 0] + a (e^(x/a) - 1) [x <= 0]
heaviside     [x > 0], and what is given where x is 0
"""

from fractions import Fraction
from typing import Any

import numpy as np

from verdict.ops import logic, numbers
from verdict.ops.aten.activations import above, under
from verdict.ops.aten.elementwise import each, minimum
from verdict.ops.aten.form import constant
from verdict.ops.elementwise import STEP
from verdict.ops.rule import Array, OpRule
from verdict.ops.types import floats

BEND = 3
"""The size from which on hardsigmoid is flat."""


def _gate(x: Array) -> Array:
    """min(max(x + 3, 0), 6) / 6."""
    shifted = numbers.maximum(np.asarray(x + BEND), 0)
    top = np.full(1, constant(x, 2 * BEND), dtype=object if numbers.of_objects(x) else None)
    return np.asarray(numbers.scalar(x, Fraction(1, 2 * BEND)) * minimum(shifted, top))


def _hardswish_backward(dy: Array, x: Array) -> Any:
    inner = under(x, BEND)
    slope = numbers.scalar(x, Fraction(1, BEND)) * x + numbers.scalar(x, Fraction(1, 2))
    return logic.kept(above(x, -BEND), np.asarray(dy * (inner * slope + 1 - inner)))


def _hardsigmoid_backward(dy: Array, x: Array) -> Any:
    inside = np.asarray(above(x, -BEND) * under(x, BEND))
    return logic.kept(inside, np.asarray(dy * (numbers.scalar(x, Fraction(1, 2 * BEND)) * inside)))


def _celu(x: Array, alpha: Any) -> Any:
    positive, size = numbers.step(x), constant(x, alpha)
    below = size * (numbers.exp(np.asarray(numbers.divide(minimum(x, x * 0), size))) - 1)
    return x * positive + below * (1 - positive)


def _heaviside(x: Array, values: Array) -> Any:
    positive, negative = numbers.step(x), numbers.step(np.asarray(-x))
    return positive + values * (1 - positive - negative)


RULES: tuple[OpRule, ...] = (
    each("aten.hardsigmoid", "self", "y = min(max(x + 3, 0), 6) / 6", _gate, types=floats),
    each("aten.hardswish", "self", "y = x min(max(x + 3, 0), 6) / 6", lambda x: x * _gate(x), types=floats),
    each(
        "aten.hardsigmoid_backward",
        "grad_output self",
        "dx = dy / 6 where -3 < x < 3",
        _hardsigmoid_backward,
        None,
        (0,),
        (STEP,),
    ),
    each(
        "aten.hardswish_backward",
        "grad_output self",
        "dx = dy (x / 3 + 1 / 2) where -3 < x < 3, dy from 3 on",
        _hardswish_backward,
        None,
        (0,),
        (STEP,),
    ),
    each("aten.celu", "self", "y = x above 0, else alpha (e^(x / alpha) - 1)", _celu, {"alpha": 1}, (), (STEP,)),
    each("aten.heaviside", "self values", "y = [x > 0], values where x is 0", _heaviside, None, (), (STEP,)),
)
