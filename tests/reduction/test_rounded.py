"""Rounded quotients of counts are zero at reduced shapes, and not at full ones: what is counted keeps its size."""

import pytest

from tests.values.outline import verdict

PLAN = """
  x input [40000, 300]
  w weight [300]
  m activation bool [40000, 300]
  c activation int64 [300]
  q activation int64 [300]
  f activation [300]
  y activation [300]
  {more}
  m = aten.gt.Scalar(x) other=0
  c = aten.sum.dim_IntList(m) dim=(0,) keepdim=False dtype="int64"
  {made}
  f = aten._to_copy(q) dtype="float32"
  y = mul(w, f)
  output y
"""
SCALED = """g activation [300]
  h activation [300]"""
MULTIPLE = """g = aten._to_copy(c) dtype="float32"
  h = aten.mul.Scalar(g) other=0.00003
  q = aten._to_copy(h) dtype="int64\""""
DIVIDED = "n activation int64 [300]"
QUOTIENT = """n = aten.full() size=(300,) fill_value=35000 dtype="int64"
  q = hlo.divide(c, n) rounding="trunc\""""
CASES = {
    "a count": ("", "q = aten.mul.Scalar(c) other=1"),
    "its multiple, rounded": (SCALED, MULTIPLE),
    "its quotient, rounded": (DIVIDED, QUOTIENT),
}


@pytest.mark.parametrize("name", CASES)
def test_counts_are_not_zero(name):
    more, made = CASES[name]
    text = PLAN.format(more=more, made=made)
    nothing = text.replace('f = aten._to_copy(q) dtype="float32"', "f = aten.zeros_like(w)")
    assert verdict(text, nothing) != "PROVED"
    assert verdict(text, text) == "PROVED"
