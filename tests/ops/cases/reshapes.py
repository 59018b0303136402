"""view and transpose."""

from math import prod

import torch
from hypothesis import strategies as st

from tests.ops.harness import Misfit, Subject, cases, real, shape


@st.composite
def _factorised(draw, elements):
    """A shape with so many elements."""
    sizes, left = [], elements
    while left > 1:
        sizes.append(draw(st.sampled_from([n for n in range(2, left + 1) if left % n == 0])))
        left //= sizes[-1]
    for _ in range(draw(st.integers(0, 2))):
        sizes.insert(draw(st.integers(0, len(sizes))), 1)
    return tuple(sizes) or (1,)


def _view(draw):
    source = draw(st.one_of(shape(1, 4, 6), _factorised(draw(st.sampled_from([12, 24, 36, 64])))))
    size = list(draw(_factorised(prod(source))))
    if draw(st.booleans()):
        size[draw(st.integers(0, len(size) - 1))] = -1
    return [source], {"size": tuple(size)}, [real]


def _transpose(draw):
    size = draw(shape())
    places = st.integers(-len(size), len(size) - 1)
    return [size], {"dim0": draw(places), "dim1": draw(places)}, [real]


SUBJECTS = (
    Subject("view", cases(_view), lambda x, attrs: [x[0].reshape(attrs["size"])], rational=True),
    Subject(
        "transpose",
        cases(_transpose),
        lambda x, attrs: [torch.transpose(x[0], attrs["dim0"], attrs["dim1"])],
        rational=True,
    ),
)
MISFITS = (
    Misfit("view", ((2, 3),), {"size": (5,)}, "has 6 elements, which do not fit into size"),
    Misfit("view", ((2, 3),), {"size": (4, -1)}, "has 6 elements, which do not fit into size"),
    Misfit("view", ((2, 3),), {"size": (-1, -1)}, "at most one -1"),
    Misfit("view", ((2, 3),), {"size": (-2, -3)}, "must not be negative"),
    Misfit("view", ((2, 3),), {"size": (6.0,)}, "a tuple of integers"),
    Misfit("view", ((0, 3),), {"size": (0, -1)}, "does not say what -1 is"),
    Misfit("view", ((2, 3),), {"size": (0, 3)}, "which do not fit into size"),
    Misfit("view", ((2, 3),), {}, "size is None"),
    Misfit("transpose", ((2, 3),), {"dim0": 0}, "needs both dim0 and dim1"),
    Misfit("transpose", ((2, 3),), {"dim0": 0, "dim1": 2}, "no dimension 2 in a tensor of 2 dimensions"),
)
