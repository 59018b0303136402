"""Whole numbers that floats do not hold: operators are run again on integers of Python where such ones appear.

Arithmetic of integers is exact (verdict/ops/integers.py), and floats hold whole numbers up to 2**53 alone: in them
n + 2**62 - 2**62 is 0. Other numbers are floats before and behind, so that what is great but no integer of int64, as
masks are, costs nothing.
"""

from collections.abc import Callable, Sequence
from numbers import Rational

import numpy as np

from verdict.errors import ShapeError
from verdict.ops import numbers
from verdict.ops.rule import Array

HELD = 2.0**53
"""Up to here floats hold every whole number."""
GREATEST = 2.0**63
"""Beyond this a number is none of int64."""
CANNOT = (ArithmeticError, AttributeError, IndexError, ShapeError, TypeError, ValueError)
"""What operators on Python's integers raise that have no rule for them."""

Run = Callable[[Sequence[Array]], Sequence[Array | None]]


def exactly(run: Run, inputs: Sequence[Array]) -> tuple[Array | None, ...]:
    """What `run` makes of numbers, floats or integers; arrays of Python's integers where floats do not hold them.

    inputs: also such as this function made. Raises what `run` raises on floats.
    """
    known = [array for array in inputs if isinstance(array, np.ndarray)]
    kept = any(map(is_exact, known))
    floats = [array.astype(np.float64) if is_exact(array) else array for array in inputs]
    made = tuple(run(floats))
    if not (kept or any(map(is_beyond, (*known, *made)))) or not all(map(_is_whole, known)):
        return made
    try:
        again = tuple(run([_integers(array) for array in inputs]))
    except CANNOT:
        return made
    return tuple(map(_settled, made, again))


def is_exact(array: Array) -> bool:
    """Whether an array is of Python's integers."""
    return array.dtype == object and bool(array.size) and all(type(value) is int for value in array.flat)


def is_beyond(array: Array | None) -> bool:
    """Whether some element is as great as integers of int64 are that floats need not hold."""
    if array is None or not array.size or array.dtype.kind not in "fi" or _is_within(array):
        return False
    sizes = np.abs(array.astype(np.float64))
    return bool(((sizes >= HELD) & (sizes <= GREATEST)).any())


def _is_within(array: Array) -> bool:
    """Whether all elements are less than that in size, as each is where the sum of squares, soon told, is less."""
    if array.dtype.kind == "f" and np.vdot(array, array) < HELD * HELD:
        return True
    return not max(float(array.max()), -float(array.min())) >= HELD


def _is_whole(array: Array) -> bool:
    if array.dtype.kind == "f":
        return bool((np.isfinite(array) & (array == np.rint(array))).all())
    return array.dtype.kind in "ib" or is_exact(array)


def _integers(array: Array) -> Array:
    return numbers.each(int, array) if array.dtype != object else array


def _settled(floats: Array | None, exact: Array | None) -> Array | None:
    """The integers where they are ones that floats do not hold, else the floats."""
    if floats is None or exact is None or exact.dtype != object or not all(map(_is_integer, exact.flat)):
        return floats
    found = np.empty(exact.size, dtype=object)
    found[:] = [value.numerator for value in exact.flat]
    return np.asarray(exact, dtype=np.float64) if all(float(k) == k for k in found) else found.reshape(exact.shape)


def _is_integer(value: object) -> bool:
    return isinstance(value, Rational) and value.denominator == 1
