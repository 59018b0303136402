"""Which quotients are read only where the divisor is not zero."""

import pytest

from verdict.ops.granted import Called
from verdict.ops.guarded import guarded


def calls(divides="aten.div.Tensor", compares="aten.eq.Scalar", other=0, chooses=None, more=()):
    """A quotient q of x and n, what n is compared with, and a choice that reads q."""
    divided = Called(divides, {}, ("x", "n") if "div" in divides else ("n",), ("q",), 0)
    chosen = chooses or Called("aten.masked_fill.Scalar", {"value": 0}, ("q", "m"), ("y",), 0)
    return (divided, Called(compares, {"other": other}, ("n",), ("m",), 0), chosen, *more)


def where(*inputs):
    return Called("aten.where.self", {}, inputs, ("y",), 0)


@pytest.mark.parametrize(
    "each",
    [
        calls(),
        calls("aten.reciprocal"),
        calls(compares="aten.le.Scalar"),
        calls(chooses=where("m", "z", "q")),
        calls(compares="aten.gt.Scalar", chooses=where("m", "q", "z")),
    ],
)
def test_what_is_masked_where_the_divisor_is_zero_is_guarded(each):
    assert guarded(each) == {0}


@pytest.mark.parametrize(
    "each",
    [
        calls("aten.rsqrt"),
        calls("aten.log"),
        calls(other=1),
        calls(compares="aten.ne.Scalar"),
        calls(compares="aten.lt.Scalar"),
        calls(chooses=where("m", "q", "z")),
        calls(chooses=where("q", "z", "x")),
        calls(chooses=Called("aten.masked_fill.Scalar", {"value": 0}, ("q", "k"), ("y",), 0)),
        calls(more=(Called("aten.relu", {}, ("q",), ("z",), 0),)),
    ],
)
def test_what_else_reads_it_or_is_no_number_beside_zero_is_not(each):
    assert guarded(each) == frozenset()
