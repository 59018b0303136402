"""Casts to integers have a width: what does not fit wraps around, and fractions are cut off."""

from fractions import Fraction

import numpy as np
import pytest

from tests.values.outline import report, verdict
from verdict.errors import PlanFileError
from verdict.solver.functions import on_floats, on_fractions

CAST = """
  i input {dtype} [6]
  w weight [6]
  {cast}
  z = mul(y, w)
  loss = sum(z) dim=None keepdim=False
  dz = sum.grad(one, z) dim=None keepdim=False
  -, gw = mul.grad(dz, y, w)
  seed one
  loss loss
  gradient gw of w
"""


def cast(dtype, lines):
    return CAST.format(dtype=dtype, cast=lines)


def through(*dtypes):
    """The input, cast to one type after the other."""
    lines, name = [], "i"
    for k, dtype in enumerate(dtypes):
        made = "y" if k == len(dtypes) - 1 else f"c{k}"
        declared = "" if made == "y" else f"{made} activation {dtype} [6]\n  "
        lines.append(f'{declared}{made} = aten._to_copy({name}) dtype="{dtype}"')
        name = made
    return "\n  ".join(lines)


@pytest.mark.parametrize("narrow", ["uint8", "int8", "int16", "int32"])
def test_a_narrow_cast_is_not_the_identity(narrow):
    direct = cast("int64", through("int64"))
    wrapped = cast("int64", through(narrow, "int64"))
    assert verdict(wrapped, wrapped) == "PROVED"
    assert verdict(direct, direct) == "PROVED"
    assert verdict(direct, wrapped) != "PROVED"
    assert verdict(wrapped, direct) != "PROVED"


@pytest.mark.parametrize(("narrow", "other"), [("uint8", "int8"), ("int8", "int16"), ("int16", "uint16")])
def test_widths_and_signs_differ(narrow, other):
    one, two = (cast("int64", through(dtype, "int64")) for dtype in (narrow, other))
    assert verdict(one, two) != "PROVED"


@pytest.mark.parametrize(
    ("given", "narrow"),
    [("uint8", "int16"), ("int8", "int16"), ("int16", "int32"), ("uint8", "uint8"), ("bool", "int8")],
)
def test_what_fits_stays(given, narrow):
    assert verdict(cast(given, through("int64")), cast(given, through(narrow, "int64"))) == "PROVED"


def test_what_is_stated_to_fit_stays():
    direct, wrapped = (cast("int64", lines) for lines in (through("int64"), through("uint8", "int64")))
    assert verdict(direct + "  range i 0 255\n", wrapped) == "PROVED"
    assert verdict(direct + "  range i 0 256\n", wrapped) != "PROVED"
    assert verdict(direct + "  range i -1 255\n", wrapped) != "PROVED"


def test_a_fraction_is_cut_off():
    kept, cut = cast("float32", "y = identity(i)"), cast("float32", through("int64", "float32"))
    assert verdict(cut, cut) == "PROVED"
    assert verdict(kept, cut) != "PROVED"
    assert verdict(cut, kept) != "PROVED"
    twice = cast("float32", through("int64", "float32", "int64", "float32"))
    assert verdict(cut, twice) == "PROVED"


def test_truth_is_not_a_number():
    def summed(given, dtype):
        return f"""
          i input {given} [6]
          t{dtype} = aten._to_copy(i) dtype="{dtype}"
          s = aten.sum(t{dtype})
          output s
        """

    assert verdict(summed("int64", "bool"), summed("int64", "int64")) == "REFUTED"
    assert verdict(summed("bool", "bool"), summed("bool", "int64")) == "PROVED"


def test_what_a_cast_rests_on_is_said():
    text = cast("float32", through("int64"))
    assert "rounding-uninterpreted" in {assumption.name for assumption in report(text, text).assumptions}


DIVIDED = "y = aten.{op}(i) other={other}"


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (DIVIDED.format(op="floor_divide", other=3), DIVIDED.format(op="floor_divide", other=3), True),
        (DIVIDED.format(op="floor_divide", other=3), DIVIDED.format(op="floor_divide", other=4), False),
        (DIVIDED.format(op="remainder.Scalar", other=7), DIVIDED.format(op="remainder.Scalar", other=8), False),
        (DIVIDED.format(op="floor_divide", other=1), "y = identity(i)", True),
        ("r = aten.remainder.Scalar(i) other=1\n  y = add(r) other=1", "y = aten.full_like(i) fill_value=1", True),
        ("y = aten.bitwise_not(i)", "n = neg(i)\n  y = add(n) other=-1", True),
        ("y = aten.bitwise_and.Scalar(i) other=1", "y = aten.bitwise_and.Scalar(i) other=3", False),
        ("y = aten.bitwise_and.Scalar(i) other=1", "y = aten.remainder.Scalar(i) other=2", False),
    ],
)
def test_integer_arithmetic_on_integers_of_no_known_range(one, other, equal):
    assert (verdict(cast("int64", one), cast("int64", other)) == "PROVED") is equal


def test_bits_of_listed_integers_are_known():
    low, odd = "y = aten.bitwise_and.Scalar(i) other=1", "y = aten.remainder.Scalar(i) other=2"
    assert verdict(cast("uint8", low), cast("uint8", odd)) == "PROVED"
    assert verdict(cast("uint8", low), cast("uint8", odd.replace("2", "4"))) == "REFUTED"


@pytest.mark.parametrize("word", ["and", "or", "xor"])
def test_a_solver_is_not_believed_on_bits_that_are_known(word):
    """Both constructions of a proof know what bits are joined to, so none contradicts the other."""
    found = on_fractions(f"bitwise {word} at 1", [Fraction(6), Fraction(3)])
    floats = on_floats(f"bitwise {word}", [np.array([6.0, 0.5]), np.array([3.0, 3.0])])
    assert found == floats[0] == {"and": 2, "or": 7, "xor": 5}[word]
    assert floats[1] != int(floats[1])


@pytest.mark.parametrize(
    ("bits", "same"),
    [
        ("bitwise_and.Scalar(m) other=1", "identity(m)"),
        ("bitwise_or.Scalar(m) other=0", "identity(m)"),
        ("bitwise_xor.Scalar(m) other=1", "aten.rsub.Scalar(m) other=1"),
    ],
)
def test_bits_of_truths_are_arithmetic(bits, same):
    single = cast("uint8", f"m = aten.remainder.Scalar(i) other=2\n  y = aten.{bits}")
    for made in ("identity(m)", "aten.rsub.Scalar(m) other=1"):
        parallel = cast("uint8", f"m = aten.remainder.Scalar(i) other=2\n  y = {made}")
        assert (verdict(single, parallel) == "PROVED") is (made == same)


def padded(value, stated="bool"):
    """How many places hold, of four truth values and one beside them: such a one holds unless it is zero."""
    return f"""
      i input bool [4]
      p activation {stated} [5]
      p = aten.constant_pad_nd(i) pad=(0, 1) value={value}
      s = aten.sum(p)
      output s
    """


def test_what_stands_beside_truth_values_is_one():
    assert verdict(padded(2), padded(1)) == "PROVED"
    assert verdict(padded(2), padded(0)) == "REFUTED"
    assert verdict(padded(2, "int64"), padded(2, "int64")) == "PROVED"
    assert verdict(padded(2, "int64"), padded(1, "int64")) == "REFUTED"
    assert verdict(padded(2), padded(2, "int64")) == "REFUTED"


POWER = """
  i input int64 [4]
  p activation {made} [4]
  {first}
  {power}
  f activation float32 [4]
  f = aten._to_copy(p) dtype="float32"
  output f
  range i -3 3
"""


TWO = 't activation {made} [4]\n  t = aten.full_like({read}) fill_value=2 dtype="{made}"\n  p = hlo.power(t, {read})'


@pytest.mark.parametrize("power", ["p = aten.pow.Scalar({read}) self=2", TWO])
def test_a_power_of_integers_is_cut_off(power):
    """Two to minus one is nothing among integers, and a half among floats."""
    whole = POWER.format(made="int64", first="", power=power.format(made="int64", read="i"))
    floats = 'x activation float32 [4]\n  x = aten._to_copy(i) dtype="float32"'
    half = POWER.format(made="float32", first=floats, power=power.format(made="float32", read="x"))
    assert verdict(whole, whole) == "PROVED"
    assert verdict(whole, half) == verdict(half, whole) == "REFUTED"


POOLED = """
  i input {dtype} [1,1,4,4]
  p activation {dtype} [1,1,2,2]
  p = aten.avg_pool2d(i) kernel_size=(2, 2)
  output p
"""
TWICE = """
  i input {dtype} [1,1,4,4]
  h activation {dtype} [1,1,2,4]
  p activation {dtype} [1,1,2,2]
  h = aten.avg_pool2d(i) kernel_size=(2, 1)
  p = aten.avg_pool2d(h) kernel_size=(1, 2)
  output p
"""


@pytest.mark.parametrize(("dtype", "expected"), [("float32", "PROVED"), ("int64", "UNKNOWN")])
def test_how_means_of_integers_over_windows_are_rounded_is_not_known(dtype, expected):
    assert verdict(POOLED.format(dtype=dtype), TWICE.format(dtype=dtype)) == expected


SPLIT = """
  x input [2,4]
  w weight [3,4]
  z activation {dtype} [2,3]
  s activation {dtype} [2,3]
  y{tp} = linear(x{of}, w{of})
  z{tp} = aten._to_copy(y) dtype="{dtype}"
  s = {sum}
  v activation [2,3]
  v = aten._to_copy(s) dtype="float32"
  loss = sum(v) dim=None keepdim=False
  dv = sum.grad(one, v) dim=None keepdim=False
  ds = identity(dv)
  dy = identity(ds)
  -, gw{of} = linear.grad(dy, x, w)
  seed one
  loss loss
  gradient gw of w
"""


def split(dtype, **parallel):
    """A product, cast, beside the parts that ranks make of it, cast before they are added up."""
    single = SPLIT.format(tp="", of="", dtype=dtype, sum="identity(z)")
    return single, SPLIT.format(**{"tp": "{tp}", "of": "[:, tp]", "dtype": dtype, **parallel})


def test_a_part_of_a_sum_is_cast_as_the_sum_is_but_into_whole_numbers():
    added = 'all_reduce(z) ranks=tp reduce="sum"'
    found = report(*split("bfloat16", sum=added), tp=2)
    assert found.verdict.name == "PROVED"
    assert found.swept is None
    assert verdict(*split("bfloat16", sum="identity(z)"), tp=2) == "REFUTED"
    assert verdict(*split("int64", sum=added), tp=2) != "PROVED"
    with pytest.raises(PlanFileError, match="adds up truth values"):
        report(*split("bool", sum=added), tp=2)
    for dtype in ("int64", "bool"):
        assert verdict(*split(dtype, sum=added)[:1] * 2) == "PROVED"
