"""A softmax of a row that is masked as a whole is no number: what is told of numbers does not hold of it."""

import pytest

from tests.values.outline import verdict

PLAN = """
  x input [2, 4]
  y input [2, 4]
  m input int64 [2, 4]
  {mask}
  z = aten.masked_fill.Scalar(x, e) value=-inf
  {made}
  {read}
  output out
"""
DATA = "e = aten.eq.Scalar(m) other=1"
MASKS = {
    "data": DATA,
    "a row": 'k = constant() shape=(2, 4) values=(1, 1, 1, 1, 0, 1, 0, 0)\n  e = aten.eq.Scalar(k) other=1',
}
SOME = 'k = constant() shape=(2, 4) values=(0, 1, 1, 1, 0, 1, 0, 0)\n  e = aten.eq.Scalar(k) other=1'
SUMS = {
    "softmax": "p = aten._softmax(z) dim=-1 half_to_float=False",
    "exponentials": "u = aten.exp(z)\n  s = aten.sum.dim_IntList(u) dim=(-1,) keepdim=True\n  p = div(u, s)",
}
ABOVE = "c = aten.gt.Scalar(p) other=0.5\n  out = aten.where.self(c, x, y)"
BELOW = "c = aten.le.Scalar(p) other=0.5\n  out = aten.where.self(c, y, x)"


def plans(mask, made):
    return (PLAN.format(mask=mask, made=made, read=read) for read in (ABOVE, BELOW))


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("made", SUMS)
def test_not_below_is_not_above_where_a_row_is_masked(made, mask):
    one, other = plans(MASKS[mask], SUMS[made])
    assert verdict(one, other) != "PROVED"
    assert verdict(other, one) != "PROVED"


@pytest.mark.parametrize("mask", [*MASKS.values(), SOME])
@pytest.mark.parametrize("made", SUMS)
def test_the_same_is_proved(made, mask):
    for text in plans(mask, SUMS[made]):
        assert verdict(text, text) == "PROVED"


def test_not_below_is_above_where_each_row_has_an_element_that_is_not_masked():
    one, other = plans(SOME, SUMS["softmax"])
    assert verdict(one, other) == "PROVED"
