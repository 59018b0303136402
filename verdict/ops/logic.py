"""Comparisons, choices and lookups on arrays of numbers or terms. A truth value is the number 1 or 0.

On numbers all of it is exact. On terms a comparison is made of steps, [x < y] = step(y - x); where the terms are
made of index variables alone (ids, masks of ids, shifted and masked ids) the solver lists their values, so that
such a mask is a sum of indicators and a shifted id can still be looked up. A choice by a mask m that is not known is
m a + (1 - m) b. A lookup at a position that is outside of the table has no value.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from verdict.ops import numbers
from verdict.ops.domain import Integers
from verdict.ops.elements import MINUS_INFINITY, is_number
from verdict.ops.numbers import each, of_objects
from verdict.ops.rule import Array

INFINITE, BELOW = "infinity", "below infinity"
"""What is asked of a number that may have overflowed: unknown functions of it, as no real number is infinite. Whoever
asks this of another number asks something else.
"""


def less(x: Array, y: Array) -> Array:
    """[x < y]."""
    return each(_less, x, y) if of_objects(x) or of_objects(y) else np.asarray(x < y, np.int64)


def at_most(x: Array, y: Array) -> Array:
    """[x <= y]: not [y < x], but where one of them is no number, which is in no order with any."""
    return each(_at_most, x, y) if of_objects(x) or of_objects(y) else np.asarray(x <= y, np.int64)


def equal(x: Array, y: Array) -> Array:
    """[x = y]."""
    return each(_equal, x, y) if of_objects(x) or of_objects(y) else np.asarray(x == y, np.int64)


def inverted(x: Array) -> Array:
    """1 - x, the opposite of a truth value."""
    return np.asarray(1 - x)


def truth(x: Array) -> Array:
    """[x is not 0]."""
    return inverted(equal(x, np.zeros((), dtype=np.int64)))


def where(mask: Array, x: Array, y: Array) -> Array:
    """x where the truth value is 1, else y."""
    if not (of_objects(mask) or of_objects(x) or of_objects(y)):
        return np.where(mask != 0, x, y)
    return each(_where, mask, x, y)


def kept(mask: Array, x: Array) -> Array:
    """x where the truth value is 1, else 0: also where x is no number, or an infinite one."""
    return where(mask, x, np.zeros((), dtype=np.int64))


def pointwise(name: str, function: Callable[..., Any], *arrays: Array) -> Array:
    """An exact function of integers and rationals, element by element: of terms that are not made of indices alone an
    unknown function `name`.
    """

    def one(*values: Any) -> Any:
        values = tuple(settled(value) for value in values)
        if all(is_number(value) for value in values):
            return function(*values)
        return _listed(name, function, values)

    return each(one, *arrays)


def hits(positions: Array, size: int) -> Array:
    """[position = v] for v in range(size), as a further, last axis. Positions from -size on count from the end."""
    rows = [[_hit(value, place, size) for place in range(size)] for value in positions.flat]
    made = np.empty((len(rows), size), dtype=object)
    for row, found in zip(made, rows, strict=True):
        row[:] = found
    return made.reshape((*positions.shape, size))


def listed(value: Any) -> Any:
    """An element, as a number where it is made of indices alone and is the same number for all of them."""
    if is_number(value):
        return value
    found = value.tabulate(lambda number: number)
    return settled(value if found is None else found)


def settled(value: Any) -> Any:
    """An element, as a number where it is known to be one."""
    if is_number(value) or value.constant is None:
        return value
    return value.constant


def _listed(name: str, function: Callable[..., Any], values: tuple[Any, ...]) -> Any:
    place = next(k for k, value in enumerate(values) if not is_number(value))
    rest = (*values[:place], *values[place + 1 :])

    def turned(first: Any, *others: Any) -> Any:
        return function(*others[:place], first, *others[place:])

    found = values[place].tabulate(turned, *rest)
    if found is None:
        return values[place].opaque(f"{name} at {place}" if place else name, *rest)
    return settled(found)


def _less(x: Any, y: Any) -> Any:
    x, y = settled(x), settled(y)
    if is_number(x) and is_number(y):
        return int(x < y)
    if is_number(y) and y == MINUS_INFINITY:
        return 0
    if is_number(x) and x == MINUS_INFINITY:
        return 1 - _equal(x, y)
    if is_infinite(x):
        return 0
    if is_infinite(y):
        return x.opaque(BELOW)
    return settled((y - x).opaque("step"))


def is_infinite(value: Any) -> bool:
    """Whether an element is plus infinity."""
    return is_number(value) and bool(value == -MINUS_INFINITY)


def _at_most(x: Any, y: Any) -> Any:
    x, y = settled(x), settled(y)
    if is_number(x) and is_number(y):
        return int(x <= y)
    if is_infinite(x) or is_infinite(y):
        return _less(x, y) + _equal(x, y)
    return 1 - _less(y, x)


def _equal(x: Any, y: Any) -> Any:
    x, y = settled(x), settled(y)
    if is_number(x) and is_number(y):
        return int(x == y)
    for one, other in ((x, y), (y, x)):
        if is_number(one) and one == MINUS_INFINITY:
            return settled(other.exp().indicator(0))
        if is_infinite(one):
            return other.opaque(INFINITE)
    return settled((x - y).indicator(0))


def _where(mask: Any, x: Any, y: Any) -> Any:
    mask, x, y = settled(mask), settled(x), settled(y)
    if is_number(mask):
        return x if mask else y
    if x is y:
        return x
    if not any(is_number(value) and value == MINUS_INFINITY for value in (x, y)):
        found = mask.tabulate(lambda m, one, other: one if m else other, x, y)
        if found is not None:
            return found
    return mask.choose(x, y)


def _hit(position: Any, place: int, size: int) -> Any:
    position = settled(position)
    if is_number(position):
        return int(position in {place, place - size})
    return settled(position.indicator(place) + position.indicator(place - size))


def member(ids: Array, known: Integers) -> Array:
    """1 where an id is one of the integers, which have ends, and nothing else where that is known; else a term."""
    low, high = known.low or 0, known.high or 0
    places = (*range(low, high + 1), *known.beside)

    def one(value: Any) -> Any:
        value = settled(value)
        if is_number(value):
            return int(known.holds(value))
        if value.within(low, high):
            return 1
        return listed(numbers.summed([value.indicator(place) for place in places]))

    return each(one, ids)


def defined(made: Array, ids: Array, known: Integers) -> Array:
    """What an operator makes of ids: it has no value where one of them is none of the known.

    made: the first dimensions are those of the ids; what has no value is not a number.
    """
    found = member(ids, known)
    outside = np.asarray([is_number(value) and value == 0 for value in found.flat]).reshape(found.shape)
    if outside.any():
        made = made.copy()
        made[outside] = math.nan
    if all(is_number(value) for value in found.flat):
        return made
    if outside.any():
        raise IndexError(f"an id is none of the {known.size} that there are")
    return numbers.divide(made, found.reshape((*found.shape, *(1 for _ in made.shape[found.ndim :]))))


def placed(positions: Array, size: int, wrap: bool) -> Array | None:
    """Positions as integers in range(size), one after the other in memory; None where one of them is a term.

    wrap: whether one from -size on counts from the end. Raises IndexError where one is outside.
    """
    found = numbers.integers(each(settled, positions)) if of_objects(positions) else positions.astype(np.int64)
    if found is None:
        return None
    if np.any(found >= size) or np.any(found < (-size if wrap else 0)):
        raise IndexError(f"a position is outside of the {size} that there are")
    return np.asarray(np.where(found < 0, found + size, found), order="C")


def looked_up(table: Array, positions: Array, wrap: bool) -> Array:
    """table[positions] along the first axis of the table.

    wrap: whether a position from -size on counts from the end; without it torch knows no such position.
    Raises IndexError where a position that is a number is outside; a term that may be outside is divided by
    [it is inside], which has no value there.
    """
    size = len(table)
    numeric = placed(positions, size, wrap)
    if numeric is not None:
        return np.asarray(table[numeric])
    found = _equal_to(positions, size, wrap)
    rows = numbers.picked(found.reshape(-1, size), table.reshape(size, -1))
    return _where_inside(rows.reshape((*positions.shape, *table.shape[1:])), positions, -size if wrap else 0, size)


def one_hot(positions: Array, size: int, wrap: bool = False) -> Array:
    """[the position is k] for each k below `size`, along a new last axis: what `looked_up` finds in the identity, and
    raises, without a sum over its rows. A term that may be outside has no value there.
    """
    numeric = placed(positions, size, wrap)
    if numeric is not None:
        made = np.zeros((*numeric.shape, size), dtype=np.int64)
        np.put_along_axis(made, numeric[..., None], 1, axis=-1)
        return made
    return _where_inside(_equal_to(positions, size, wrap), positions, -size if wrap else 0, size)


def _equal_to(positions: Array, size: int, wrap: bool) -> Array:
    if wrap:
        return hits(positions, size)
    return np.stack([numbers.indicator(positions, k) for k in range(size)], -1)


def _where_inside(rows: Array, positions: Array, low: int, size: int) -> Array:
    """What is made of each position, divided by [it is from `low` on and below `size`]."""
    inside = member(positions, Integers(low, size - 1))
    if all(is_number(value) and value == 1 for value in inside.flat):
        return np.asarray(rows)
    return numbers.divide(rows, inside.reshape((*positions.shape, *(1 for _ in rows.shape[positions.ndim :]))))
