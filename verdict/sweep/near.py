"""How near the values of two elements are that count as equal."""

import numpy as np
import numpy.typing as npt

from verdict.ops import Array

Floats = npt.NDArray[np.float64]
CLOSE = 1e-9
"""How near, relative to the value (and to a thousandth of the greatest of its array), equal values are."""
APART, LEAST = 1e5, 1e-3
"""By what factor elements are far apart, of those that are greater than this."""


def near(own: Floats, theirs: Floats) -> npt.NDArray[np.bool_]:
    """Which numbers are near others, each by itself."""
    with np.errstate(invalid="ignore"):
        near = np.abs(theirs - own) <= CLOSE * np.maximum(np.abs(own), 1e-3) + 1e-12
        return np.asarray((theirs == own) | near)


def tolerance_of(array: Floats) -> Floats:
    """How near the elements of an array must be: relative to themselves, and to a thousandth of the greatest of those
    among which they are. Elements that stand far above all others (a mask of -1e9) say nothing of the others.
    """
    sizes = np.where(np.isfinite(array), np.abs(array), 0.0)
    greatest = sizes.max(initial=0.0)
    if greatest > APART * LEAST:
        ordered = np.unique(sizes[sizes > LEAST])
        among = np.full(sizes.shape, greatest)
        for place in np.flatnonzero(ordered[1:] > APART * ordered[:-1])[::-1]:
            among[sizes <= ordered[place]] = ordered[place]
        greatest = among
    return np.asarray(CLOSE * np.maximum(sizes, 1e-3 * greatest) + 1e-15)


def equal(one: Array, other: Array, tolerance: Floats) -> bool:
    """Whether all elements of two arrays are as near as this."""
    return bool(np.all(are_equal(one, other, tolerance)))


def are_equal(one: Array, other: Array, tolerance: Floats) -> npt.NDArray[np.bool_]:
    """Which elements of two arrays are as near as this; infinities are where they are the same."""
    with np.errstate(invalid="ignore"):
        return np.asarray((np.abs(one - other) <= tolerance) | (one == other))
