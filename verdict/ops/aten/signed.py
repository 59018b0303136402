"""What is left of a quotient that is cut off, and what is known by signs alone.

    fmod  z = x - y trunc(x / y)     copysign  z = |x| where y is not negative, else -|x|     signbit  y = [x < 0]

Real numbers have one zero, which is not negative.
"""

from typing import Any

import numpy as np

from verdict.ops import integers, logic, numbers
from verdict.ops.aten.elementwise import each
from verdict.ops.elementwise import STEP
from verdict.ops.rule import Array, OpRule
from verdict.ops.types import floats, truth

ZERO = np.zeros(1, dtype=np.int64)


def _negative(x: Array) -> Array:
    return logic.less(x, ZERO)


def _signed(x: Array, y: Array) -> Array:
    size = np.asarray(numbers.maximum(x, np.asarray(-x)))
    return logic.where(_negative(y), np.asarray(-size), size)


def _by_both(name: str, formula: str, function: Any, **how: Any) -> tuple[OpRule, ...]:
    """An operator of two tensors, and of a tensor and a number."""
    return tuple(each(f"aten.{name}.{word}", "self other?", formula, function, **how) for word in ("Tensor", "Scalar"))


RULES: tuple[OpRule, ...] = (
    *_by_both("fmod", "z = x - y trunc(x / y)", integers.cut_off, assumptions=(integers.ROUNDED,)),
    *_by_both("copysign", "z = |x| with the sign of y", _signed, assumptions=(STEP,), types=floats),
    each("aten.signbit", "self", "y = [x < 0]", _negative, assumptions=(STEP,), types=truth),
)
