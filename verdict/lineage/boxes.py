"""Regions of arrays of numbers that say which elements a tensor is made of."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from verdict.graph import Interval, Region, slices

Origins = npt.NDArray[np.int64]
"""For each element the number of the element that it is, `NOTHING` for zero."""
NOTHING = 0
"""The number of what is zero."""
Pieces = Mapping[tuple[int, int], Interval]
"""By the size of an axis, and that of a part of it, which part a device has of other values."""


def first_of(origins: Origins) -> int:
    """The place of the first element that is not zero, counted in row-major order."""
    return int(np.argmax(origins.ravel() != NOTHING))


def _anchor(of: Origins, wanted: Origins) -> int:
    """The place of an element that is not zero, counted in row-major order: of those that stand least often in `of`, as
    a number that is written into every row says nothing of which rows these are.
    """
    first = first_of(wanted)
    if np.count_nonzero(of == wanted.flat[first]) < 2:
        return first
    numbers, counts = np.unique(of, return_counts=True)
    places = np.minimum(np.searchsorted(numbers, wanted.ravel()), len(numbers) - 1)
    return int(np.argmin(np.where(wanted.ravel() == NOTHING, of.size + 1, counts[places])))


def box(of: Origins, wanted: Origins, pieces: Pieces) -> Region | None:
    """The region of one array that is another one; None where there is none with the anchor of that where it first
    stands. It is moved to pieces of axes where that is the same.
    """
    if of.ndim != wanted.ndim or not of.size:
        return None
    anchor = _anchor(of, wanted)
    found = np.unravel_index(int(np.argmax(of == wanted.flat[anchor])), of.shape)
    lows = [int(at - own) for at, own in zip(found, np.unravel_index(anchor, wanted.shape), strict=True)]
    region = tuple((low, low + size) for low, size in zip(lows, wanted.shape, strict=True))
    fits = all(low >= 0 and stop <= size for (low, stop), size in zip(region, of.shape, strict=True))
    if not fits or not np.array_equal(of[slices(region)], wanted):
        return None
    for axis, (size, full) in enumerate(zip(wanted.shape, of.shape, strict=True)):
        piece = pieces.get((full, size), region[axis])
        instead = (*region[:axis], piece, *region[axis + 1 :])
        if piece != region[axis] and np.array_equal(of[slices(instead)], wanted):
            region = instead
    return region
