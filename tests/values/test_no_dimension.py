"""Tensors without a dimension are tensors like any other: they have values, gradients, and sums to be completed."""

import pytest

from tests.values.outline import report, verdict

SCALED = """
  x input [4]
  s weight []
  y = mul(x, s)
  loss = sum(y) dim=None keepdim=False
  dy = sum.grad(one, y) dim=None keepdim=False
  -, gs = mul.grad(dy, x, s)
  seed one
  loss loss
  gradient gs of s
"""
SHARDED = """
  y[tp] = mul(x[tp], s)
  part = sum(y) dim=None keepdim=False
  loss = all_reduce(part) ranks=tp reduce="sum"
  dy[tp] = sum.grad(one, y) dim=None keepdim=False
  -, {gradient} = mul.grad(dy, x, s)
  {reduce}
  seed one
  loss loss
  gradient gs of s
"""


def test_the_gradient_of_a_scalar_weight_must_be_reduced():
    wrong = report(SCALED, SHARDED.format(gradient="gs", reduce=""), tp=2)
    assert (wrong.verdict.name, [finding.code for finding in wrong.findings]) == ("REFUTED", ["missing-reduction"])
    right = SHARDED.format(gradient="local", reduce='gs = all_reduce(local) ranks=tp reduce="sum"')
    assert verdict(SCALED, right, tp=2) == "PROVED"


SQUARED = """
  s weight []
  y = mul(s) other=3
  z = pow(y) exponent=2
  loss = view(z) size=(1,)
  dz = view.grad(one, z) size=(1,)
  dy = pow.grad(dz, y) exponent=2
  gs = mul.grad(dy, s) other={factor}
  seed one
  loss loss
  gradient gs of s
"""


@pytest.mark.parametrize(("factor", "expected"), [(3, "PROVED"), (5, "REFUTED")])
def test_the_gradient_of_a_product_with_a_number(factor, expected):
    assert verdict(SQUARED.format(factor=3), SQUARED.format(factor=factor)) == expected


UNARY = ("neg", "exp", "sqrt", "rsqrt", "sigmoid", "tanh", "silu", "relu", "gelu", "abs", "log", "identity")


@pytest.mark.parametrize("op", UNARY)
def test_each_operator_has_a_gradient_there(op):
    single = f"""
      s weight []
      y = {op}(s)
      loss = view(y) size=(1,)
      dy = view.grad(one, y) size=(1,)
      gs = {op}.grad(dy, s)
      seed one
      loss loss
      gradient gs of s
    """
    assert verdict(single, single) == "PROVED"
    doubled = single.replace(f"gs = {op}.grad(dy, s)", f"half = {op}.grad(dy, s)\n      gs = mul(half) other=2")
    assert verdict(single, doubled) == "REFUTED"


TAKEN = """
  w weight [3]
  x input [3]
  t activation []
  y activation [3]
  t = aten.select.int(w) dim=0 index=0
  y = {}
  output y
"""


@pytest.mark.parametrize("op", ["aten.select_backward(t) input_sizes=(3,)", "aten.select_scatter(x, t)"])
def test_one_number_is_put_into_a_tensor(op):
    right, wrong = (TAKEN.format(f"{op} dim=0 index={index}") for index in (1, 2))
    assert verdict(right, right) == "PROVED"
    assert verdict(right, wrong) == "REFUTED"
