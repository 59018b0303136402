"""A mean over the targets that count, by one operator and by hand: where it is a number, there are some."""

import pytest

from tests.values.outline import verdict

GIVEN = """
  range t -1 63
  o input [8, 64]
  t input int64 [8]
  b weight [64]
  x = aten.mul.Tensor(o, b)
"""
COUNTED = """
  p = aten._log_softmax(x) dim=1 half_to_float=False
  l, n = aten.nll_loss_forward(p, t) ignore_index=-1 reduction=1
  s = aten.ones_like(l)
  d = aten.nll_loss_backward(s, p, t, n) absent=("weight",) ignore_index=-1 reduction=1
  e = aten._log_softmax_backward_data(d, p) dim=1 input_dtype="float32"
"""
BY_HAND = """
  a activation bool [8]
  no activation bool [8]
  c activation int64 [8]
  u activation int64 [8, 1]
  count activation int64 []
  ls = aten.logsumexp(x) dim=(-1,)
  a = aten.ne.Scalar(t) other={ignored}
  no = aten.bitwise_not(a) dtype="bool"
  c = aten.masked_fill.Scalar(t, no) value=0
  u = aten.unsqueeze(c) dim=1
  w = aten.gather(x, u) dim=-1
  v = aten.select.int(w) dim=1 index=0
  left = aten.sub.Tensor(ls, v)
  q = aten.mul.Tensor(left, a)
  r = aten.sum(q)
  count = aten.sum({counted})
  l = aten.div.Tensor(r, count)
  s = aten.ones_like(l)
  f = aten.div.Tensor(s, count)
  g = aten.expand(f) size=(8,)
  h = aten.mul.Tensor(g, {kept})
  k = aten.neg(h)
  j = aten.unsqueeze(k) dim=1
  z = aten.zeros_like(x)
  put = aten.scatter_add(z, u, j) dim=-1
  lu = aten.unsqueeze(ls) dim=-1
  xl = aten.sub.Tensor(x, lu)
  ex = aten.exp(xl)
  hu = aten.unsqueeze(h) dim=-1
  he = aten.mul.Tensor(hu, ex)
  e = aten.add.Tensor(put, he)
"""
ENDS = """
  eo = aten.mul.Tensor(e, o)
  db = aten.sum.dim_IntList(eo) dim=(0,)
  loss l
  gradient db of b
"""


def by_hand(ignored=-1, counted="a", kept="a"):
    return GIVEN + BY_HAND.format(ignored=ignored, counted=counted, kept=kept) + ENDS


ONE = GIVEN + COUNTED + ENDS


@pytest.mark.parametrize("pair", [(ONE, by_hand()), (by_hand(), ONE), (by_hand(), by_hand())])
def test_a_mean_over_what_counts_is_the_same_by_hand(pair):
    assert verdict(*pair) == "PROVED"


@pytest.mark.parametrize("wrong", [by_hand(ignored=0), by_hand(counted="no"), by_hand(kept="no")])
def test_other_means_are_not(wrong):
    for pair in ((ONE, wrong), (wrong, ONE)):
        assert verdict(*pair) != "PROVED"



ROWS = """
  x2 input [3, 8]
  a2 activation bool [3, 8]
  n2 activation int64 [3]
  t2 activation int64 [3, 8]
  t2 = aten.expand(t) size=(3, 8)
  a2 = aten.ne.Scalar(t2) other={ignored}
  q2 = aten.mul.Tensor(x2, a2)
  r2 = aten.sum.dim_IntList(q2) dim=(1,)
  n2 = aten.sum.dim_IntList(a2) dim=(1,)
  u2 = aten.div.Tensor(r2, {first})
  v2 = aten.div.Tensor(u2, {second})
  s2 = aten.sum(v2)
  l2 = aten.add.Tensor(l, s2)
"""


def test_counts_of_rows_are_not_the_one_that_stands_alone():
    ends = ENDS.replace("loss l", "loss l2") + "  output v2\n"
    one = GIVEN + COUNTED + ROWS.format(ignored=-1, first="n", second="n2") + ends
    other = by_hand().removesuffix(ENDS) + ROWS.format(ignored=-1, first="count", second="count") + ends
    assert verdict(one, other) == "PROVED"
    assert verdict(one, other.replace("ne.Scalar(t2) other=-1", "ne.Scalar(t2) other=0")) != "PROVED"
