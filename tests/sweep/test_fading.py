"""A mask of -1e30 is one of minus infinity in floats, and is not over the real numbers: it is said at once."""

from functools import cache

import pytest

from tests.values.outline import report

ROW = """
  x input [3, 12]
  z input [3, 12]
  m activation bool [3, 12]
  g activation [3, 12]
  s activation [3, 12]
  e activation [3, 12]
  t activation [3, 1]
  y activation [3, 12]
  m = aten.gt.Scalar(z) other=0.0
  {mask}
  {steps}
  output y
"""
AT_ONCE = "y = aten._softmax(s) dim=1 half_to_float=False"
BY_HAND = "e = aten.exp(s)\n  t = aten.sum.dim_IntList(e) dim=(1,) keepdim=True\n  y = aten.div.Tensor(e, t)"
GREAT = (-1e30, -3.4028234663852886e38, -1e4)
MASKS = {
    "filled": "s = aten.masked_fill.Scalar(x, m) value={}",
    "chosen": "s = aten.where.ScalarOther(m, x) other={}",
}


@cache
def told(mask, one, other, steps=AT_ONCE, others=AT_ONCE):
    single, parallel = (MASKS[mask].format(value) for value in (one, other))
    return report(ROW.format(mask=single, steps=steps), ROW.format(mask=parallel, steps=others))


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("great", GREAT)
def test_a_great_number_is_not_minus_infinity_and_nothing_is_looked_for(mask, great):
    found = told(mask, -1e5, great) if great == -1e4 else told(mask, "-inf", great)
    assert found.verdict.name == "UNKNOWN"
    assert any(f"writes {great:g} here" in each.reason for each in found.open), found.open
    assert found.swept is None or not found.swept.distinct


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("great", GREAT)
def test_one_number_on_both_sides_is_proved(mask, great):
    assert told(mask, great, great, AT_ONCE, BY_HAND).verdict.name == "PROVED"


@pytest.mark.parametrize("mask", MASKS)
def test_a_number_that_floats_tell_apart_is_refuted(mask):
    assert told(mask, -1e30, -3.0).verdict.name == "REFUTED"


def test_numbers_that_are_written_over_are_proved():
    steps = "g = aten.masked_fill.Scalar(x, m) value={}\n  y = aten.masked_fill.Scalar(g, m) value=0.0"
    one, other = (ROW.format(mask="s = aten.neg(x)", steps=steps.format(value)) for value in (-1e30, -1e4))
    assert report(one, other).verdict.name == "PROVED"


def test_what_is_compared_with_the_number_is_left_to_proofs():
    """Places are asked for again by how little stands there: the same of any great number that is."""
    steps = "e = aten.tanh(x)\n  g = aten.masked_fill.Scalar(e, m) value={}\n  k = aten.lt.Scalar(g) other=-10.0\n"
    steps += "  y = aten.masked_fill.Scalar(x, k) value=0.0"
    plain = "y = aten.masked_fill.Scalar(x, m) value=0.0"
    rows = ROW.replace("  y activation", "  k activation bool [3, 12]\n  y activation")
    one = rows.format(mask="s = aten.neg(x)", steps=plain)
    other = rows.format(mask="s = aten.neg(x)", steps=steps.format(-1e9))
    found = report(one, other)
    assert found.verdict.name == "PROVED" or all("writes" not in each.reason for each in found.open)
