"""Bits of integers without a sign: joined, shifted, taken for a number. Random bits are made so of a key.

What they are of numbers is exact; of integers that are not known each is one unknown function of what it reads, element
by element, the same on both sides.
"""

import operator as python
import struct
from collections.abc import Callable
from fractions import Fraction
from math import isfinite, nan
from typing import Any

import numpy as np

from verdict.ops import logic, numbers
from verdict.ops.hlo.form import each
from verdict.ops.integers import BITWISE
from verdict.ops.rule import Array, OpRule
from verdict.ops.types import cast


def _left(value: int, by: int, width: int) -> int:
    return value << by & (1 << width) - 1 if 0 <= by < width else 0


def _right(value: int, by: int, width: int) -> int:
    return (value & (1 << width) - 1) >> by if 0 <= by < width else 0


def _number(value: int) -> float:
    """The float32 whose bits these are: not a number where it is none, or infinite."""
    (found,) = struct.unpack("<f", struct.pack("<I", value & (1 << 32) - 1))
    return found if isfinite(found) else nan


def _exactly(value: int) -> Any:
    found = _number(value)
    return Fraction(found) if isfinite(found) else found


def _each(name: str, function: Callable[..., Any], *arrays: Array) -> Array:
    made = logic.pointwise(name, function, *arrays)
    return made if any(map(numbers.of_objects, arrays)) else np.asarray(made, dtype=np.int64)


def _joined(word: str, function: Callable[[int, int], int]) -> OpRule:
    def joined(x: Array, y: Array) -> Array:
        return _each(f"bitwise {word}", lambda a, b: function(int(a), int(b)), x, y)

    return each(f"bits_{word}", "self other", f"z = x {word} y, bit by bit, of integers", joined, (), (BITWISE,))


def _shifted(name: str, formula: str, function: Callable[[int, int, int], int]) -> OpRule:
    def shifted(x: Array, y: Array, width: int) -> Array:
        return _each(f"{name} in {width} bits", lambda a, b: function(int(a), int(b), width), x, y)

    return each(name, "self other", formula, shifted, (), (BITWISE,), attributes={"width": 32})


def _taken(x: Array, dtype: str) -> Array:
    if numbers.of_objects(x):
        return logic.pointwise("bits as float32", lambda value: _exactly(int(value)), x)
    return np.asarray(numbers.each(lambda value: _number(int(value)), x), dtype=np.float64)


RULES = (
    _joined("and", python.and_),
    _joined("or", python.or_),
    _joined("xor", python.xor),
    _shifted("shift_left", "z = x 2^y without what exceeds `width` bits; 0 where y is as great", _left),
    _shifted("shift_right_logical", "z = floor(x / 2^y) for x without a sign; 0 where y is as great", _right),
    each(
        "bitcast_convert",
        "self",
        "y = the float32 whose bits are those of x, an integer of as many; `dtype` is that type",
        _taken,
        (),
        (BITWISE,),
        cast,
        {"dtype": None},
    ),
)
