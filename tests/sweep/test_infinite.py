"""Rows that a mask makes minus infinity are no real numbers: a proof about them takes the same operators.

In a row that is masked as a whole softmax is no number, `_safe_softmax` is zero, and exp(x - y) exp(y) is not exp(x).
"""

import pytest

from tests.values.outline import verdict

ROW = """
  x input [3, 12]
  z input [3, 12]
  m activation bool [3, 12]
  s activation [3, 12]
  a activation [3, 12]
  b activation [3, 12]
  o activation [3, 12]
  c activation [3, 12]
  o2 activation [3, 12]
  p2 activation [3, 12]
  t activation [3, 1]
  e activation [3, 1]
  y activation [3, 12]
  m = aten.gt.Scalar(z) other=0.0
  {mask}
  {steps}
  output y
"""
MASKS = {
    "filled": "s = aten.masked_fill.Scalar(x, m) value=-inf",
    "chosen": "s = aten.where.ScalarOther(m, x) other=-inf",
    "added": "o = aten.zeros_like(x)\n  c = aten.masked_fill.Scalar(o, m) value=-inf\n  s = aten.add.Tensor(x, c)",
}
STEPS = {
    "softmax": "y = aten._softmax(s) dim=1 half_to_float=False",
    "safe": "y = aten._safe_softmax(s) dim=1",
    "logsumexp": "t = aten.logsumexp(s) dim=(1,) keepdim=True\n  a = aten.sub.Tensor(s, t)\n  y = aten.exp(a)",
    "exp": "y = aten.exp(s)",
    "shifted": "t = aten.amax(s) dim=(1,) keepdim=True\n  a = aten.sub.Tensor(s, t)\n  b = aten.exp(a)\n"
    "  e = aten.exp(t)\n  y = aten.mul.Tensor(b, e)",
    "negated": "a = aten.neg(s)\n  b = aten.exp(a)\n  o2 = aten.sub.Tensor(b, b)\n  p2 = aten.exp(s)\n"
    "  y = aten.add.Tensor(p2, o2)",
    "nothing added": "a = aten.sub.Tensor(s, s)\n  b = aten.exp(s)\n  y = aten.add.Tensor(a, b)",
}
APART = [("safe", "softmax"), ("safe", "logsumexp"), ("exp", "shifted"), ("exp", "nothing added"), ("exp", "negated")]


def row(mask, steps):
    return ROW.format(mask=MASKS[mask], steps=STEPS[steps])


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize(("one", "other"), APART)
def test_what_is_equal_for_real_numbers_alone_is_not_proved(mask, one, other):
    assert verdict(row(mask, one), row(mask, other)) != "PROVED"


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("steps", [name for name in STEPS if name not in ("nothing added", "negated")])
def test_right_twins_are_proved(mask, steps):
    assert verdict(row(mask, steps), row(mask, steps)) == "PROVED"


@pytest.mark.parametrize(("one", "other"), APART)
def test_without_a_mask_they_are_equal(one, other):
    texts = [row("filled", steps).replace(MASKS["filled"], "s = aten.neg(x)") for steps in (one, other)]
    assert verdict(*texts) == "PROVED"


KNOWN = """k activation bool [3, 12]
  o = aten.ones() size=(3, 12)
  c = aten.triu(o) diagonal=1
  k = aten.gt.Scalar(c) other=0.5
  s = aten.masked_fill.Scalar(x, k) value=-inf"""


@pytest.mark.parametrize(("one", "other"), APART[:3])
def test_rows_that_are_masked_at_known_places_are_real_numbers(one, other):
    assert verdict(*(ROW.format(mask=KNOWN, steps=STEPS[steps]) for steps in (one, other))) == "PROVED"


TURNED = """
  x input [3, 12]
  z input [3, 12]
  m activation bool [3, 12]
  xt activation [3, 12]
  mt activation bool [3, 12]
  {declared}
  m = aten.gt.Scalar(z) other=0.0
  xt = aten.flip(x) dims=(1,)
  mt = aten.flip(m) dims=(1,)
  s = aten.masked_fill.Scalar(xt, {mask}) value=-inf
  {steps}
  y = aten.flip(u) dims=(1,)
  output y
"""
DECLARED = "\n  ".join(line for line in ROW.splitlines() if "activation" in line and "bool" not in line)


def turned(mask, steps):
    """The same of a row in the opposite order, which is turned back in the end."""
    declared = DECLARED + "\n  u activation [3, 12]"
    return TURNED.format(mask=mask, steps=STEPS[steps].replace("y =", "u ="), declared=declared)


@pytest.mark.parametrize("steps", ["softmax", "safe", "logsumexp", "shifted"])
def test_a_row_may_be_read_in_another_order(steps):
    assert verdict(row("filled", steps), turned("mt", steps)) == "PROVED"
    assert verdict(row("filled", steps), turned("m", steps)) == "REFUTED"
