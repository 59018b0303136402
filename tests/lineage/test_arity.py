"""An operator on a tensor and on a number in its place: other numbers of inputs, which are no partners."""

import pytest

from tests.builders import answer, ask
from tests.sweep.plans import twins

PAIR = """plan single
  x input [4, 4]
  c input [4, 4]
  z = add(c, x)
  y = {one}
  output y
  output z
plan parallel tp=2
  z = add(c, x)
- y = {one}
+ y = {other}
  output y
  output z
"""
TENSOR, NUMBER = "div(x, c)", "div(x) other=2.0"


@pytest.mark.parametrize(("one", "other"), [(TENSOR, NUMBER), (NUMBER, TENSOR)])
def test_a_number_for_a_tensor_is_another_value(one, other):
    right, wrong = twins(PAIR.format(one=one, other=other))
    assert ask(*right).verdict.name == "PROVED"
    assert answer(*wrong) == "REFUTED"
