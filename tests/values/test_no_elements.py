"""Tensors without elements: an equality over none of them is true, and all that has elements must still be right."""

import pytest

from tests.values.outline import report, verdict

LINE = """
  x input [3]
  w weight [3]
  y = mul(x, w)
  loss = sum(y) dim=None keepdim=False
  dy = sum.grad(one, y) dim=None keepdim=False
  -, gw = mul.grad(dy, x, w)
  seed one
  loss loss
  gradient gw of w
"""
ALL_ON_ONE = """
  y[<0:3 | 3:3>] = mul(x[<0:3 | 3:3>], w[<0:3 | 3:3>])
  part = sum(y) dim=None keepdim=False
  loss = {loss}
  dy[<0:3 | 3:3>] = sum.grad(one, y) dim=None keepdim=False
  -, gw[<0:3 | 3:3>] = mul.grad(dy, x, w)
  seed one
  loss loss
  gradient gw of w
"""


def test_a_rank_that_holds_nothing_takes_part():
    right = ALL_ON_ONE.format(loss='all_reduce(part) ranks=tp reduce="sum"')
    assert verdict(LINE, right, tp=2) == "PROVED"
    assert verdict(LINE, ALL_ON_ONE.format(loss="identity(part)"), tp=2) == "REFUTED"


JOINED = """
  x input [4]
  w weight [4]
  y = mul(x, w)
  e = narrow(y) dim=0 start=4 length=0
  c = concatenate(e, y) dim=0
  loss = sum(c) dim=None keepdim=False
  dc = sum.grad(one, c) dim=None keepdim=False
  de, dy = concatenate.grad(dc, e, y) dim=0
  -, gw = mul.grad(dy, x, w)
  seed one
  loss loss
  gradient gw of w
"""


def test_nothing_may_be_joined_and_left_out():
    assert verdict(JOINED, JOINED) == "PROVED"
    plain = LINE.replace("3", "4")
    assert verdict(JOINED, plain) == "PROVED"
    twice = plain.replace("loss = sum(y)", "y2 = mul(y) other=2\n  loss = sum(y2)")
    assert verdict(JOINED, twice) == "REFUTED"


EMPTY_BATCH = """
  x input [0, 4]
  w weight [3, 4]
  y = linear(x, w)
  l = {reduce}(y) dim=None keepdim=False
  q = pow(w) exponent=2
  r = sum(q) dim=None keepdim=False
  loss = add(l, r)
  dr = sum.grad(one, q) dim=None keepdim=False
  g2 = pow.grad(dr, w) exponent=2
  dl = {reduce}.grad(one, y) dim=None keepdim=False
  -, g1 = linear.grad(dl, x, w)
  gw = {join}(g1, g2)
  seed one
  loss loss
  gradient gw of w
"""


@pytest.mark.parametrize(("join", "expected"), [("add", "PROVED"), ("sub", "REFUTED")])
def test_an_empty_batch_adds_nothing(join, expected):
    single = EMPTY_BATCH.format(reduce="sum", join="add")
    assert verdict(single, EMPTY_BATCH.format(reduce="sum", join=join)) == expected


def test_the_mean_of_nothing_has_no_value():
    plan = EMPTY_BATCH.format(reduce="mean", join="add")
    found = report(plan, plan)
    assert found.verdict.name == "UNKNOWN"
    assert found.open
