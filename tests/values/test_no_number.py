"""What is no number is in no order: comparisons of it are false on numbers, too. What vanishes when multiplied out."""

import pytest

from tests.values.outline import verdict

COMPARED = """
  x input float64 [3]
  y input float64 [3]
  a activation float64 [3]
  b activation bool [3]
  r activation float64 [3]
  a = {function}(x)
  b = {comparison}
  r = aten._to_copy(b) dtype="float64"
  output r
"""


def pair(function, one, other):
    return verdict(*(COMPARED.format(function=function, comparison=text) for text in (one, other)))


@pytest.mark.parametrize(
    ("function", "one", "other"),
    [
        ("aten.log", "aten.lt.Tensor(a, x)", "aten.le.Tensor(a, x)"),
        ("aten.log", "aten.gt.Tensor(x, a)", "aten.ge.Tensor(x, a)"),
        ("aten.log", "hlo.compare(a, x) direction=\"LT\"", "hlo.compare(a, x) direction=\"LE\""),
        ("aten.sqrt", "aten.ge.Scalar(a) other=0", "aten.ge.Scalar(x) other=0"),
    ],
)  # fmt: skip
def test_comparisons_that_only_numbers_tell_apart_are_not_refuted(function, one, other):
    """log(x) < x wherever log(x) is a number, and at no other place is either comparison true."""
    assert pair(function, one, other) != "REFUTED"
    assert pair(function, other, one) != "REFUTED"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("aten.le.Tensor(a, y)", "aten.gt.Tensor(a, y)"),
        ("aten.ge.Tensor(a, y)", "aten.le.Tensor(a, y)"),
        ("aten.le.Scalar(a) other=0", "aten.eq.Tensor(a, y)"),
    ],
)
def test_comparisons_that_differ_are_refuted(one, other):
    assert pair("aten.neg", one, other) == "REFUTED"


def test_one_comparison_is_proved_equal_to_itself():
    assert pair("aten.log", "aten.le.Tensor(a, x)", "aten.le.Tensor(a, x)") == "PROVED"


SOFTMAX = """
  x input float64 [1, 2]
  z input float64 [1, 2]
  q activation float64 [1, 2]
  s activation float64 [1, 2]
  g activation float64 [1, 2]
  d activation float64 [1, 2]
  q = aten.mul.Tensor(x, x)
"""
DIRECT = SOFTMAX + """
  s = aten._softmax(q) dim=-1 half_to_float=False
  g = aten._softmax_backward_data(z, s) dim=-1 input_dtype="float64"
  d = aten.mul.Tensor(g, q)
  output d
"""
SHIFTED = SOFTMAX + """
  m activation float64 [1, 1]
  c activation float64 [1, 2]
  t activation float64 [1, 1]
  e activation bool [1, 2]
  n activation int64 [1, 1]
  u activation float64 [1, 1]
  v activation float64 [1, 2]
  w activation float64 [1, 2]
  m = aten.amax(q) dim=(-1,) keepdim=True
  c = aten.sub.Tensor(q, m)
  s = aten._softmax(c) dim=-1 half_to_float=False
  g = aten._softmax_backward_data(z, s) dim=-1 input_dtype="float64"
  t = aten.sum.dim_IntList(g) dim=(1,) keepdim=True
  e = aten.eq.Tensor(m, q)
  n = aten.sum.dim_IntList(e) dim=(-1,) keepdim=True
  u = aten.div.Tensor(t, n)
  v = aten.mul.Tensor(u, e)
  w = aten.{last}.Tensor(g, v)
  d = aten.mul.Tensor(w, q)
  output d
"""


@pytest.mark.parametrize("last", ["add", "sub"])
def test_the_gradient_through_a_maximum_that_cancels_ends_in_a_verdict(last):
    """What goes back through the maximum adds up to zero, seen when sums of exponentials are multiplied out."""
    assert verdict(DIRECT, SHIFTED.format(last=last)) in {"PROVED", "UNKNOWN"}
