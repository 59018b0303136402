"""Causes that people make: done twice, cut in another order, left out, put behind a sum. Each with its right twin."""

import pytest

from tests.sweep.plans import swept, told, twins

SUMS = """plan single
  x input [4, 2]
  w buffer [2, 2]
  y = linear(x, w)
  s = sum(y) dim=0 keepdim=False
  e = mul(s, s)
  output e
"""
CASES = {
    "an accumulator that is reduced again": (
        SUMS + """plan parallel dp=2
  y_0 = linear(x[<0:1 | 1:2>, :], w)
  s_0 = sum(y_0) dim=0 keepdim=False
  y_1 = linear(x'2[<2:3 | 3:4>, :], w)
  s_1 = sum(y_1) dim=0 keepdim=False
  t_0 = all_reduce(s_0) ranks=dp reduce="sum"
- t_1 = all_reduce(s_1) ranks=dp reduce="sum"
- s = add(t_0, t_1)
+ more = add(t_0, s_1)
+ s = all_reduce(more) ranks=dp reduce="sum"
  e = mul(s, s)
  output e
""", "reduced-twice", "s"),
    "a summand that is there twice": (
        SUMS + """plan parallel dp=2
  y[dp, :] = linear(x[dp, :], w)
  part{dp} = sum(y) dim=0 keepdim=False
- s = all_reduce(part) ranks=dp reduce="sum"
+ again{dp} = sum(y) dim=0 keepdim=False
+ both = add(part, again)
+ s = all_reduce(both) ranks=dp reduce="sum"
  e = mul(s, s)
  output e
""", "reduced-twice", "both"),
    "a summand that does not belong there": (
        SUMS + """plan parallel dp=2
  y[dp, :] = linear(x[dp, :], w)
  part{dp} = sum(y) dim=0 keepdim=False
- s = all_reduce(part) ranks=dp reduce="sum"
+ w_sum = sum(w) dim=0 keepdim=False
+ more = add(part, w_sum)
+ s = all_reduce(more) ranks=dp reduce="sum"
  e = mul(s, s)
  output e
""", "wrong-input", "more"),
    "a mean of means of shares that weigh differently": (
        """plan single
  x input [4, 2]
  m input [4, 2]
  t = sum(x)
  n = sum(m)
  y = div(t, n)
  output y
plan parallel dp=2
  t{dp} = sum(x[dp, :])
  n_r{dp} = sum(m[dp, :])
- n = all_reduce(n_r) ranks=dp reduce="sum"
- y_r{dp} = div(t, n)
- y = all_reduce(y_r) ranks=dp reduce="sum"
+ y_r = div(t, n_r)
+ y = all_reduce(y_r) ranks=dp reduce="avg"
  output y
""", "missing-reduction", "n_r"),
    "one piece where a piece of each block is due": (
        """plan single
  x input [3, 2]
  w buffer [8, 2]
  f = linear(x, w)
  a, b = split(f) dim=-1 sizes=(4, 4)
  y = mul(a, b)
  output y
plan parallel tp=2
- rows = concatenate(w[<0:2 | 2:4>, :], w'2[<4:6 | 6:8>, :]) dim=0
+ rows = identity(w[tp, :])
  g = linear(x, rows)
  a[:, tp], b[:, tp] = split(g) dim=-1 sizes=(2, 2)
  y[:, tp] = mul(a, b)
  output y
""", "wrong-slice", "rows"),
    "an operator that is left out": (
        """plan single
  x input [4, 2]
  w buffer [2, 2]
  h = linear(x, w)
  a = silu(h)
  y = mul(a, a)
  output y
plan parallel dp=2
  h[dp, :] = linear(x[dp, :], w)
- a[dp, :] = silu(h)
+ a[dp, :] = identity(h)
  y[dp, :] = mul(a, a)
  output y
""", "wrong-input", "a"),
    "an operator behind the sum": (
        """plan single
  x input [4, 2]
  y = sum(x) dim=0 keepdim=False
  e = mul(y, y)
  output e
plan parallel dp=2
  part{dp} = sum(x[<0:1 | 1:4>, :]) dim=0 keepdim=False
  own{dp} = div(part) other=<1 | 3>
- back{dp} = mul(own) other=<1 | 3>
- y = all_reduce(back) ranks=dp reduce="sum"
+ all = all_reduce(own) ranks=dp reduce="sum"
+ y = mul(all) other=<1 | 3>
  e = mul(y, y)
  output e
""", "early-reduction", "y"),
    "pieces that are gathered along another axis": (
        """plan single
  x input [4, 2]
  v input [4, 2]
  xt = transpose(x) dim0=0 dim1=1
  y = matmul(xt, v)
  output y
plan parallel tp=2
  xt[:, tp] = transpose(x[tp, :]) dim0=0 dim1=1
- all = all_gather(xt) ranks=tp dim=1
+ buffer = all_gather(xt) ranks=tp dim=0
+ all = view(buffer) size=(2, 4)
  y[:, tp] = matmul(all, v[:, tp])
  output y
""", "wrong-order", "buffer"),
    "a part that is read though its sum is there": (
        SUMS + """plan parallel dp=2
  y[dp, :] = linear(x[dp, :], w)
  part{dp} = sum(y) dim=0 keepdim=False
  s = all_reduce(part) ranks=dp reduce="sum"
- e = mul(s, s)
+ e = mul(s, part)
  output e
""", "missing-reduction", "e"),
    "parts of different sums": (
        """plan single
  x input [4, 2]
  u buffer [4, 2]
  v buffer [2, 4]
  h = linear(x, u)
  a = silu(h)
  y = linear(a, v)
  z = mul(y, y)
  output z
plan parallel tp=2
- h[tp, :] = linear(x[tp, :], u)
- a[tp, :] = silu(h)
- y[tp, :] = linear(a, v)
+ h[tp, tp] = linear(x[tp, :], u[tp, :])
+ a[tp, tp] = silu(h)
+ y'2[tp, :]{tp} = linear(a, v[:, tp])
+ y[tp, :] = all_reduce(y'2) ranks=tp reduce="sum"
  z[tp, :] = mul(y, y)
  output z
""", "wrong-collective", "y"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_first_finding_is_the_cause(name):
    text, code, place = CASES[name]
    good, bad = twins(text)
    assert swept(*good) == "PROVED"
    (finding,) = told(*bad)
    assert (finding.code, finding.where.split()[0]) == (code, place)


def test_the_first_of_two_reductions_is_named_where_it_makes_a_value_of_the_single_device_plan():
    good, bad = twins("""plan single
  x input [2, 4]
  w buffer [2, 4]
  v buffer [2, 4]
  p = linear(x, w)
  q = linear(x, v)
  y = add(p, q)
  output y
plan parallel tp=2
  p{tp} = linear(x[:, tp], w[:, tp])
- p'2{tp} = identity(p)
+ p'2 = all_reduce(p) ranks=tp reduce="sum"
  q{tp} = linear(x[:, tp], v[:, tp])
  part = add(p'2, q)
  y = all_reduce(part) ranks=tp reduce="sum"
  output y
""")
    assert swept(*good) == "PROVED"
    (finding,) = told(*bad)
    assert (finding.code, finding.where.split()[0]) == ("reduced-twice", "p")


def test_rows_turned_by_the_angles_of_other_positions_are_found():
    """Complex numbers are two to an element, of which the operator's rule does not speak."""
    good, bad = twins("""plan single
  x input [1, 4, 2, 2]
  w buffer [2, 2]
  f buffer complex64 [4, 1]
  q = linear(x, w)
  a, b = apply_rotary_emb(q, q, f)
  c = mul(a, b)
  y = mul(c, c)
  output y
plan parallel cp=2
  q[:, cp, :, :] = linear(x[:, cp, :, :], w)
- a[:, cp, :, :], b[:, cp, :, :] = apply_rotary_emb(q, q, f[cp, :])
+ a[:, cp, :, :], b[:, cp, :, :] = apply_rotary_emb(q, q, f[<2:4 | 0:2>, :])
  c[:, cp, :, :] = mul(a, b)
  y[:, cp, :, :] = mul(c, c)
  output y
""")
    assert swept(*good) == "PROVED"
    (finding,) = told(*bad)
    assert (finding.code, finding.where) == ("not-equivalent", "a on rank 0")
