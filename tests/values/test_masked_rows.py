"""A softmax of a row that is masked as a whole is no number: what is told of numbers does not hold of it."""

import pytest

from tests.values.outline import plans, verdict
from verdict.lineage.poles import doubtful, signs_of
from verdict.lineage.reference import reference

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


def choices(mask, made):
    return (PLAN.format(mask=mask, made=made, read=read) for read in (ABOVE, BELOW))


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("made", SUMS)
def test_not_below_is_not_above_where_a_row_is_masked(made, mask):
    one, other = choices(MASKS[mask], SUMS[made])
    assert verdict(one, other) != "PROVED"
    assert verdict(other, one) != "PROVED"


MULTIPLIED = """
  x input [4, 4]
  y input [4, 4]
  n input [4, 4]
  k = aten.full() size=(4,) fill_value=-inf dtype="float32"
  w = aten.mul.Tensor(n, k)
  z = aten.add.Tensor(x, w)
  p = aten._softmax(z) dim=-1 half_to_float=False
  q = mul(p) other=1.5
  {read}
  output out
"""


def test_a_row_is_masked_by_what_multiplies_minus_infinity():
    one, other = (MULTIPLIED.format(read=read.replace("(p)", "(q)")) for read in (ABOVE, BELOW))
    assert verdict(one, one) == verdict(other, other) == "PROVED"
    assert verdict(one, other) != "PROVED"
    assert verdict(other, one) != "PROVED"


@pytest.mark.parametrize(("text", "known"), [
    (MULTIPLIED.format(read=ABOVE), False),
    (PLAN.format(mask=DATA, made=SUMS["softmax"], read=ABOVE), False),
    (PLAN.format(mask=SOME, made=SUMS["softmax"], read=ABOVE), True),
])  # fmt: skip
def test_between_cut_points_a_softmax_is_a_number_where_nothing_given_says_what_is_masked(text, known):
    plan, _ = plans(text, text)
    names = {plan.logicals[tensor.logical].name: k for k, tensor in enumerate(plan.tensors)}
    table = reference(plan, 1, {})
    (base,) = table.values[names["p"]]
    assert (base not in doubtful(table, signs_of(table)).values) == known


@pytest.mark.parametrize("mask", [*MASKS.values(), SOME])
@pytest.mark.parametrize("made", SUMS)
def test_the_same_is_proved(made, mask):
    for text in choices(mask, SUMS[made]):
        assert verdict(text, text) == "PROVED"


def test_not_below_is_above_where_each_row_has_an_element_that_is_not_masked():
    one, other = choices(SOME, SUMS["softmax"])
    assert verdict(one, other) == "PROVED"
