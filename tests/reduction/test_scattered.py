"""What is put at positions that are given is no table: the axes of the positions shrink, and rows with them."""

import pytest

from tests.values.outline import plans, verdict
from verdict.concrete.comparison import prepare

TEXT = """
  w input [120, 100, 50]
  t input int64 [120, 100, 1]
  z activation [120, 100, 50]
  o activation [120, 100, 1]
  h activation [120, 100, 50]
  y activation [120, 100, 50]
  z = aten.zeros() size=(120,100,50)
  o = aten.full() size=(120,100,1) fill_value={value}
  h = {step}
  y = mul(h, w)
  output y
"""
STEPS = {
    "added": "aten.scatter_add(z, t, o) dim=-1",
    "put": "aten.scatter.src(z, t, o) dim=2",
    "a number": "aten.scatter.value(z, t) dim=2 value=0.5",
}


@pytest.mark.parametrize("name", STEPS)
def test_axes_shrink_that_positions_are_given_along(name):
    text = TEXT.format(step=STEPS[name], value=0.5)
    small = prepare(*plans(text, text)).small[0]
    assert max(small.logicals[0]) <= 4


def test_what_is_put_there_matters():
    added = TEXT.format(step=STEPS["added"], value=0.5)
    assert verdict(added, TEXT.format(step=STEPS["a number"], value=0.5)) == "PROVED"
    assert verdict(added, TEXT.format(step=STEPS["added"], value=0.25)) == "REFUTED"
