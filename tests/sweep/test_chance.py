"""What numbers at one choice of shapes show and those at another do not, and what only unusual integers show."""

import importlib

import pytest

from tests.sweep.plans import OPTIONS, swept, twins
from verdict.solver import InternalError
from verdict.sweep import sweep
from verdict.sweep.larger import Larger

SWEEP = importlib.import_module("verdict.sweep.sweep")
OWN = importlib.import_module("verdict.sweep.own")

GREATEST = """plan single
  x input [24, 64]
  y = aten.amax(x) dim=(1,)
  output y
plan parallel tp=2
- y = aten.amax(x) dim=(1,)
+ b activation [24]
+ b = aten.amax(x) dim=(1,)
+ y = aten.relu(b)
  output y
"""
PRODUCT = """plan single
  x input [24, 64]
  w weight [64, 24]
  y = aten.mm(x, w)
  output y
plan parallel tp=2
  a activation [24, 24]
  a{tp} = aten.mm(x[:, tp], w[tp, :])
- y = all_reduce(a) ranks=tp reduce="sum"
+ b activation [24, 24]
+ b = all_reduce(a) ranks=tp reduce="sum"
+ y = aten.mul.Tensor(b) other=2.0
  output y
"""
IGNORED = """plan single
  x input [24, 40]
  t input int64 [24]
  {line}
  z = aten._log_softmax(x) dim=1 half_to_float=False
  y, n = aten.nll_loss_forward(z, t) reduction=0 ignore_index=-100
  output y
plan parallel tp=2
  {line}
  z[tp, :] = aten._log_softmax(x[tp, :]) dim=1 half_to_float=False
- y[tp], n = aten.nll_loss_forward(z, t[tp]) reduction=0 ignore_index=-100
+ y[tp], n = aten.nll_loss_forward(z, t[tp]) reduction=0 ignore_index={ignored}
  output y
"""


BOUNDED, WITH_IGNORED = "range t 0 39", "range t -100 39"


@pytest.fixture
def reduced(monkeypatch):
    """Every plan at reduced shapes."""
    monkeypatch.setattr(OWN, "MOST_FULL", 0)


def ignored(line, number):
    """The right plan and one that ignores another number."""
    return twins(IGNORED.format(line=line, ignored=number))


def test_a_difference_that_long_axes_hide_is_open(reduced):
    right, wrong = twins(GREATEST)
    assert swept(*right) == "PROVED"
    found = sweep(*wrong, OPTIONS)
    assert (found.different, found.shapes, found.larger) == ((), "reduced shapes", "full shapes")
    assert "as chance may have it" in found.open[0][1]


def test_a_difference_that_chance_cannot_hide_is_a_contradiction(reduced, monkeypatch):
    right, wrong = twins(PRODUCT)
    assert (swept(*right), swept(*wrong)) == ("PROVED", "REFUTED")
    monkeypatch.setattr(SWEEP, "on_numbers", lambda *_: Larger("full shapes"))
    assert swept(*right) == "PROVED"
    with pytest.raises(InternalError, match="they agree"):
        sweep(*wrong, OPTIONS)


def test_integers_that_nobody_speaks_of_refute_at_no_shapes(monkeypatch):
    for _ in ("own shapes", "reduced shapes"):
        right, wrong = ignored("", -1)
        assert swept(*right) == "PROVED"
        found = sweep(*wrong, OPTIONS)
        assert found.unusual and not found.different and f"`{BOUNDED}`" in found.open[0][1]
        assert [swept(*plans) for plans in ignored(BOUNDED, -1)] == ["PROVED", "PROVED"]
        assert swept(*ignored("", 3)[1]) == "REFUTED"
        monkeypatch.setattr(OWN, "MOST_FULL", 0)


def test_integers_that_a_range_speaks_of_are_not_left_out(reduced):
    right, wrong = ignored(WITH_IGNORED, -1)
    assert swept(*right) == "PROVED"
    assert "outside" in sweep(*wrong, OPTIONS).fault.what
    assert not sweep(*wrong, OPTIONS).unusual
