"""Rows of ids that are compared with each other: where eight stand in an order, or are all unlike, there must
be eight elements for them to name. Each row of a tensor is a coordinate of its own.

Ids that name elements of an axis that they have themselves, as positions that are given do, are not looked at.
"""

from math import prod

from verdict.reduction.scales import Scales
from verdict.reduction.side import Side

PAIR = 2
"""So many coordinates of ids are compared with each other: one alone is compared with positions."""


def crowded(side: Side, scales: Scales) -> dict[int, int]:
    """By factor, how many rows of ids along it are compared with each other at reduced shapes."""
    found: dict[int, int] = {}
    for root, met in side.coordinates.met().items():
        ids = {logical: times for logical, times in met.items() if logical >= 0}
        if sum(ids.values()) >= PAIR and not any(_has(side, logical, root) for logical in ids):
            found[root] = sum(-(-times // PAIR) * _rows(side, logical, scales) for logical, times in ids.items())
    return found


def _has(side: Side, logical: int, root: int) -> bool:
    """Whether a tensor has an axis of a factor."""
    return any(root in side.factors.leaves(dim) for dim in side.dims[logical])


def _rows(side: Side, logical: int, scales: Scales) -> int:
    shape = side.plan.logicals[logical].shape
    return prod(scales.small(dim, size, size) for dim, size in zip(side.dims[logical], shape, strict=True))
