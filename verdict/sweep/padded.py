"""What is padded: a region of a single-device array, and a constant behind it or in front of it along one axis."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from verdict.ops import Array
from verdict.sweep.elements import Ids
from verdict.sweep.match import Catalogue

_Span = tuple[int, int]
"""From which row along an axis to which one."""


def padded(catalogue: Catalogue, arrays: Sequence[Array], constants: Ids) -> Iterator[Ids]:
    """What the elements of an array may be, in its shape, the likeliest first. arrays: its values, one for each seed.

    constants: for each element (flat) the constant that it is on all seeds, or -1. Of the rows that are constant some
    may be of the region, as those of a table's gradient that no token names: first as many as there can be.
    """
    fixed = constants.reshape(arrays[0].shape)
    for axis in range(fixed.ndim):
        for spans in _spans(fixed, axis):
            fitting = spans[bisect_left(spans, True, key=partial(_fits, catalogue, arrays, axis)) :]
            for span in dict.fromkeys((*fitting[:1], *fitting[-1:])):
                yield from _within(catalogue, arrays, fixed, axis, span)


def _spans(fixed: Ids, axis: int) -> tuple[list[_Span], list[_Span]]:
    """The rows that may be a region, where each one behind them is one constant all over, and so in front of them: the
    longest span first.
    """
    if not fixed.size:
        return [], []
    length, others = fixed.shape[axis], tuple(other for other in range(fixed.ndim) if other != axis)
    least, greatest = fixed.min(axis=others), fixed.max(axis=others)
    moving = np.flatnonzero((least < 0) | (least < greatest))
    if not moving.size:
        return [], []
    first, last = int(moving[0]), int(moving[-1])
    return [(0, stop) for stop in range(length - 1, last, -1)], [(start, length) for start in range(1, first + 1)]


def _fits(catalogue: Catalogue, arrays: Sequence[Array], axis: int, span: _Span) -> bool:
    """Whether some region equals a span along an axis: where one does, one equals each part of it."""
    return next(catalogue.boxes([array[_place(axis, span)] for array in arrays]), None) is not None


def _within(
    catalogue: Catalogue, arrays: Sequence[Array], fixed: Ids, axis: int, span: _Span
) -> Iterator[Ids]:  # fmt: skip
    """The constants everywhere but in a span along an axis; there a region that equals it."""
    place = _place(axis, span)
    for box in catalogue.boxes([array[place] for array in arrays]):
        ids = fixed.copy()
        ids[place] = box
        yield ids


def _place(axis: int, span: _Span) -> tuple[slice, ...]:
    return (*(slice(None),) * axis, slice(*span))
