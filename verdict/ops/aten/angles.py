"""Angles by their tangents. On terms they are unknown functions, which have a value everywhere.

atan  y = the angle from -pi/2 to pi/2 whose tangent is x     atan2  the angle of the point (x, y), from -pi to pi
"""

import math
from typing import Any

import numpy as np

from verdict.ops import elements, numbers
from verdict.ops.aten.elementwise import each
from verdict.ops.rule import Array, OpRule
from verdict.ops.types import floats
from verdict.outcome import Assumption

ATAN = Assumption("atan-uninterpreted", "atan and atan2 are unknown functions, the same on both sides")


def _atan(x: Array) -> Array:
    if not numbers.of_objects(x):
        return np.arctan(x)
    return numbers.each(lambda value: elements.known(value, "atan", math.atan, 0), x)


def _atan2(y: Array, x: Array) -> Array:
    if not (numbers.of_objects(y) or numbers.of_objects(x)):
        return np.arctan2(y, x)
    return numbers.each(_angle, y, x)


def _angle(y: Any, x: Any) -> Any:
    if not elements.is_number(y):
        return y.opaque("atan2", x)
    return math.atan2(y, x) if elements.is_number(x) else x.opaque("atan2 at 1", y)


RULES: tuple[OpRule, ...] = (
    each("aten.atan", "self", "y = the angle whose tangent is x", _atan, assumptions=(ATAN,), types=floats),
    each("aten.atan2", "self other", "z = the angle of the point (y, x)", _atan2, assumptions=(ATAN,), types=floats),
)
