"""Integers that are given, followed without arithmetic; and those in whose place another one is put.

`t.masked_fill(t == -100, 0)` looks up class 0 for a target of -100: it may be given, though no table has such a row.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from verdict.ops import Array
from verdict.ops.integers import ROUNDING
from verdict.ops.names import NEGATIONS, named


class _NoNumber:
    """What stands in the place of a number, and cannot be computed with."""

    __slots__ = ()

    constant = None

    def __eq__(self, other: object) -> bool:
        raise TypeError("it cannot be compared")

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise TypeError("it has no truth value")


@dataclass(frozen=True, slots=True, eq=False)
class Element(_NoNumber):
    """An integer that is given, without arithmetic: it only says where it stands.

    others: integers in whose place others are put, and these.
    """

    logical: int
    place: int
    others: tuple[tuple[int, int], ...] = ()

    def opaque(self, name: str) -> "Element":
        """Itself, of what cuts off fractions."""
        if name not in ROUNDING:
            raise TypeError("an element has no functions")
        return self


@dataclass(frozen=True, slots=True, eq=False)
class Told(_NoNumber):
    """Whether an element is a number, or, where it does not hold, is not."""

    element: Element
    number: int
    holds: bool


def masked(op: str, attrs: Mapping[str, Any], arrays: Sequence[Array]) -> Array | None:
    """What a node makes of elements that it holds against a number, of what that tells, or of elements in whose place
    it puts numbers where it was told so; None of any other node.
    """
    name, number = named(op), attrs.get("other")
    if name in ("eq", "ne") and len(arrays) == 1 and isinstance(number, int):
        return _of_all(Element, lambda x: Told(x, number, name == "eq"), arrays[0])
    if name in NEGATIONS and len(arrays) == 1:
        return _of_all(Told, lambda x: replace(x, holds=not x.holds), arrays[0])
    if name == "masked_fill":
        fills = arrays[2:] or [np.asarray(attrs.get("value"), dtype=object)]
        return _put(arrays[1], True, arrays[0], fills[0])
    if name != "where" or "self" in attrs:
        return None
    second = arrays[2] if number is None else np.asarray(number, dtype=object)
    kept = _put(arrays[0], False, arrays[1], second)
    return _put(arrays[0], True, second, arrays[1]) if kept is None else kept


def _put(tells: Array, where: bool, elements: Array, numbers: Array) -> Array | None:
    """Elements with numbers in their places where it is told that the element is some number, `where`, or is not."""
    try:
        each = np.broadcast(tells, elements, numbers)
    except ValueError:
        return None
    found = [_with(element, number, told) if _holds(told) is where else None for told, element, number in each]
    if not found or any(element is None for element in found):
        return None
    array = np.empty(len(found), dtype=object)
    array[:] = found
    return array.reshape(each.shape)


def _holds(told: object) -> bool | None:
    return told.holds if isinstance(told, Told) and not told.element.others else None


def _with(element: object, number: object, told: Told) -> Element | None:
    """An element in the place of which a number is put where it is another one."""
    if not isinstance(element, Element) or not isinstance(number, int | np.integer):
        return None
    same = (told.element.logical, told.element.place) == (element.logical, element.place)
    return replace(element, others=(*element.others, (told.number, int(number)))) if same else None


def _of_all(kind: type, made: Callable[[Any], object], array: Array) -> Array | None:
    if not array.size or not all(isinstance(x, kind) for x in array.flat):
        return None
    found = np.empty(array.size, dtype=object)
    found[:] = [made(x) for x in array.flat]
    return found.reshape(array.shape)
