"""Pairs that are proved between cut points, each beside a twin that is wrong at one place, which is not."""

import pytest

from tests.residue.test_between import between
from tests.values.outline import plans as outlined
from verdict.report import Verdict

GIVEN = """
  x input [6, 8]
  q buffer [8, 8]
  k buffer [8, 8]
  v buffer [8, 8]
  w weight [5, 8]
"""
LOSS = """
  h = linear(out, w)
  l = sum(h)
  seed dl
  dh = sum.grad(dl, h)
  -, dw = linear.grad(dh, out, w)
  loss l
  gradient dw of w
  output h
"""
ATTENTION = """
  a = linear(x, q)
  b = linear(x, k)
  c = linear(x, v)
  t = transpose(b) dim0=0 dim1=1
  s = matmul(a, t)
  p = softmax(s) dim=1
  out = matmul(p, c)
"""
GATED = """
  a = linear(x, q)
  b = linear(x, k)
  g = silu(a)
  m = mul(g, b)
  out = linear(m, v)
"""
FUSED_PROJECTIONS = """
  fused = concatenate(q, k, v) dim=0
  all = linear(x, fused)
  {} = split(all) sizes=(8, 8, 8) dim=1
  t = transpose(b) dim0=0 dim1=1
  s = matmul(a, t)
  p = softmax(s) dim=1
  out = matmul(p, c)
"""
FUSED_GATE = """
  fused = concatenate({}) dim=0
  all = linear(x, fused)
  one, two = split(all) sizes=(8, 8) dim=1
  g = silu(one)
  m = mul(g, two)
  out = linear(m, v)
"""
REDUCED = """
  columns = chunk(x) dim=1 ranks=tp
  own = linear(columns, q[:, tp])
  less = mul(own) other={}
  all = all_reduce(less) ranks=tp reduce="{}"
  a = div(all) other=-0.1
  b = linear(x, k)
  g = silu(a)
  m = mul(g, b)
  out = linear(m, v)
"""
OWN_ROWS = """
  a = linear(x, q)
  b = linear(x, k)
  c = linear(x, v)
  rows = chunk({}) dim=0 ranks=tp
  t = transpose(b) dim0=0 dim1=1
  z = matmul(rows, t)
  greatest = amax(z) dim=1 keepdim=True
  less = sub(z, greatest)
  e = exp(less)
  total = sum(e) dim=1 keepdim=True
  mixed = matmul(e, c)
  own = div(mixed, total)
  out = all_gather({}) dim=0 ranks=tp
"""


def verdict(single, lines):
    report = between(*outlined(GIVEN + single + LOSS, GIVEN + lines + LOSS, tp=2))
    return None if report is None else (report.verdict, report.swept.islands > 0)


@pytest.mark.parametrize(
    ("single", "form", "right", "wrong"),
    [
        pytest.param(ATTENTION, FUSED_PROJECTIONS, ("a, b, c",), ("b, a, c",), id="queries for keys"),
        pytest.param(GATED, FUSED_GATE, ("q, k",), ("k, q",), id="gate for up"),
        pytest.param(GATED, REDUCED, ("-0.1", "sum"), ("<-0.1 | -0.2>", "sum"), id="one rank's part counts twice"),
        pytest.param(GATED, REDUCED, ("-0.1", "sum"), ("-0.1", "avg"), id="the mean of the parts"),
        pytest.param(ATTENTION, OWN_ROWS, ("a", "own"), ("b", "own"), id="rows of the keys"),
        pytest.param(ATTENTION, OWN_ROWS, ("a", "own"), ("a", "mixed"), id="weights that do not add up to one"),
    ],
)
def test_a_wrong_twin_is_not_proved(single, form, right, wrong):
    assert verdict(single, form.format(*right)) == (Verdict.PROVED, True)
    assert verdict(single, form.format(*wrong)) is None
