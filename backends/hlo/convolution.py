"""convolution: what each place of the kernel sees, side by side, times the kernel; features and batches in groups."""

import re
from collections.abc import Sequence
from itertools import product
from math import prod

import numpy as np

from verdict.backends.hlo.folds import MOST_PIECES, Window, emit, padded, taken, windows_of
from verdict.backends.hlo.instruction import At
from verdict.backends.hlo.text import DTYPES
from verdict.backends.hlo.values import Leaf, Refused, array_of, whole

ALL = Window(1, 1, 0, 0, 1, 1, False)
"""What a window is along the batch and the features."""
_LABELS = re.compile(r"([bf\d]+)_([io\d]+)->([bf\d]+)")


def convolved(at: At) -> Leaf:
    """What a convolution makes. Raises Refused."""
    made = array_of(at.each)
    x, kernel = at.operands
    if whole(x.dtype) or x.dtype != kernel.dtype or DTYPES[made.dtype] != x.dtype:
        raise Refused("it is not one of floating-point numbers of one type")
    of_x, of_kernel, of_made = _labels(at, len(made.dims))
    rank = len(made.dims) - 2
    x, kernel = _turned(at, x, of_x), _turned(at, kernel, of_kernel)
    windows = windows_of(at, rank)
    if tuple(one.size for one in windows) != kernel.shape[2:]:
        raise Refused("its window is not that of its kernel")
    groups, batches = (int(at.each.attrs.get(f"{key}_group_count", "1")) for key in ("feature", "batch"))
    if groups > 1 and batches > 1:
        raise Refused("groups of features and of batches at once have no rule")
    count = max(groups, batches)
    outputs, inputs = kernel.shape[:2]
    if x.shape[1] != inputs * groups or outputs % count or x.shape[0] % batches:
        raise Refused(f"{count} groups do not fit {list(x.shape)} and a kernel {list(kernel.shape)}")
    spatial = tuple(one.made(n) for one, n in zip(windows, x.shape[2:], strict=True))
    if prod(kernel.shape[2:]) > MOST_PIECES:
        raise Refused(f"its kernel has more than {MOST_PIECES} places")
    seen = _seen(at, x, windows, spatial, (groups, batches))
    rows = (count, outputs // count, inputs * prod(kernel.shape[2:]))
    weights = emit(at, "reshape", (kernel,), rows, size=rows)
    last = len(spatial) + 2
    dims = {"lhs_batch": (0,), "rhs_batch": (0,), "lhs_contracting": (last,), "rhs_contracting": (2,)}
    found = emit(at, "dot", (seen, weights), (*seen.shape[:-1], outputs // count), **dims)
    found = _turned(at, found, (1, 0, last, *range(2, last)))
    size = (x.shape[0] // batches, outputs, *spatial)
    found = _turned(at, emit(at, "reshape", (found,), size, size=size), tuple(np.argsort(of_made).tolist()))
    if found.shape != made.dims:
        raise Refused(f"its shape is {list(made.dims)} where its operands make {list(found.shape)}")
    return found


def _labels(at: At, rank: int) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Of both operands and of what is made, where batch and feature (of the kernel outputs and inputs) stand, and the
    spatial dimensions.
    """
    found = _LABELS.fullmatch(at.each.attrs.get("dim_labels", ""))
    spatial = "".join(map(str, range(rank - 2)))
    if found is None or rank > 11:
        raise Refused("its dim_labels are of no known form")
    made = []
    for text, first in zip(found.groups(), ("bf", "oi", "bf"), strict=True):
        if sorted(text) != sorted(first + spatial):
            raise Refused("its dim_labels are of no known form")
        made.append(tuple(text.index(letter) for letter in first + spatial))
    return made[0], made[1], made[2]


def _turned(at: At, x: Leaf, order: tuple[int, ...]) -> Leaf:
    if len(x.shape) != len(order):
        raise Refused("an operand has another rank than its dim_labels")
    shape = tuple(x.shape[k] for k in order)
    return x if order == tuple(range(len(order))) else emit(at, "transpose", (x,), shape, dims=order)


def _seen(
    at: At, x: Leaf, windows: Sequence[Window], spatial: tuple[int, ...], groups: tuple[int, int]
) -> Leaf:
    """What the places of the kernel see: groups x batch x spatial x (features and places)."""
    (features, batches), (batch, width) = groups, x.shape[:2]
    every = (ALL, ALL, *windows)
    around = padded(at, x, at.recording.constant((0,), (), x.dtype), every)
    cut = (batches, batch // batches, features, width // features, *spatial, 1)
    rows = []
    for place in product(*(range(one.size) for one in windows)):
        there = [one.size - 1 - k if one.reversed else k for k, one in zip(place, windows, strict=True)]
        row = taken(at, around, (0, 0, *there), every, (batch, width, *spatial))
        rows.append(emit(at, "reshape", (row,), cut, size=cut))
    last = len(cut) - 1
    joined = rows[0]
    if len(rows) > 1:
        joined = emit(at, "concatenate", tuple(rows), (*cut[:-1], len(rows)), dim=last)
    laid = _turned(at, joined, (0, 2, 1, *range(4, last), 3, last))
    size = (features * batches, batch // batches, *spatial, width // features * len(rows))
    return emit(at, "reshape", (laid,), size, size=size)
