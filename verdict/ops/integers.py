"""Integers: which of them a tensor of a type may hold, as symbols of a proof, and casts between types.

int64 is taken not to overflow: arithmetic is that of the integers. A narrower type holds the integers of its width in
two's complement, and what does not fit wraps around, as torch has it.
"""

from collections.abc import Callable
from fractions import Fraction
from math import ceil, floor, isfinite, trunc
from numbers import Rational
from typing import Any, Protocol

import numpy as np

from verdict.ops import elements, logic, numbers
from verdict.ops.domain import BITS, TRUTH, Integers
from verdict.ops.rule import Array
from verdict.outcome import Assumption

MOST_LISTED = 1 << 16
"""Up to so many integers are listed one by one; of more, the proof knows that they are integers, and their bounds."""
SIGNIFICANT = {"bfloat16": 8, "float16": 11, "float32": 24}
"""Up to so many bits a floating-point type holds every integer of."""
GREATEST_COUNT = 1 << 40
"""Whole numbers from this on are taken for bounds, as masks have them, and not for something that is counted."""
ROUNDED = Assumption(
    "rounding-uninterpreted", "what cuts fractions off is one unknown function to the integers, the same on both sides"
)
BITWISE = Assumption(
    "bitwise-uninterpreted",
    "bits of integers of which the values are not listed are joined by one unknown function, the same on both sides",
)
ROUNDING: dict[str, Callable[[Any], int]] = {"floor": floor, "ceil": ceil, "trunc": trunc, "round": round}


class Symbols(Protocol):
    """Makes the symbols of integers."""

    def index(self, name: str, size: int) -> Any:
        """An integer variable in range(size)."""

    def integer(self, name: str, low: int | None = None, high: int | None = None) -> Any:
        """An integer variable within bounds."""


def symbol(known: Integers, symbols: Symbols, name: str) -> Any:
    """The variable `name`, which is any of the known integers."""
    count = known.size
    if count is None or count > MOST_LISTED:
        return symbols.integer(name, *known.hull)
    variable = symbols.index(name, count)
    low, inside = known.low or 0, count - len(known.beside)
    found = variable + low if low and inside else variable
    for place, value in enumerate(known.beside, inside):
        hit = numbers.indicator(np.array([variable], dtype=object), place)[0]
        found = found + (value - (low if inside else 0) - place) * hit
    return found


def chosen(known: Integers, value: int) -> int:
    """The integer that a symbol stands for where its variable has a value."""
    count = known.size
    return value if count is None or count > MOST_LISTED else known.at(value)


def rounded(name: str, x: Array) -> Array:
    """The function `name` of ROUNDING, element by element; an unknown one of terms of which nothing else is known."""
    if not numbers.of_objects(x):
        return np.asarray(getattr(np, name)(x)) if x.dtype.kind == "f" else x
    return numbers.each(lambda value: _rounded(name, value), x)


def _rounded(name: str, value: Any) -> Any:
    if not elements.is_number(value):
        found = value.opaque(name)
        return found if found.constant is None else found.constant
    return ROUNDING[name](value) if _is_finite(value) else value


def _is_finite(value: Any) -> bool:
    """Of any number, however great."""
    return isinstance(value, Rational) or isfinite(value)


def divided(x: Array, y: Array, name: str = "floor") -> Array:
    """The quotients of integers or numbers, rounded to an integer."""
    if not (numbers.of_objects(x) or numbers.of_objects(y)) and x.dtype.kind == "i" and y.dtype.kind == "i":
        down = np.floor_divide(x, y)
        return down if name == "floor" else down + ((down < 0) & (down * y != x))
    return rounded(name, numbers.divide(x, y))


def remainder(x: Array, y: Array) -> Array:
    """x - y floor(x / y): what is left of x, with the sign of y."""
    return _listed(np.asarray(x - y * divided(x, y)))


def cut_off(x: Array, y: Array) -> Array:
    """x - y trunc(x / y): what is left of x, with the sign of x."""
    if not (numbers.of_objects(x) or numbers.of_objects(y)):
        return np.asarray(np.fmod(x, y))
    return _listed(np.asarray(x - y * divided(x, y, "trunc")))


def wrapped(x: Array, dtype: str) -> Array:
    """Integers brought into the width of a type."""
    dtype = dtype.removeprefix("torch.")
    if dtype not in BITS:
        return x
    size = 1 << BITS[dtype]
    low = 0 if dtype.startswith("u") else -(size >> 1)
    if not numbers.of_objects(x):
        return np.asarray(np.mod(x - low, size) + low)
    shifts = rounded("floor", np.asarray((x - low) * Fraction(1, size)))
    if all(elements.is_number(shift) and shift == 0 for shift in shifts.flat):
        return x
    return _listed(np.asarray(x - size * shifts))


def _listed(x: Array) -> Array:
    """Terms of which all values are known as sums over them, so that equal ones are one term."""
    return numbers.each(_tabulated, x) if numbers.of_objects(x) else x


def _tabulated(value: Any) -> Any:
    found = None if elements.is_number(value) else value.tabulate(lambda number: number)
    return value if found is None else found


def held(x: Array, dtype: str) -> Array:
    """Whole numbers as a floating-point type holds them: those of more bits than it has are rounded, half to even.

    Of terms nothing is said, nor of fractions, nor of what is as great as to stand for infinity.
    """
    bits = SIGNIFICANT.get(dtype.removeprefix("torch."))
    if bits is None or x.dtype.kind not in "fiO":
        return x
    if x.dtype.kind == "O":
        return numbers.each(lambda value: _held(value, bits), x)
    if not (np.abs(x) > 1 << bits).any():
        return x
    return np.asarray(numbers.each(lambda value: _held(value, bits), x), dtype=x.dtype)


def _held(value: Any, bits: int) -> Any:
    if not elements.is_number(value) or not _is_finite(value) or value != trunc(value) or abs(value) >= GREATEST_COUNT:
        return value
    unit = 1 << max(0, abs(trunc(value)).bit_length() - bits)
    return value if unit == 1 else round(Fraction(trunc(value), unit)) * unit


def cast(x: Array, dtype: str) -> Array:
    """Numbers as the integers of a type: fractions cut off, and what does not fit wraps around; as truth values,
    whether they are not 0.
    """
    if dtype.removeprefix("torch.") == TRUTH:
        return np.asarray(1 - logic.equal(x, np.zeros((), dtype=np.int64)))
    return wrapped(rounded("trunc", x), dtype)
