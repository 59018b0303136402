"""What a file says of the types of tensors is checked and not believed."""

import pytest

from tests.values.outline import plans, report, verdict
from verdict.backends.torch.oracle.compare import compare
from verdict.comparison import DIFFER
from verdict.concrete import compare as own
from verdict.concrete.comparison import prepare
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


COUNTED = """
  x input bool {shape}
  n activation {{dtype}} []
  n = aten.sum(x) dtype="{{dtype}}"
  output n
"""
THEN_CAST = """
  x input bool {shape}
  n activation int64 []
  m activation {{dtype}} []
  n = aten.sum(x) dtype="int64"
  m = aten._to_copy(n) dtype="{{dtype}}"
  output m
"""


@pytest.mark.parametrize("counted", [COUNTED, THEN_CAST], ids=["summed in it", "cast to it"])
def test_what_is_counted_in_a_narrow_type_is_counted_at_full_size(counted):
    def kept(dtype):
        small, _ = prepare(*plans(text.format(dtype=dtype), text.format(dtype=dtype))).small
        return small.logicals[0] == (600, 5000)

    text = counted.format(shape="[600, 5000]")
    assert [kept(dtype) for dtype in ("int8", "uint8", "int16", "int64")] == [True, True, True, False]
    little, more = counted.format(shape="[10, 10]"), counted.format(shape="[20, 10]")
    wide, narrow = ({"dtype": dtype} for dtype in ("int64", "int8"))
    assert verdict(little.format(**wide), little.format(**narrow)) == "PROVED"
    assert verdict(more.format(**wide), more.format(**narrow)) == "REFUTED"
    assert verdict(more.format(**narrow), more.format(**wide)) == "REFUTED"
    assert verdict(more.format(**narrow), more.format(**narrow)) == "PROVED"


SUMMED = """
  x input bool [400]
  m activation int64 []
  m = aten.sum(x) dtype="int64"
  output m
"""
PARTS = """
  x input bool [400]
  n activation {dtype} []
  q activation {dtype} []
  m activation int64 []
  n{{tp}} = aten.sum(x[tp]) dtype="{dtype}"
  q = all_reduce(n) ranks=tp reduce="sum"
  m = aten._to_copy(q) dtype="int64"
  output m
"""


def test_collectives_that_add_narrow_integers_wrap_around():
    assert verdict(SUMMED, PARTS.format(dtype="int64"), tp=2) == "PROVED"
    assert verdict(SUMMED, PARTS.format(dtype="int8"), tp=2) == "REFUTED"
    single, parallel = plans(SUMMED, PARTS.format(dtype="int8"), tp=2)
    assert {own(single, parallel, seed).outcome for seed in range(3)} == {DIFFER}
    assert {compare(single, parallel, seed).outcome for seed in range(3)} == {DIFFER}


CAST_PARTS = """
  x input bool [200]
  m activation {dtype} []
  y activation float32 []
  z activation float32 []
  m{tp} = aten.sum(x{of}) dtype="{dtype}"
  y{tp} = aten._to_copy(m) dtype="float32"
  z = {added}
  output z
"""


def test_what_wraps_around_on_one_device_does_not_in_parts_that_are_cast_before_they_are_added():
    added = {"tp": "{tp}", "of": "[tp]", "added": 'all_reduce(y) ranks=tp reduce="sum"'}
    for dtype, due in (("int8", "REFUTED"), ("uint8", "PROVED"), ("int64", "PROVED")):
        single = CAST_PARTS.format(tp="", of="", dtype=dtype, added="identity(y)")
        assert verdict(single, CAST_PARTS.format(dtype=dtype, **added), tp=2) == due


EITHER = """
  a input bool [4]
  b input bool [4]
  n activation bool [4]
  n = aten.add.Tensor(a, b) dtype="bool"{alpha}
  output n
"""


def test_truth_values_are_added_as_many_times_as_alpha_says():
    once, never = EITHER.format(alpha=""), EITHER.format(alpha=" alpha=0")
    assert verdict(once, once) == verdict(never, never) == "PROVED"
    assert verdict(once, never) == verdict(never, once) == "REFUTED"


ADDED_UP = """
  x input [2, 3]
  {declared}
  n = aten.cumsum(x) dim=-1{asked}
  f = aten._to_copy(n) dtype="float32"
  y = mul(f, x)
  output y
"""


def test_what_is_added_up_is_cast_first_to_the_type_that_is_asked_for():
    floats = ADDED_UP.format(declared="n activation [2, 3]", asked="")
    whole = ADDED_UP.format(declared="n activation int64 [2, 3]", asked=' dtype="int64"')
    assert verdict(floats, floats) == verdict(whole, whole) == "PROVED"
    assert verdict(floats, whole) == verdict(whole, floats) == "REFUTED"


LOGARITHMS = """
  x input [4]
  y input [4]
  e = exp(y)
  n = aten.xlogy.Tensor({})
  n activation [4]
  output n
"""


def test_products_with_logarithms_are_compared():
    right = LOGARITHMS.format("x, e")
    assert verdict(right, right) == "PROVED"
    assert verdict(right, LOGARITHMS.format("y, e")) == "REFUTED"


@pytest.mark.parametrize("logarithm", ["log(x)", "aten.xlogy.Tensor(y, x)"])
@pytest.mark.parametrize("size", range(1, 6))
def test_values_that_are_not_defined_refute_nothing(logarithm, size):
    """Of few elements it depends on the seed whether some logarithm is not defined."""
    text = f"\n  x input [{size}]\n  y input [{size}]\n  n = {logarithm}\n  n activation [{size}]\n  output n\n"
    assert report(text, text).findings == ()


TWO_SUMS = """
  x input int8 [4]
  n activation int8 [4]
  y activation {dtype} [4]
  z activation float32 [4]
  output n
  n = aten.add.Tensor(x) other=1
  y = aten.add.Tensor(x) other={other}
  z = aten._to_copy(y) dtype="float32"
  output z
"""


def test_a_sum_with_a_float_is_no_integer_beside_one_that_is():
    whole, floating = TWO_SUMS.format(dtype="int8", other=1), TWO_SUMS.format(dtype="float32", other=1.0)
    assert verdict(whole, whole) == verdict(floating, floating) == "PROVED"
    assert verdict(whole, TWO_SUMS.format(dtype="int8", other=1.0)) == "REFUTED"
    assert verdict(whole, floating) == verdict(floating, whole) == "REFUTED"


BELOW = """
  x input uint8 [4]
  w weight [4]
  b activation bool [4]
  f activation float32 [4]
  y activation [4]
  b = aten.lt.Scalar(x) other={}
  f = aten._to_copy(b) dtype="float32"
  y = mul(f, w)
  output y
"""


def test_a_number_beyond_a_type_of_integers_is_none_of_it():
    wide = BELOW.replace("uint8", "int32")
    assert verdict(BELOW.format(255), BELOW.format(255)) == verdict(wide.format(300), wide.format(300)) == "PROVED"
    assert verdict(BELOW.format(255), BELOW.format(44)) == "REFUTED"
    with pytest.raises(PlanMismatchError, match="other is 300, which is no uint8"):
        verdict(BELOW.format(300), BELOW.format(300))
    assert verdict(BELOW.format(255), BELOW.format(300)) == "REFUTED"


NARROWED = """
  x input bool [2, 300]
  w weight [2]
  n activation {dtype} [2]
  f activation float32 [2]
  y activation [2]
  n = aten.sum.dim_IntList(x) dim=(1,) dtype="{dtype}"
  f = aten._to_copy(n) dtype="float32"
  y = mul(f, w)
  output y
"""


@pytest.mark.parametrize("dtype, right", [("int8", False), ("uint8", False), ("int16", True), ("int32", True)])
def test_a_sum_in_a_narrower_type_wraps_around(dtype, right):
    single, parallel = NARROWED.format(dtype="int64"), NARROWED.format(dtype=dtype)
    assert (verdict(single, parallel) == "PROVED") is right
    assert (verdict(parallel, single) == "PROVED") is right
    assert verdict(parallel, parallel) == "PROVED"
    assert (verdict(NARROWED.format(dtype="float32"), parallel) == "PROVED") is right
    assert (verdict(parallel, NARROWED.format(dtype="float32")) == "PROVED") is right
