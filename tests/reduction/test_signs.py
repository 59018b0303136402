"""Sums of what is never negative have one sign, however long they are: a logarithm of them does not keep the axes."""

import pytest

from tests.values.outline import plans
from verdict.reduction import shrink
from verdict.semantics import bind

SUMS = """
  x input [4, 4096]
  y input [4, 4096]
  a = {}(x)
  b = {}(y)
  s = sum(a) dim=(1,) keepdim=True
  t = sum(b) dim=(1,) keepdim=True
  u = add(s, t)
  l = log(u)
  z = sum(l)
  loss z"""


@pytest.mark.parametrize(
    ("first", "second", "kept"), [("sigmoid", "sigmoid", False), ("sigmoid", "tanh", True), ("tanh", "tanh", True)]
)
def test_the_axis_of_a_sum_beside_another_one(first, second, kept):
    single, parallel = plans(*[SUMS.format(first, second)] * 2)
    small = shrink(single, parallel, bind(single, parallel)).small[0]
    assert (small.logicals[0][1] == 4096) is kept
