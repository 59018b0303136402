"""Roots, logarithms and rounded quotients have cases: a long sum of numbers within bounds reaches them.

At three elements a hundred less a sum of sigmoids is positive: there the root of its square is itself.
"""

import importlib

import pytest

from tests.values.outline import plans
from verdict.options import Options, SolverOptions
from verdict.sweep import sweep
from verdict.sweep.larger import Larger

SWEEP = importlib.import_module("verdict.sweep.sweep")
OPTIONS = Options(workers=0, solver=SolverOptions(timeout=20.0))
TEXT = """
  x input [6, 240]
  h activation [6, 240]
  s activation [6]
  d activation [6]
  e activation [6]
  y activation [6]
  h = sigmoid(x)
  s = aten.sum.dim_IntList(h) dim=(1,)
  d = aten.rsub.Scalar(s) other=100.0
  {first}
  {last}
  output y
"""
PLAIN = "e = mul(d) other=1.0", "y = mul(e) other=1.0"
STEPS = {
    "root of a square": ("e = mul(d, d)", "y = aten.sqrt(e)"),
    "half a power": ("e = mul(d, d)", "y = pow(e) exponent=0.5"),
    "square of a root": ("e = aten.sqrt(d)", "y = mul(e, e)"),
    "logarithm": ("e = aten.log(d)", "y = aten.exp(e)"),
    "norm": (
        "u activation [6, 1]\n  u = aten.unsqueeze(d) dim=1\n  e = aten.linalg_vector_norm(u) ord=2 dim=(1,)",
        PLAIN[1],
    ),
}


@pytest.fixture
def by_proof(monkeypatch):
    """The proofs alone, at reduced shapes."""
    monkeypatch.setattr(SWEEP, "MOST_FULL", 0)
    monkeypatch.setattr(SWEEP, "on_numbers", lambda *_: Larger(""))


def proved(one, other):
    found = sweep(*plans(TEXT.format(first=one[0], last=one[1]), TEXT.format(first=other[0], last=other[1])), OPTIONS)
    return not (found.different or found.missing or found.open or found.fault)


@pytest.mark.parametrize("name", STEPS)
def test_cases_of_a_long_sum_are_kept(name, by_proof):
    assert not proved(PLAIN, STEPS[name])
    assert not proved(STEPS[name], PLAIN)


def test_a_quotient_rounded_down_is_no_zero(by_proof):
    rounded = PLAIN[0], 'y = aten.div.Scalar_mode(d) other=200.0 rounding_mode="floor"'
    assert not proved((PLAIN[0], "y = mul(d) other=0.0"), rounded)


def test_right_twins_are_proved(by_proof):
    assert proved(PLAIN, PLAIN)
    assert proved(PLAIN, ("e = mul(d) other=2.0", "y = mul(e) other=0.5"))
    for name in ("root of a square", "half a power", "norm"):
        assert proved(STEPS[name], STEPS[name])


GATED = """
  x input [6, 240]
  w weight [6]
  h activation [6, 240]
  s activation [6]
  a activation [6]
  b activation [6]
  c activation [6]
  y activation [6]
  h = sigmoid(x)
  s = aten.sum.dim_IntList(h) dim=(1,)
  {steps}
  output y
"""
GATES = {
    "times a weight": (
        "a = mul(w, w)\n  b = mul(s, a)\n  c = mul(a) other=100.0\n  d = aten.sub.Tensor(b, c)",
        ("y = relu(d)", "y = mul(d) other=0.0"),
    ),
    "with a weight that is taken away": (
        "a = add(s, w)\n  b = aten.sub.Tensor(a, w)\n  c = mul(s) other=0.0\n  d = add(b, c)",
        ("y = aten.clamp(d) max=100.0", "y = mul(d) other=1.0"),
    ),
    "beside a square": (
        "a = mul(w, w)\n  b = mul(s) other=0.01\n  c = aten.add.Scalar(a) other=1.0\n  d = aten.sub.Tensor(c, b)",
        ("y = relu(d)", "y = mul(d) other=1.0"),
    ),
}


@pytest.mark.parametrize("name", GATES)
def test_what_only_bounds_prove_at_reduced_shapes_is_open(name, by_proof):
    gate, lasts = GATES[name]
    texts = [GATED.format(steps=f"d activation [6]\n  {gate}\n  {last}") for last in lasts]
    for one in texts:
        for other in texts:
            found = sweep(*plans(one, other), OPTIONS)
            proved = not (found.different or found.missing or found.open or found.fault)
            assert proved is (one == other)
