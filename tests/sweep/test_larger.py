"""What plans cost to be run, and what is shown of those that differ on numbers at larger shapes."""

from dataclasses import replace

import pytest

from tests.sweep.plans import OPTIONS, twins
from tests.sweep.test_reduced import MEAN, OWN
from verdict.semantics import full
from verdict.sweep import sweep
from verdict.sweep.larger import operations

MANY = 40
PAIR = """plan single
  x input [24, 64]
  {first}
  output y
plan parallel tp=2
- {second}
+ y = add(x, x)
  output y
"""
COSTS = {
    "y = add(x, x)": 3 * 24 * 64,
    f"y = accumulate({', '.join(['x'] * MANY)})": (MANY + 1) * 24 * 64,
    "y activation [24, 24]\n  t activation [64, 24]\n  t = aten.t(x)\n  y = aten.mm(x, t)": 2 * 24 * 64 + 24 * 64 * 24,
}


@pytest.mark.parametrize("first", COSTS)
def test_what_a_plan_costs(first):
    (single, _), _ = twins(PAIR.format(first=first, second="y = mul(x, x)"))
    assert operations(single, full(single)) == COSTS[first]


@pytest.mark.parametrize("exhibit", [True, False])
def test_both_plans_on_numbers_are_shown_where_a_difference_is_asked_for(exhibit, monkeypatch):
    """Differences of islands are only counted."""
    _, wrong = twins(MEAN)
    monkeypatch.setattr(OWN, "MOST_FULL", 0)
    found = sweep(*wrong, replace(OPTIONS, solver=replace(OPTIONS.solver, exhibit=exhibit)))
    assert (found.is_refuted, found.runs is not None) == (True, exhibit)
    assert {item.result.what for item in found.different} == {"y"}
