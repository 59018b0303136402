"""Regions: boxes of exact integer intervals in the coordinates of a logical tensor. Shards may be uneven."""

from functools import lru_cache
from math import prod

Shape = tuple[int, ...]
Interval = tuple[int, int]
Region = tuple[Interval, ...]


MOST_KNOWN = 1 << 16
"""Of how many regions it is kept what they are: plans of thousands of ranks have some hundred distinct ones."""


def whole(shape: Shape) -> Region:
    """The region that is all of a tensor of `shape`."""
    return tuple((0, size) for size in shape)


@lru_cache(MOST_KNOWN)
def extent(region: Region) -> Shape:
    """The shape of what lies inside `region`."""
    return tuple([stop - start for start, stop in region])


@lru_cache(MOST_KNOWN)
def farthest(region: Region) -> int:
    """How far from zero `region` begins or ends."""
    return max((abs(end) for interval in region for end in interval), default=0)


def volume(region: Region) -> int:
    """The number of elements inside `region`."""
    return prod(extent(region))


@lru_cache(MOST_KNOWN)
def inside(region: Region, shape: Shape) -> bool:
    """Whether `region` is a box, which may have no elements, within a tensor of `shape`."""
    return len(region) == len(shape) and all(
        0 <= start <= stop <= size for (start, stop), size in zip(region, shape, strict=True)
    )


def contains(outer: Region, inner: Region) -> bool:
    """Whether `inner` lies within `outer`."""
    return all(start <= begin and end <= stop for (start, stop), (begin, end) in zip(outer, inner, strict=True))


def hull(one: Region, other: Region) -> Region:
    """The least region with all of both."""
    return tuple((min(a, c), max(b, d)) for (a, b), (c, d) in zip(one, other, strict=True))


def moved(region: Region, outer: Region) -> Region:
    """`region` in the coordinates of `outer`, whose first element is at zero."""
    return tuple((start - first, stop - first) for (start, stop), (first, _) in zip(region, outer, strict=True))


def spelled(region: Region) -> str:
    """A region in words: [0:4, 2:8]."""
    return "[" + ", ".join(f"{start}:{stop}" for start, stop in region) + "]"


def slices(region: Region) -> tuple[slice, ...]:
    """What takes `region` out of an array."""
    return tuple(slice(*interval) for interval in region)


def chunks(size: int, pieces: int) -> tuple[Interval, ...]:
    """The intervals into which torch.chunk cuts `size` elements: as equal as ceil(size / pieces) allows, the last one
    shorter. Of nothing there are as many pieces as are asked for.
    """
    if not size:
        return ((0, 0),) * pieces
    step = -(-size // pieces)
    return tuple((start, min(start + step, size)) for start in range(0, size, step))
