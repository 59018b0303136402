"""Whole numbers that floats do not hold: arithmetic of int64 is exact, in proofs and on numbers."""

import pytest

from tests.sweep.plans import agrees, swept, twins
from verdict.comparison import AGREE, DIFFER

GREAT = 2**62
PLAN = """plan single
  n input int64 [4, 2]
  SINGLE
  output y
plan parallel dp=2
- RIGHT
+ WRONG
  output y
"""


def plans(single, right, wrong):
    return twins(PLAN.replace("SINGLE", single).replace("RIGHT", right).replace("WRONG", wrong))


CASES = {
    "sum": (
        f"s = aten.add.Scalar(n) other={GREAT}\n  y = aten.sub.Scalar(s) other={GREAT}",
        "y[dp, :] = aten.mul.Scalar(n[dp, :]) other=1",
        "y[dp, :] = aten.add.Scalar(n[dp, :]) other=1",
    ),
    "comparison": (
        f"s = aten.add.Scalar(n) other={GREAT}\n  y = aten.eq.Scalar(s) other={GREAT + 3}",
        "y[dp, :] = aten.eq.Scalar(n[dp, :]) other=3",
        "y[dp, :] = aten.eq.Scalar(n[dp, :]) other=4",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_floats_do_not_hold_is_computed_exactly(case):
    right, wrong = plans(*CASES[case])
    assert swept(*right) == "PROVED"
    assert agrees(*right) == AGREE
    assert swept(*wrong) == "REFUTED"
    assert agrees(*wrong) == DIFFER
