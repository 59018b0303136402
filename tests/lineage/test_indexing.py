"""Regions to boxes of index axes and back, against numpy's own idea of the elements."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verdict.lineage import join, join_region, split, split_region

SIZES = st.lists(st.integers(1, 5), min_size=0, max_size=3)


def named(sizes):
    names = tuple(f"a{k}" for k in range(len(sizes)))
    return names, dict(zip(names, sizes, strict=True))


@st.composite
def boxes(draw):
    """A dimension of some atoms, and an interval of each of them."""
    dim, sizes = named(draw(SIZES))
    bounds = {}
    for name in dim:
        start = draw(st.integers(0, sizes[name] - 1))
        bounds[name] = (start, draw(st.integers(start + 1, sizes[name])))
    return dim, sizes, bounds


def elements(dim, sizes, bounds):
    """The positions within the dimension that the box holds."""
    numbers = np.arange(int(np.prod([sizes[name] for name in dim], dtype=int))).reshape([sizes[n] for n in dim])
    return sorted(int(k) for k in numbers[tuple(slice(*bounds[name]) for name in dim)].reshape(-1))


@given(boxes())
def test_join_names_the_elements_of_the_box_or_says_that_it_is_strided(box):
    dim, sizes, bounds = box
    found = elements(dim, sizes, bounds)
    contiguous = found == list(range(found[0], found[0] + len(found)))
    interval = join(dim, bounds, sizes)
    assert (interval is not None) == contiguous
    if interval is not None:
        assert list(range(*interval)) == found


@given(boxes())
def test_split_undoes_join(box):
    dim, sizes, bounds = box
    interval = join(dim, bounds, sizes)
    if interval is None:
        return
    found = split(dim, interval, sizes)
    assert found is not None
    assert elements(dim, sizes, found) == elements(dim, sizes, bounds)


@given(SIZES, st.data())
def test_split_gives_exactly_the_elements_of_the_interval_or_nothing(sizes, data):
    dim, sizes = named(sizes)
    size = int(np.prod(list(sizes.values()), dtype=int))
    start = data.draw(st.integers(0, size - 1))
    stop = data.draw(st.integers(start + 1, size))
    bounds = split(dim, (start, stop), sizes)
    if bounds is not None:
        assert elements(dim, sizes, bounds) == list(range(start, stop))
        assert join(dim, bounds, sizes) == (start, stop)


@pytest.mark.parametrize(
    ("interval", "bounds"),
    [
        ((0, 12), {"h": (0, 3), "d": (0, 4)}),
        ((4, 8), {"h": (1, 2), "d": (0, 4)}),
        ((5, 7), {"h": (1, 2), "d": (1, 3)}),
        ((2, 6), None),
        ((4, 10), None),
    ],
)
def test_heads_and_their_width(interval, bounds):
    sizes = {"h": 3, "d": 4}
    assert split(("h", "d"), interval, sizes) == bounds


def test_a_strided_box_has_no_region():
    sizes = {"b": 2, "s": 4}
    assert join(("b", "s"), {"b": (0, 2), "s": (0, 2)}, sizes) is None
    assert join(("b", "s"), {"b": (1, 2), "s": (0, 2)}, sizes) == (4, 6)
    assert join_region((("b", "s"), ()), {"b": (0, 2), "s": (0, 2)}, sizes) is None
    assert join_region((("s",), ()), {"b": (0, 2), "s": (0, 2)}, sizes) == ((0, 2), (0, 1))


def test_two_dimensions_of_one_atom_must_agree():
    sizes = {"s": 4}
    assert split_region((("s",), ("s",)), ((0, 2), (0, 2)), sizes) == {"s": (0, 2)}
    assert split_region((("s",), ("s",)), ((0, 2), (2, 4)), sizes) is None
