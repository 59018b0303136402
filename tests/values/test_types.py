"""What a file says of the types of tensors is checked and not believed."""

import pytest

from tests.values.outline import report, verdict
from verdict.errors import PlanMismatchError

POWERS = """
  x input [4]
  w weight [4]
  {declared}
  y = mul(x, w)
  z = pow(y) exponent={exponent}
  loss = sum(z) dim=None keepdim=False
  dz = sum.grad(one, z) dim=None keepdim=False
  dy = pow.grad(dz, y) exponent=2
  -, gw = mul.grad(dy, x, w)
  seed one
  loss loss
  gradient gw of w
"""


@pytest.mark.parametrize("dtype", ["bool", "int64", "int8"])
def test_floats_that_a_file_calls_integers_are_no_plan(dtype):
    declared = f"y activation {dtype} [4]"
    lying = POWERS.format(declared=declared, exponent=2)
    honest = POWERS.format(declared="", exponent=2)
    with pytest.raises(PlanMismatchError, match=f"says {dtype} where the operator makes float"):
        report(lying, honest)
    found = report(honest, POWERS.format(declared=declared, exponent=3))
    assert found.verdict.name == "REFUTED"
    assert "wrong-dtype" in {finding.code for finding in found.findings}
    assert verdict(honest, POWERS.format(declared="y activation bfloat16 [4]", exponent=2)) == "PROVED"


UPDATE = """
  w weight [4]
  g input [4]
  m buffer [4]
  {declared}
  u, n = sgd(w, g, m) lr=0.5 weight_decay=0.0 momentum=0.5 dampening=0.0 nesterov=False
  output u of w
  output n of m
"""
SOFT = """
  x input [4]
  {declared}
  n = softmax(x) dim=0
  output n
"""


@pytest.mark.parametrize("text", [UPDATE, SOFT], ids=["states of an optimizer", "a softmax"])
def test_what_operators_without_a_type_of_their_own_make_of_floats_are_floats(text):
    right = text.format(declared="n activation float32 [4]")
    lying = report(right, text.format(declared="n activation int64 [4]"))
    assert verdict(right, right) == "PROVED"
    assert (lying.verdict.name, [finding.code for finding in lying.findings]) == ("REFUTED", ["wrong-dtype"])


def test_both_plans_must_be_given_the_same_kind_of_numbers():
    text = "\n  x input {dtype} [4]\n  y = pow(x) exponent=2\n  output y\n"
    with pytest.raises(PlanMismatchError, match="x holds int64, in the single-device plan it is float32"):
        report(text.format(dtype="float32"), text.format(dtype="int64"))
    assert verdict(text.format(dtype="float32"), text.format(dtype="bfloat16")) == "PROVED"




def test_narrow_integers_wrap_around_when_they_are_added():
    wide = """
      a input uint8 [4]
      b input uint8 [4]
      p activation int64 [4]
      q activation int64 [4]
      e activation int64 [4]
      p = aten._to_copy(a) dtype="int64"
      q = aten._to_copy(b) dtype="int64"
      e = aten.add.Tensor(p, q)
      output e
    """
    narrow = """
      a input uint8 [4]
      b input uint8 [4]
      c activation uint8 [4]
      e activation int64 [4]
      c = aten.add.Tensor(a, b)
      e = aten._to_copy(c) dtype="int64"
      output e
    """
    assert verdict(wide, wide) == verdict(narrow, narrow) == "PROVED"
    assert verdict(wide, narrow) != "PROVED"
    assert verdict(narrow, wide) != "PROVED"
    small = "  range a 0 100\n  range b 0 155\n"
    assert verdict(wide + small, narrow + small) == "PROVED"
    assert verdict(wide + small.replace("155", "156"), narrow) != "PROVED"


def test_floats_that_are_put_among_integers_are_cut_off():
    put = """
      i input int64 [4]
      x input [2]
      place input int64 [2]
      y activation {dtype} [4]
      y = aten.index_put(i, place, x) indices_count=1
      z = aten.mul.Tensor(y) other=2
      z activation {dtype} [4]
      output z
    """
    integers = put.format(dtype="int64")
    same = verdict(integers, integers)
    assert same == "PROVED"
    floats = """
      i input int64 [4]
      x input [2]
      place input int64 [2]
      f = aten._to_copy(i) dtype="float32"
      y = aten.index_put(f, place, x) indices_count=1
      z = aten.mul.Tensor(y) other=2
      output z
    """
    assert verdict(floats, floats) == "PROVED"
    assert verdict(floats, integers) != "PROVED"


def test_an_unknown_operator_that_is_said_to_make_integers_of_floats_is_open():
    text = """
      x input [4]
      y activation int8 [2, 4]
      y = aten._scaled(x)
      output y
    """
    found = report(text.replace("[2, 4]", "[4]"), text.replace("[2, 4]", "[4]"))
    assert found.verdict.name == "UNKNOWN"
