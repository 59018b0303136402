"""Steps in a row at which one factor mends the same, and parts that flow on to a result: which of them is told."""

import pytest

from tests.repair.make import OPTIONS
from tests.sweep.plans import swept, told, twins
from tests.values.outline import plans, report
from verdict.pipeline import verify

SINGLE = """
  x input [4, 2]
  w weight [2, 2]
  y = linear(x, w)
  e = pow(y) exponent=2
  loss = mean(e) dim=None keepdim=False
  de = mean.grad(one, e) dim=None keepdim=False
  dy = pow.grad(de, y) exponent=2
  -, dw = linear.grad(dy, x, w)
  seed one
  loss loss
  gradient dw of w
"""
PARALLEL = """
  y[dp, :] = linear(x[dp, :], w)
  e[dp, :] = pow(y) exponent=2
  loss{{dp}} = mean(e) dim=None keepdim=False count=8
  de_r = sum.grad(one, e)
  dy_r = pow.grad(de_r, y) exponent=2
  -, g{{dp}} = linear.grad(dy_r, x, w)
  total = all_reduce(g) ranks=dp reduce="sum"
  dw = {divide}
  seed one
  loss loss
  gradient dw of w
"""
NUMBERS = {
    "div": ("div(total) other=8", "div(total) other=4", "other=8"),
    "mul": ("mul(total) other=0.125", "mul(total) other=0.5", "other=0.125"),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_factor_is_told_where_the_plan_states_a_number(name):
    right, wrong, due = NUMBERS[name]
    assert report(SINGLE, PARALLEL.format(divide=right), dp=2).verdict.name == "PROVED"
    found = verify(*plans(SINGLE, PARALLEL.format(divide=wrong), dp=2), OPTIONS)
    (finding,) = found.findings
    assert (finding.code, finding.where) == ("wrong-scale", "dw on ranks 0, 1")
    assert due in finding.title
    assert any(repair.proved for repair in found.repairs)


def test_without_a_number_the_factor_is_told_where_ranks_are_summed():
    undivided = PARALLEL.replace("  total = all_reduce", "  dw = all_reduce").replace("  dw = {divide}\n", "")
    (finding,) = told(*plans(SINGLE, undivided.format(), dp=2))
    assert finding.code == "wrong-scale"
    assert "all_reduce dw" in finding.title
    assert "pow.grad dy_r" in " ".join(finding.notes)


def test_a_factor_is_told_where_a_node_hands_on_what_must_be_divided():
    (finding,) = told(*plans(SINGLE, PARALLEL.format(divide="identity(total)"), dp=2))
    assert (finding.code, finding.title) == ("wrong-scale", "identity dw makes 8 times dw")


EARLY = """plan single
  t input [3, 2]
  v weight [2, 2]
  w weight [4, 2]
  x = linear(t, v)
  y = linear(x, w)
  e = pow(y) exponent=2
  loss = sum(e)
  de = sum.grad(one, e)
  dy = pow.grad(de, y) exponent=2
  dx, dw = linear.grad(dy, x, w)
  -, dv = linear.grad(dx, t, v)
  seed one
  loss loss
  gradient dw of w
  gradient dv of v
plan parallel tp=2
  x = linear(t, v)
  y[:, tp] = linear(x, w[tp, :])
  e[:, tp] = pow(y) exponent=2
  loss{tp} = sum(e)
  de[:, tp] = sum.grad(one, e)
  dy[:, tp] = pow.grad(de, y) exponent=2
  dx{tp}, dw[tp, :] = linear.grad(dy, x, w)
- sum_of_parts = all_reduce(dx) ranks=tp reduce="sum"
- -, dv = linear.grad(sum_of_parts, t, v)
+ -, dv = linear.grad(dx, t, v)
  seed one
  loss loss
  gradient dw of w
  gradient dv of v
"""


def test_a_sum_that_is_missing_is_told_where_the_part_is_read():
    good, bad = twins(EARLY)
    assert swept(*good) == "PROVED"
    found = verify(*bad, OPTIONS)
    (finding,) = found.findings
    assert (finding.code, finding.where) == ("missing-reduction", "dx on ranks 0, 1")
    assert any(repair.proved for repair in found.repairs)
