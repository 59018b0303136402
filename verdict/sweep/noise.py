"""What is zero, or one number, but for rounding: its values say nothing of it."""

from collections.abc import Sequence

import numpy as np

from verdict.ops import Array
from verdict.sweep.elements import Ids

NOISE = 1e-13
"""What is below this on all seeds is zero but for rounding (the gradient of a key's bias): values say nothing of it."""


def is_noise(arrays: Sequence[Array]) -> bool:
    """Whether arrays are zero but for rounding."""
    return all(np.max(np.abs(array), initial=0.0) < NOISE for array in arrays)


def is_flat(arrays: Sequence[Array]) -> bool:
    """Whether arrays are one number on all seeds but for rounding, as what keeps a root of noise from zero."""
    if not arrays[0].size:
        return False
    with np.errstate(invalid="ignore"):  # an infinity less an infinity is no noise
        return all(is_noise([array - float(arrays[0].flat[0])]) for array in arrays)


def rounded(arrays: Sequence[Array]) -> Ids:
    """The places (flat) of what is zero but for rounding on all seeds, and no zero on one of them."""
    greatest_of = np.maximum.reduce([np.abs(array).ravel() for array in arrays])
    return np.flatnonzero((greatest_of > 0) & (greatest_of < NOISE))
