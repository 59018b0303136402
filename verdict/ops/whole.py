"""Whole numbers beyond what floats hold: int64 has 63 bits, a float 53, so that n + 2^62 - 2^62 is not n in floats.

What an operator makes of whole numbers is computed again on exact integers where one of them is so great, and stays
exact until none is; beside numbers with fractions it is a float, as torch makes of both.
"""

from collections.abc import Callable, Sequence

import numpy as np

from verdict.ops.rule import Array

GREAT = 1 << 53
"""From here on not every whole number is a float."""
Compute = Callable[[Sequence[Array]], Sequence[Array | None]]


def computed(compute: Compute, inputs: Sequence[Array], failures: tuple[type[Exception], ...]) -> list[Array | None]:
    """What `compute` makes of arrays of numbers: floats, and objects (ints) where some are whole and GREAT.

    failures: what it raises where it makes nothing of objects; then what it makes of floats is believed.
    """
    if not any(array.dtype == object for array in inputs):
        made = list(compute(inputs))
        if not any(array is not None and _is_great(array) for array in made) or not all(map(_are_whole, inputs)):
            return made
    elif not all(map(_are_whole, inputs)):
        return list(compute([floats(array) for array in inputs]))
    try:
        return [array if array is None else narrowed(array) for array in compute([_exact(each) for each in inputs])]
    except failures:
        return list(compute([floats(array) for array in inputs]))


def narrowed(array: Array) -> Array:
    """Floats in the place of objects, and of integers, none of which is GREAT or that are not all whole."""
    if array.dtype.kind == "i":
        return array.astype(object) if _is_great(array) else array
    if array.dtype != object:
        return array
    return array if _are_whole(array) and _is_great(array) else floats(array)


def floats(array: Array) -> Array:
    """The nearest floats to objects."""
    return array.astype(np.float64) if array.dtype == object else array


def _is_great(array: Array) -> bool:
    if array.dtype == object:
        return any(abs(value) >= GREAT for value in array.flat)
    return bool(array.size) and bool(array.max() >= GREAT or array.min() <= -GREAT)


def _are_whole(array: Array) -> bool:
    """Whether all are finite whole numbers."""
    if array.dtype == object:
        return all(isinstance(value, int) or (abs(value) < np.inf and value == int(value)) for value in array.flat)
    return array.dtype.kind in "ib" or bool((np.isfinite(array) & (array == np.floor(array))).all())


def _exact(array: Array) -> Array:
    """Whole numbers as ints of Python's."""
    return np.array([int(value) for value in array.flat], dtype=object).reshape(array.shape)
