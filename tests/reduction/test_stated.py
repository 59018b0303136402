"""Stated ranges of integers that name elements of an axis shrink as the axis does: what they decide stays decided."""

import pytest

from tests.values.outline import plans, verdict
from verdict.concrete.comparison import prepare

LOOKUP = 'batching=() collapsed=(0,) index_batching=() index_vector=1 offset=(1,) sizes=(1, 300) start_map=(0,)'
PLAN = f"""
  w weight [16000, 300]
  t input int32 [20, 1]
  range t {{low}} {{high}}
  y activation [20, 300]
  y = hlo.gather(w, t) {LOOKUP}
  output y
"""
MASKED = f"""
  w weight [16000, 300]
  t input int32 [20, 1]
  range t {{low}} {{high}}
  m activation bool [20, 1]
  f activation bool [20]
  k activation bool [20, 300]
  r activation [20, 300]
  z activation [20, 300]
  y activation [20, 300]
  r = hlo.gather(w, t) {LOOKUP}
  z = aten.zeros_like(r)
  m = {{op}}.Scalar(t) other={{other}}
  f = hlo.reshape(m) size=(20,)
  k = hlo.broadcast(f) size=(20, 300) dims=(0,)
  y = hlo.select(k, r, z)
  output y
"""
CASES = {
    "the last row": (0, 15999, "aten.lt", 16000, "PROVED"),
    "the last row is left out": (0, 15999, "aten.lt", 15999, "REFUTED"),
    "a row behind the last one": (0, 16000, "aten.lt", 16000, "REFUTED"),
    "a row in between": (0, 5000, "aten.lt", 5001, "PROVED"),
    "that row is left out": (0, 5000, "aten.lt", 5000, "REFUTED"),
    "the first row of those that are named": (300, 9000, "aten.ge", 300, "PROVED"),
    "that one is left out": (300, 9000, "aten.gt", 300, "REFUTED"),
    "a single row": (8000, 8000, "aten.eq", 8000, "PROVED"),
    "the row beside it": (8000, 8000, "aten.eq", 8001, "REFUTED"),
    "a row before the first one": (-1, 15999, "aten.ge", 0, "REFUTED"),
}


@pytest.mark.parametrize("name", CASES)
def test_what_a_range_decides_is_decided_at_reduced_shapes(name):
    low, high, op, other, expected = CASES[name]
    one, masked = PLAN.format(low=low, high=high), MASKED.format(low=low, high=high, op=op, other=other)
    assert verdict(one, masked) == expected
    assert verdict(masked, masked) == "PROVED"


ADDED = """
  w weight [10000, 300]
  i input {dtype} [6]
  j input {dtype} [6]
  k input {dtype} [6]
  range i 0 85
  range j 0 85
  range k 0 {last}
  {rest}
  y activation [6, 300]
  y = aten.index.Tensor(w, t) indices_count=1
  output y
"""
WIDENED = """a activation int64 [6]
  b activation int64 [6]
  c activation int64 [6]
  s activation int64 [6]
  t activation int64 [6]
  a = aten._to_copy(i) dtype="int64"
  b = aten._to_copy(j) dtype="int64"
  c = aten._to_copy(k) dtype="int64"
  s = aten.add.Tensor(a, b)
  t = aten.add.Tensor(s, c)"""
NARROW = """s activation {dtype} [6]
  n activation {dtype} [6]
  t activation int64 [6]
  s = aten.add.Tensor(i, j)
  n = aten.add.Tensor(s, k)
  t = aten._to_copy(n) dtype=\"int64\""""


@pytest.mark.parametrize("last", [85, 86])
def test_sums_of_ids_that_only_full_ranges_wrap_around_are_no_sums(last):
    """85 + 85 + 86 is 0 in eight bits: at reduced shapes ids are smaller."""
    texts = (ADDED.replace("{rest}", rest) for rest in (WIDENED, NARROW))
    wide, narrow = (text.format(dtype="uint8", last=last) for text in texts)
    assert verdict(wide, wide) == "PROVED"
    assert (verdict(wide, narrow) == "PROVED") <= (last == 85)
    assert verdict(*(text.replace("uint8", "int32") for text in (wide, narrow))) == "PROVED"


MOVED = """
  w weight [10000, 300]
  i input int32 [6]
  range i 0 9999
  m activation int32 [6]
  t activation int32 [6]
  y activation [6, 300]
  m = aten.add.Scalar(i) other={0}
  t = aten.sub.Scalar(m) other={0}
  y = aten.index.Tensor(w, t) indices_count=1
  output y
"""


@pytest.mark.parametrize(("number", "shrinks"), [(9990, True), ((1 << 31) - 9990, False)])
def test_numbers_that_ids_wrap_around_with_do_not_shrink(number, shrinks):
    text = MOVED.format(number)
    assert (prepare(*plans(text, text)).small[0].logicals[0][0] < 10000) is shrinks
