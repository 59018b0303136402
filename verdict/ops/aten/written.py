"""What is written at positions: numbers, or terms made of indices."""

from itertools import product
from math import prod
from typing import Any

import numpy as np

from verdict.ops import elements, logic
from verdict.ops.rule import Array
from verdict.outcome import Assumption

DISTINCT = Assumption("written-once", "positions that a scatter or index_put writes twice get the last value written")


def written(x: Array, position: tuple[Any, ...], value: Any, add: bool, wrap: bool) -> Array:
    """x with `value` written (or added) at one position, of one number or term for each dimension of x.

    What is elsewhere, whatever the terms are, has a value where the position is one of x.
    """
    y = x.copy()
    settled = tuple(logic.settled(coordinate) for coordinate in position)
    if all(elements.is_number(coordinate) for coordinate in settled):
        place = tuple(int(coordinate) for coordinate in settled)
        if any(not (-n if wrap else 0) <= k < n for k, n in zip(place, x.shape, strict=True)):
            raise IndexError(f"position {place} is outside of shape {x.shape}")
        y[place] = y[place] + value if add else value
        return y
    found = [_found(coordinate, size, wrap) for coordinate, size in zip(settled, x.shape, strict=True)]
    for place in product(*map(range, x.shape)):
        parts = [row[coordinate] for row, coordinate in zip(found, place, strict=True)]
        hit = logic.settled(prod(parts))
        if any(_is_zero(part) for part in parts) and not logic.is_infinite(y[place]):
            y[place] = y[place] if elements.is_number(hit) else y[place] + hit
        elif add:
            y[place] = y[place] + elements.part(hit, value)
        else:
            y[place] = logic.where(*(np.asarray([part], dtype=object) for part in (hit, value, y[place])))[0]
    return y


def _is_zero(part: Any) -> bool:
    return elements.is_number(part) and part == 0


def written_at(x: Array, places: tuple[Array, ...], values: Array, add: bool) -> None:
    """Write (or add) values at positions of the first dimensions of x that are numbers, one after the other."""
    if add:
        np.add.at(x, places, values)
    else:
        x[places] = values


def _found(coordinate: Any, size: int, wrap: bool) -> Any:
    """[coordinate = k] for each k; without a value where it is none of them."""
    one = np.empty(1, dtype=object)
    one[0] = coordinate
    return logic.one_hot(one, size, wrap).astype(object)[0]
