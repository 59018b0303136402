"""What a node that only moves elements does: of each element of its outputs, from which place it comes."""

from collections.abc import Sequence
from itertools import pairwise
from math import prod

import numpy as np
import numpy.typing as npt

from verdict.errors import ShapeError
from verdict.graph import Node, Shape
from verdict.ops import FACTS

MOST_MOVED = 1 << 20
"""The most elements of a tensor that are followed one by one: 8 MiB of numbers."""

Move = tuple[npt.NDArray[np.int64], ...]


def move(node: Node, shapes: Sequence[Shape]) -> Move | None:
    """Of each output the places of its elements among those of all inputs side by side, from 1 on, and 0 for zero.

    The operator is run twice, on these places and on places that are all further on: what goes on with them was read,
    what is zero both times is zero, and anything else is neither.
    """
    rule, attrs = FACTS.of(node.op), dict(node.attrs)
    sizes = [prod(shape) for shape in shapes]
    count = sum(sizes)
    if rule is None or count > MOST_MOVED:
        return None
    try:
        due = rule.axes(shapes, attrs).output_shapes
    except ShapeError:
        return None
    ends = np.cumsum([1, *sizes]).tolist()
    read = [np.arange(first, last, dtype=np.float64) for first, last in pairwise(ends)]
    here = rule.forward([x.reshape(shape) for x, shape in zip(read, shapes, strict=True)], attrs)
    there = rule.forward([(x + count).reshape(shape) for x, shape in zip(read, shapes, strict=True)], attrs)
    if tuple(None if one is None else one.shape for one in here) != due:
        return None
    found = []
    for one, other in zip(here, there, strict=True):
        made, again = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
        is_moved = (again == made + count) & (made >= 1) & (made <= count)
        if not (is_moved | ((made == 0) & (again == 0))).all():
            return None
        found.append(made.astype(np.int64))
    return tuple(found)
