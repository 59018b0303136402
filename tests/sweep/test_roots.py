"""Roots, logarithms and rounded quotients have cases: a long sum of numbers within bounds reaches them.

At three elements a hundred less a sum of sigmoids is positive: there the root of its square is itself.
"""

import pytest

from tests.values.outline import plans
from verdict.options import Options, SolverOptions
from verdict.sweep import sweep

OPTIONS = Options(workers=0, solver=SolverOptions(timeout=20.0))
SUMMED = """
  x input [6, 240]
  h activation [6, 240]
  s activation [6]
  d activation [6]
  y activation [6]
  h = sigmoid(x)
  s = aten.sum.dim_IntList(h) dim=(1,)
"""
TEXT = SUMMED + """
  e activation [6]
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


def equal(one, other):
    """Whether the sweep, with Z3, proves two texts equal."""
    found = sweep(*plans(one, other), OPTIONS)
    return not (found.different or found.missing or found.open or found.fault)


def proved(one, other):
    return equal(*(TEXT.format(first=first, last=last) for first, last in (one, other)))


@pytest.mark.parametrize("name", STEPS)
def test_cases_of_a_long_sum_are_kept(name, without_numbers):
    assert not proved(PLAIN, STEPS[name])
    assert not proved(STEPS[name], PLAIN)


def test_a_quotient_rounded_down_is_no_zero(without_numbers):
    rounded = PLAIN[0], 'y = aten.div.Scalar_mode(d) other=200.0 rounding_mode="floor"'
    assert not proved((PLAIN[0], "y = mul(d) other=0.0"), rounded)


def test_right_twins_are_proved(without_numbers):
    assert proved(PLAIN, PLAIN)
    assert proved(PLAIN, ("e = mul(d) other=2.0", "y = mul(e) other=0.5"))
    for name in ("root of a square", "half a power", "norm"):
        assert proved(STEPS[name], STEPS[name])


GATED = SUMMED + """
  w weight [6]
  a activation [6]
  b activation [6]
  c activation [6]
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
def test_what_only_bounds_prove_at_reduced_shapes_is_open(name, without_numbers):
    gate, lasts = GATES[name]
    texts = [GATED.format(steps=f"{gate}\n  {last}") for last in lasts]
    for one in texts:
        for other in texts:
            assert equal(one, other) is (one == other)
