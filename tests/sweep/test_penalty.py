"""A penalty of the weights that every rank adds to its part of the loss: one cause, forward and backward."""

import pytest

from tests.sweep.plans import swept, told
from tests.values.outline import plans, report

SINGLE = """
  x input [4, 2]
  w weight [1, 2]
  h = linear(x, w)
  y = sum(h)
  s = pow(w) exponent=2
  p = sum(s)
  loss = add(y, p)
  dh = sum.grad(one, h)
  -, g = linear.grad(dh, x, w)
  ds = sum.grad(one, s)
  q = pow.grad(ds, w) exponent=2
  dw = add(g, q)
  seed one
  loss loss
  gradient dw of w
"""
PARALLEL = """
  h[dp, :] = linear(x[dp, :], w)
  y{{dp}} = sum(h)
  s = pow(w) exponent=2
  p = sum(s)
  {share}
  loss{{dp}} = add(y, {own})
  dh[dp, :] = sum.grad(one, h)
  -, g{{dp}} = linear.grad(dh, x, w)
  ds = sum.grad(one, s)
  q = pow.grad(ds, w) exponent=2
  {grad_share}
  both{{dp}} = add(g, {own_grad})
  both activation [1, 2]
  dw = all_reduce(both) ranks=dp reduce="sum"
  seed one
  loss loss
  gradient dw of w
"""
RIGHT = PARALLEL.format(
    share="p'2{dp} = div(p) other=2", own="p'2", grad_share="q'2{dp} = div(q) other=2", own_grad="q'2"
)
WRONG = PARALLEL.format(share="", own="p", grad_share="", own_grad="q")


def test_the_right_twin():
    assert swept(*plans(SINGLE, RIGHT, dp=2)) == "PROVED"


def test_it_is_counted_often():
    found = told(*plans(SINGLE, WRONG, dp=2))
    assert [finding.code for finding in found] == ["reduced-twice"]


@pytest.mark.parametrize(("parallel", "verdict"), [(RIGHT, "PROVED"), (WRONG, "REFUTED")])
def test_the_whole_way_with_repairs(parallel, verdict):
    assert report(SINGLE, parallel, dp=2).verdict.name == verdict
