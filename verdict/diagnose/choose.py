"""Inputs that show a difference in small numbers: random ones, made simpler as long as it still shows."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np

from verdict.errors import ShapeError
from verdict.ops import Array

UNFIT = (ArithmeticError, LookupError, TypeError, ValueError, ShapeError)
"""What operators raise on numbers for which they are not defined, or with attributes that do not fit."""

TRIES = 20
"""How many random points are tried."""


def random_like(inputs: Sequence[Array], choices: Sequence[int], seed: int) -> tuple[Array, ...]:
    """Small random numbers in place of the inputs: 1 to 9, or one of the integers that an input chooses from."""
    random = Random(seed)
    found = []
    for array, count in zip(inputs, choices, strict=True):
        values = np.empty(array.shape, dtype=object)
        for index in np.ndindex(array.shape):
            values[index] = random.randrange(count) if count else Fraction(random.randint(1, 9))
        found.append(values)
    return tuple(found)


def simplest(
    inputs: Sequence[Array], choices: Sequence[int], shows: Callable[[Sequence[Array]], bool]
) -> tuple[Array, ...] | None:
    """Inputs at which `shows` holds, with as many zeros, then ones, as it bears; None where none was found."""
    start = next((p for p in (random_like(inputs, choices, k) for k in range(TRIES)) if _holds(shows, p)), None)
    if start is None:
        return None
    for simple in (Fraction(0), Fraction(1)):
        for array, count in zip(start, choices, strict=True):
            for index in np.ndindex(array.shape):
                before: Any = array[index]
                if before in (0, simple):
                    continue
                array[index] = int(simple) if count else simple
                if (count and simple >= count) or not _holds(shows, start):
                    array[index] = before
    return start


def _holds(shows: Callable[[Sequence[Array]], bool], inputs: Sequence[Array]) -> bool:
    try:
        return shows(inputs)
    except UNFIT:
        return False
