"""What operators make of all numbers between bounds is between the bounds that are said of it."""

from itertools import product

import numpy as np
import pytest

from verdict.ops.between import between

X = (np.array([-1.0, 0.0, 2.0, -2.0]), np.array([1.0, 2.0, 2.0, -1.0]))
Y = (np.array([0.0, 3.0, 2.0, 1.0]), np.array([0.0, 3.0, 2.0, 1.0]))
MASK = (np.array([1.0, 0.0, 0.0, 1.0]),) * 2
OPEN = (np.zeros(4), np.ones(4))
CASES = {
    "ne": ("aten.ne.Scalar", {"other": -2}, [X]),
    "eq": ("aten.eq.Scalar", {"other": 2}, [X]),
    "ne of two": ("aten.ne.Tensor", {}, [X, Y]),
    "ge": ("aten.ge.Scalar", {"other": 1}, [X]),
    "lt": ("aten.lt.Scalar", {"other": 1}, [X]),
    "gt of two": ("aten.gt.Tensor", {}, [X, Y]),
    "sum": ("aten.sum", {}, [X]),
    "add": ("aten.add.Tensor", {}, [X, Y]),
    "masked_fill": ("aten.masked_fill.Scalar", {"value": -3}, [X, MASK]),
    "where": ("aten.where.self", {}, [MASK, X, Y]),
    "cat": ("aten.cat", {"tensors_count": 2}, [X, Y]),
    "slice": ("aten.slice.Tensor", {"start": 1, "end": 3}, [X]),
    "full": ("aten.full", {"size": (4,), "fill_value": 7}, []),
}


def every(bounds):
    """All tensors of whole numbers between bounds."""
    low, high = bounds
    return map(np.array, product(*(range(int(a), int(b) + 1) for a, b in zip(low, high, strict=True))))


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_bounds_are_those_of_all_numbers_between(case):
    op, attrs, given = case
    low, high = between(op, attrs, [one for one, _ in given], [one for _, one in given])
    made = [between(op, attrs, inputs, inputs)[0].astype(float) for inputs in product(*map(every, given))]
    assert (np.min(made, axis=0) == low).all()
    assert (np.max(made, axis=0) == high).all()


@pytest.mark.parametrize(
    ("op", "attrs", "given"),
    [
        ("aten.masked_fill.Scalar", {"value": -3}, [X, OPEN]),
        ("aten.where.self", {}, [OPEN, X, Y]),
        ("aten.gt.Tensor", {}, [X, X]),
        ("aten.add.Tensor", {"alpha": -1}, [X, X]),
        ("aten._to_copy", {"dtype": "bool"}, [X]),
        ("aten.mul.Tensor", {}, [X, Y]),
        ("aten.neg", {}, [X]),
        ("aten.empty.memory_format", {"size": (4,)}, []),
    ],
)
def test_what_neither_rises_nor_is_known_has_none(op, attrs, given):
    assert between(op, attrs, [one for one, _ in given], [one for _, one in given]) is None
