"""What means nothing in recorded plans: `aten` operators are asked as the own ones are, on zeros and on symbols."""

import pytest

from tests.builders import answer, ask
from tests.sweep.plans import twins

LOSS = """plan single
  x input [4, 3]
  z = aten.mul.Scalar(x) other={factor}
  l = aten.{op}(z)
  t = aten.sum(l)
  loss t
plan parallel dp=2
  z[dp, :] = aten.mul.Scalar(x[dp, :]) other={factor}
  l[dp, :] = aten.{op}(z)
  p{{dp}} = aten.sum(l)
- t = all_reduce(p) ranks=dp reduce="sum"
+ t = all_reduce(p) ranks=dp reduce="max"
  loss t
"""


@pytest.mark.parametrize("op", ["log", "rsqrt", "reciprocal"])
def test_a_loss_that_is_never_defined_is_not_proved(op):
    right, _ = twins(LOSS.format(op=op, factor=0.0))
    report = ask(*right)
    assert (report.verdict.name, report.findings) == ("UNKNOWN", ())
    assert any("never defined" in item.reason for item in report.open), report.open


@pytest.mark.parametrize("op", ["neg", "relu"])
def test_a_loss_that_is_zero_is_not_proved(op):
    right, _ = twins(LOSS.format(op=op, factor=0.0))
    report = ask(*right)
    assert (report.verdict.name, report.findings) == ("UNKNOWN", ())
    assert any("zero whatever" in item.reason for item in report.open), report.open


@pytest.mark.parametrize("op", ["exp", "neg", "reciprocal"])
def test_right_twins_are_proved_and_wrong_ones_are_not(op):
    right, wrong = twins(LOSS.format(op=op, factor=0.5))
    assert ask(*right).verdict.name == "PROVED"
    assert answer(*wrong) == "REFUTED"
