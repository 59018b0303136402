"""Axes that are flattened by pieces: first which piece of each axis, then where in these pieces.

    y[(c, d, i, j)] = x[(c, i), (d, j)]    for axes of c and d pieces; with one piece each it is row-major order

Where ranks hold pieces of several axes, what each flattens of its own is then an interval of what one device flattens.
"""

from collections.abc import Sequence
from itertools import chain

from verdict.graph import Attrs, Shape

VIEW, SWAP = "view", "transpose"
Made = tuple[str, Attrs, Shape]
"""A node that reads what the one before it makes: its operator, its attributes, the shape of what it makes."""


def by_pieces(read: Shape, made: Shape, first: int, counts: Sequence[int]) -> list[Made]:
    """The nodes that flatten axes, from the dimension `first` on, that have so many pieces each, into a shape."""
    shape = _in_pieces(read, first, counts)
    return [viewed(shape), *_swapped(shape, _swaps(first, len(counts))), viewed(made)]


def from_pieces(made: Shape, first: int, counts: Sequence[int]) -> list[Made]:
    """The nodes that make axes of a shape of what was flattened so."""
    shape, swaps = _in_pieces(made, first, counts), _swaps(first, len(counts))
    grouped = _swapped(shape, swaps)[-1][2]
    return [viewed(grouped), *_swapped(grouped, swaps[::-1]), viewed(made)]


def _in_pieces(shape: Shape, first: int, counts: Sequence[int]) -> Shape:
    each = ((count, size // count) for count, size in zip(counts, shape[first:], strict=False))
    return (*shape[:first], *chain.from_iterable(each), *shape[first + len(counts) :])


def _swaps(first: int, axes: int) -> list[int]:
    """Which neighbours change places, one pair after the other, so that all pieces come before all places in them."""
    order = [(inner, axis) for axis in range(axes) for inner in (False, True)]
    found = []
    while order != sorted(order):
        at = next(k for k in range(len(order) - 1) if order[k] > order[k + 1])
        order[at : at + 2] = order[at + 1], order[at]
        found.append(first + at)
    return found


def _swapped(shape: Shape, swaps: Sequence[int]) -> list[Made]:
    made: list[Made] = []
    for at in swaps:
        shape = (*shape[:at], shape[at + 1], shape[at], *shape[at + 2 :])
        made.append((SWAP, (("dim0", at), ("dim1", at + 1)), shape))
    return made


def viewed(shape: Shape) -> Made:
    """The node that makes this shape."""
    return VIEW, (("size", shape),), shape
