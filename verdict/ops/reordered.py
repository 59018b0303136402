"""An axis of which intervals change places: y[..., the k-th interval, ...] = x[..., intervals[k], ...]."""

from collections.abc import Sequence

from verdict.graph import NARROW, Attrs, Interval, Shape

JOIN = "concatenate"
Made = tuple[str, Attrs, Shape]
"""A node: its operator, its attributes, the shape of what it makes."""


def pieces(shape: Shape, dim: int, intervals: Sequence[Interval]) -> list[Made]:
    """The nodes that take these intervals of a tensor, each by itself."""
    return [
        (
            NARROW,
            (("dim", dim), ("length", stop - start), ("start", start)),
            (*shape[:dim], stop - start, *shape[dim + 1 :]),
        )
        for start, stop in intervals
    ]


def joined(shape: Shape, dim: int) -> Made:
    """The node that puts pieces side by side, in the order in which it reads them."""
    return JOIN, (("dim", dim),), shape
