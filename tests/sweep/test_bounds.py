"""Faults that show beyond a bound only, and shapes that depend on how a batch is cut: the cause is told."""

import pytest

from tests.sweep.plans import agrees, swept, told
from tests.values.outline import plans, report
from verdict.concrete import AGREE

SINGLE = """
  x input [4, 3]
  k weight []
  ks = aten.expand(k) size=(4, 3)
  y = aten.mul.Tensor(x, ks)
  g = aten.sum.dim_IntList(y) dim=(0,)
  a = aten.abs(g)
  n = aten.max(a)
  c = aten.clamp(n) min=3.0
  z = aten.div.Tensor(g, c)
  ks activation [4, 3]
  y activation [4, 3]
  g activation [3]
  a activation [3]
  n activation []
  c activation []
  z activation [3]
  output z
"""
PARALLEL = """
  few = aten.expand(k) size=(2, 3)
  y[dp, :] = aten.mul.Tensor(x[dp, :], few)
  part{{dp}} = aten.sum.dim_IntList(y) dim=(0,)
  g = all_reduce(part) ranks=dp reduce="sum"
  a = aten.abs({read})
  n = aten.max(a)
  m = all_reduce(n) ranks=dp reduce="max"
  c = aten.clamp(m) min=3.0
  z = aten.div.Tensor(g, c)
  few activation [2, 3]
  y activation [4, 3]
  part activation [3]
  g activation [3]
  a activation [3]
  n activation []
  m activation []
  c activation []
  z activation [3]
  output z
"""
"""Each rank has two rows; the greatest of the sums is that of the whole sums, or wrongly that of the rank's own."""


def pair(read):
    return SINGLE, PARALLEL.format(read=read)


def test_random_numbers_reach_the_bounds_that_plans_name():
    """All that is drawn is far below 3, but for what is drawn there because the plan names it."""
    single, wrong = plans(*pair("part"), dp=2)
    assert swept(single, wrong) == "REFUTED"
    assert agrees(single, wrong, seed=1) == AGREE, "chance alone shows nothing"
    first, *others = told(single, wrong)
    assert (first.code, others) == ("missing-reduction", [])


def test_the_right_twin():
    assert swept(*plans(*pair("g"), dp=2)) == "PROVED"


@pytest.mark.parametrize(("read", "found", "codes"), [("g", "PROVED", []), ("part", "REFUTED", ["missing-reduction"])])
def test_a_smaller_expansion_is_no_misfit(read, found, codes):
    said = report(*pair(read), dp=2)
    assert (said.verdict.name, [finding.code for finding in said.findings]) == (found, codes)
