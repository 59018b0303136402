"""From the regions of tensors to the intervals of index axes (atoms), and back."""

from collections.abc import Mapping, Sequence
from math import prod

from verdict.graph import Interval, Region
from verdict.ops import Dim


def split(dim: Dim, interval: Interval, sizes: Mapping[str, int]) -> dict[str, Interval] | None:
    """The intervals of the atoms of `dim` whose product is `interval`; None where that is not a box.

    A dimension is the product of its atoms, slowest first: an interval of it is a box of atoms if it is
    aligned to the faster ones, or lies within one index of the slower ones.
    """
    start, stop = interval
    bounds: dict[str, Interval] = {}
    for position, name in enumerate(dim):
        inner = prod(sizes[faster] for faster in dim[position + 1 :])
        if start % inner == 0 and stop % inner == 0:
            bounds[name] = (start // inner, stop // inner)
            bounds.update((faster, (0, sizes[faster])) for faster in dim[position + 1 :])
            return bounds
        index = start // inner
        if index != (stop - 1) // inner:
            return None
        bounds[name] = (index, index + 1)
        start, stop = start - index * inner, stop - index * inner
    return bounds if (start, stop) == (0, 1) else None


def join(dim: Dim, bounds: Mapping[str, Interval], sizes: Mapping[str, int]) -> Interval | None:
    """The interval of `dim` that a box of its atoms is; None where the box is strided in it."""
    start, length, within_one = 0, 1, True
    for name in dim:
        first, last = bounds[name]
        whole = (first, last) == (0, sizes[name])
        if not within_one and not whole:
            return None
        start = start * sizes[name] + first
        length = length * (last - first) if within_one else length * sizes[name]
        within_one = within_one and last - first == 1
    return (start, start + length)


def split_region(dims: Sequence[Dim], region: Region, sizes: Mapping[str, int]) -> dict[str, Interval] | None:
    """The intervals of the atoms of a tensor that is cut to `region`; None where they contradict."""
    bounds: dict[str, Interval] = {}
    for dim, interval in zip(dims, region, strict=True):
        found = split(dim, interval, sizes)
        if found is None or any(bounds.setdefault(name, cut) != cut for name, cut in found.items()):
            return None
    return bounds


def join_region(dims: Sequence[Dim], bounds: Mapping[str, Interval], sizes: Mapping[str, int]) -> Region | None:
    """The region of a tensor with these dimensions that a box of atoms is; None where it is strided."""
    region = tuple(join(dim, bounds, sizes) for dim in dims)
    return None if None in region else tuple(interval for interval in region if interval is not None)
