"""Inputs that show a difference in small numbers: random ones, made simpler as long as it still shows."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np

from verdict.errors import ShapeError
from verdict.ops import Array
from verdict.ops.domain import Integers
from verdict.solver import SolverError

Choices = Sequence[Integers | None]
"""For each input, the integers that its elements may be; None for any number."""

UNFIT = (ArithmeticError, LookupError, TypeError, ValueError, ShapeError, SolverError)
"""What operators raise on numbers for which they are not defined, with attributes that do not fit, or on too many."""

TRIES = 20
"""How many random points are tried."""


def random_like(inputs: Sequence[Array], choices: Choices, seed: int) -> tuple[Array, ...]:
    """Small random numbers in place of the inputs: 1 to 9, or one of the integers that an input may hold."""
    random = Random(seed)
    found = []
    for array, known in zip(inputs, choices, strict=True):
        values = np.empty(array.shape, dtype=object)
        for index in np.ndindex(array.shape):
            values[index] = Fraction(random.randint(1, 9)) if known is None else _integer(random, known)
        found.append(values)
    return tuple(found)


def _integer(random: Random, known: Integers) -> int:
    if known.size is not None:
        return known.at(random.randrange(known.size))
    low, high = known.hull
    first = low if low is not None else -4 if high is None else high - 9
    return random.randint(first, first + 9)


def simplest(
    inputs: Sequence[Array], choices: Choices, shows: Callable[[Sequence[Array]], bool]
) -> tuple[Array, ...] | None:
    """Inputs at which `shows` holds, with as many zeros, then ones, as it bears; None where none was found."""
    start = next((p for p in (random_like(inputs, choices, k) for k in range(TRIES)) if _holds(shows, p)), None)
    if start is None:
        return None
    for simple in (Fraction(0), Fraction(1)):
        for array, known in zip(start, choices, strict=True):
            if known is None or known.holds(int(simple)):
                _simplify(array, list(np.ndindex(array.shape)), simple if known is None else int(simple), start, shows)
    return start


def _simplify(
    array: Array, places: Sequence[tuple[int, ...]], simple: Any, inputs: Sequence[Array],
    shows: Callable[[Sequence[Array]], bool],
) -> None:  # fmt: skip
    """Let as many elements of `array` at `places` be `simple` as the inputs bear: all at once, else half by half."""
    todo = [place for place in places if array[place] not in (0, simple)]
    if not todo:
        return
    before = [array[place] for place in todo]
    for place in todo:
        array[place] = simple
    if _holds(shows, inputs):
        return
    for place, value in zip(todo, before, strict=True):
        array[place] = value
    if len(todo) > 1:
        middle = len(todo) // 2
        _simplify(array, todo[:middle], simple, inputs, shows)
        _simplify(array, todo[middle:], simple, inputs, shows)


def _holds(shows: Callable[[Sequence[Array]], bool], inputs: Sequence[Array]) -> bool:
    try:
        return shows(inputs)
    except UNFIT:
        return False
