"""Means over targets that are counted: how many there are is a number where a range says that none is ignored."""

import pytest

from tests.values.outline import verdict

SINGLE = """
{stated}
  x input [16, 16]
  t input int64 [16]
  g input [1]
  s = view(g) size=()
  l, w = aten.nll_loss_forward(x, t) ignore_index=-100 reduction=1
  d = aten.nll_loss_backward(s, x, t, w) absent=("weight",) ignore_index=-100 reduction=1
  output d
"""
HALVES = """
  s = view(g) size=()
  x1 = aten.slice.Tensor(x) dim=0 start=0 end=8
  t1 = aten.slice.Tensor(t) dim=0 start=0 end=8
  l1, w1 = aten.nll_loss_forward(x1, t1) ignore_index=-100 reduction=1
  d1 = aten.nll_loss_backward(s, x1, t1, w1) absent=("weight",) ignore_index=-100 reduction=1
  h1 = div(d1) other={by}
  x2 = aten.slice.Tensor(x) dim=0 start=8 end=16
  t2 = aten.slice.Tensor(t) dim=0 start=8 end=16
  l2, w2 = aten.nll_loss_forward(x2, t2) ignore_index=-100 reduction=1
  d2 = aten.nll_loss_backward(s, x2, t2, w2) absent=("weight",) ignore_index=-100 reduction=1
  h2 = div(d2) other={by}
  d = aten.cat(h1, h2) dim=0
  output d
"""


@pytest.mark.parametrize(
    ("stated", "by", "expected"),
    [
        ("  range t 0 15", 2.0, "PROVED"),
        ("  range t 0 15", 4.0, "REFUTED"),
        ("  range t -100 15", 2.0, "REFUTED"),
        ("", 2.0, "UNKNOWN"),
    ],
)
def test_the_mean_of_two_means_is_the_mean_where_none_is_ignored(stated, by, expected):
    assert verdict(SINGLE.format(stated=stated), HALVES.format(by=by)) == expected
