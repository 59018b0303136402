"""A place in a tensor that an attribute names is that place after reduction, too, and not the one beside it."""

import pytest

from tests.builders import answer, ask
from tests.sweep.plans import twins
from verdict.report import Verdict

NARROWED = """plan single
  x input [256, 4]
  y = narrow(x) dim=0 start=10 length=20
  z = sum(y) dim=None
  output z
plan parallel tp=2
- y = narrow(x) dim=0 start=10 length=20
+ y = narrow(x) dim=0 start=11 length=20
  z = sum(y) dim=None
  output z
"""
PADDED = """plan single
  g input [260, 4]
  x input [220, 4]
  y = pad.grad(g, x) dim=0 before=20 after=20
  output y
plan parallel tp=2
- y = pad.grad(g, x) dim=0 before=20 after=20
+ y = pad.grad(g, x) dim=0 before=21 after=19
  output y
"""
LAST = """plan single
  x input [300, 256]
  y = aten.slice.Tensor(x) dim=1 start=255 end=256
  z = aten.sum(y)
  output z
plan parallel tp=2
- y = aten.slice.Tensor(x) dim=1 start=255 end=256
+ y = aten.slice.Tensor(x) dim=1 start=254 end=255
  z = aten.sum(y)
  output z
"""
PAIRS = {"narrow": NARROWED, "pad": PADDED, "the last element": LAST}


@pytest.mark.parametrize("name", PAIRS)
def test_the_next_place_is_another_one(name):
    right, wrong = twins(PAIRS[name])
    assert ask(*right).verdict is Verdict.PROVED
    assert answer(*wrong) == "REFUTED"
