"""What a comparison makes of what is no number: false, whichever comparison it is."""

import pytest

from tests.sweep.plans import swept, twins

PLAN = """plan single
  x input [4, 2]
  m input [4, 2]
  v input [4, 2]
  SPOILED
  c = aten.lt.Scalar(s) other=3
  y = aten.where.self(c, x, v)
  output y
plan parallel dp=2
  SPLIT
- c[dp, :] = aten.lt.Scalar(s) other=3
- y[dp, :] = aten.where.self(c, x[dp, :], v[dp, :])
+ c[dp, :] = aten.ge.Scalar(s) other=3
+ y[dp, :] = aten.where.self(c, v[dp, :], x[dp, :])
  output y
"""


def plans(spoiled, split):
    return twins(PLAN.replace("SPOILED", spoiled).replace("SPLIT", split))


@pytest.mark.parametrize(
    ("spoiled", "split"),
    [
        ("s = aten.sqrt(m)", "s[dp, :] = aten.sqrt(m[dp, :])"),
        ("s = aten.div.Tensor(x, m)", "s[dp, :] = aten.div.Tensor(x[dp, :], m[dp, :])"),
    ],
)
def test_the_opposite_comparison_is_another_one_of_what_may_be_no_number(spoiled, split):
    right, wrong = plans(spoiled, split)
    assert swept(*right) == "PROVED"
    assert swept(*wrong) != "PROVED"


def test_the_opposite_comparison_of_numbers_is_the_same():
    right, opposite = plans("s = aten.exp(m)", "s[dp, :] = aten.exp(m[dp, :])")
    assert swept(*right) == "PROVED"
    assert swept(*opposite) == "PROVED"
