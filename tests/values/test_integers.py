"""Integers range over all values of their type at which the single-device plan has a value, and over no others."""

import pytest

from tests.values.outline import plans, report, verdict
from verdict.errors import PlanFileError, PlanMismatchError

ONE = """
  i input {dtype} [6]
  w weight [6]
  y = {op}
  z = mul(y, w)
  loss = sum(z) dim=None keepdim=False
  dz = sum.grad(one, z) dim=None keepdim=False
  -, gw = mul.grad(dz, y, w)
  seed one
  loss loss
  gradient gw of w
"""


def asked(dtype, single, parallel, more=""):
    return verdict(*(ONE.format(dtype=dtype, op=op) + more for op in (single, parallel)))


@pytest.mark.parametrize(
    ("dtype", "right", "wrong"),
    [
        ("int64", "pow(i) exponent=2", "pow(i) exponent=3"),
        ("int64", "clamp(i) min=0 max=1", "clamp(i) min=0 max=5"),
        ("int64", "clamp(i) max=1000", "clamp(i) max=1001"),
        ("int64", "abs(i)", "relu(i)"),
        ("int32", "relu(i)", "identity(i)"),
        ("int16", "clamp(i) max=1000", "clamp(i) max=1001"),
        ("uint8", "clamp(i) max=254", "clamp(i) max=255"),
        ("int8", "clamp(i) min=-128", "clamp(i) min=-127"),
        ("bool", "identity(i)", "mul(i) other=2"),
    ],
)
def test_integers_tell_operators_apart(dtype, right, wrong):
    assert asked(dtype, right, right) == "PROVED"
    assert asked(dtype, right, wrong) != "PROVED"


@pytest.mark.parametrize(
    ("dtype", "one", "other"),
    [
        ("bool", "pow(i) exponent=2", "pow(i) exponent=3"),
        ("bool", "relu(i)", "identity(i)"),
        ("uint8", "clamp(i) max=255", "identity(i)"),
        ("uint8", "abs(i)", "identity(i)"),
        ("int8", "clamp(i) min=-128 max=127", "clamp(i) min=-1000"),
        ("int64", "pow(i) exponent=2", "mul(i, i)"),
    ],
)
def test_what_a_type_cannot_hold_is_not_asked(dtype, one, other):
    assert asked(dtype, one, other) == "PROVED"
    assert (asked("float32", one, other) == "PROVED") is ("mul" in other)


def test_a_stated_range_is_an_assumption():
    clamped, plain = "clamp(i) min=0 max=5", "identity(i)"
    single, parallel = (ONE.format(dtype="int64", op=op) + "  range i 0 5\n" for op in (clamped, plain))
    found = report(single, parallel)
    assert found.verdict.name == "PROVED"
    assert {a.name: a.text for a in found.assumptions}["input-ranges"] == "i lies between 0 and 5"
    assert verdict(single.replace("range i 0 5", "range i 0 6"), plain_of(parallel)) == "REFUTED"
    assert verdict(*(text.replace("  range i 0 5\n", "") for text in (single, parallel))) == "REFUTED"


def plain_of(text):
    return text.replace("  range i 0 5\n", "")


def test_ranges_that_contradict_each_other_are_no_question():
    text = ONE.format(dtype="int64", op="identity(i)")
    with pytest.raises(PlanMismatchError, match="0 to 5"):
        report(text + "  range i 0 5\n", text + "  range i 0 6\n")
    with pytest.raises(PlanMismatchError, match="says nothing"):
        report(text, text + "  range i 0 6\n")


@pytest.mark.parametrize(
    ("line", "words"),
    [("range i 5 0", "between 5 and 0"), ("range w 0 5", "float32"), ("range z 0 5", "no tensor"),
     ("range i 0 5\n  range i 0 6", "two ranges")],
)  # fmt: skip
def test_ranges_that_mean_nothing_are_refused(line, words):
    text = ONE.format(dtype="int64", op="identity(i)") + f"  {line}\n"
    with pytest.raises(PlanFileError, match=words):
        report(text, text)


TABLES = """
  ids input int64 [6]
  w weight [20, 2]
  v weight [4, 2]
  a = embedding(ids, w) start=0 stop=20
  {more}
  b = embedding(ids, v) start=0 stop=4
  c = add({a}, b)
  loss = sum(c) dim=None keepdim=False
  dc = sum.grad(one, c) dim=None keepdim=False
  -, gw = embedding.grad(dc, ids, w) start=0 stop=20
  -, gv = embedding.grad(dc, ids, v) start=0 stop=4
  seed one
  loss loss
  gradient gw of w
  gradient gv of v
"""
DROPPED = """h = one_hot(ids) start=17 stop=18
  s = sum(h) dim=-1 keepdim=True
  n = mul(s) other=-1
  k = add(n) other=1
  d = mul(a, k)"""


def test_ids_range_over_the_largest_table_that_reads_them():
    right = TABLES.format(more="", a="a")
    assert verdict(right, right) == "PROVED"
    assert verdict(right, TABLES.format(more=DROPPED, a="d")) != "PROVED"


BESIDE = """
  x input [6, 5]
  t input int64 [6]
  w weight [5, 5]
  y = linear(x, w)
  loss = cross_entropy(y, t) {ignored}reduction="sum"
  h = one_hot(t) start=0 stop=5
  q = mul(h, y)
  extra = sum(q) dim=None keepdim=False
  dy, - = cross_entropy.grad(one, y, t) {ignored}reduction="sum"
  -, gw = linear.grad(dy, x, w)
  seed one
  loss loss
  output extra
  gradient gw of w
"""


IGNORED = BESIDE.format(ignored="ignore_index=-100 ")


@pytest.mark.parametrize("other", ["", "ignore_index=-1 "])
def test_what_only_unusual_ids_show_is_open_until_a_range_is_stated(other):
    wrong = BESIDE.format(ignored=other)
    assert verdict(IGNORED, IGNORED) == "PROVED"
    found = report(IGNORED, wrong)
    assert found.verdict.name == "UNKNOWN"
    assert any("`range t 0 4`" in item.reason and "`ranges` of a Program" in item.reason for item in found.open)
    for line, answer in (("  range t 0 4\n", "PROVED"), ("  range t -100 4\n", "REFUTED")):
        assert verdict(IGNORED + line, wrong + line) == answer


def test_what_usual_ids_show_is_refuted():
    assert verdict(IGNORED, BESIDE.format(ignored="ignore_index=2 ")) == "REFUTED"
    assert verdict(IGNORED, IGNORED.replace("stop=5", "stop=4")) == "REFUTED"


LENGTHS = """
  t input int64 [6]
  n input int8 [6]
  w weight [5, 6]
  y = embedding(t, w) start=0 stop=5
  c = {op}
  z = mul(y, c)
  loss = sum(z) dim=None keepdim=False
  dz = sum.grad(one, z) dim=None keepdim=False
  dy, - = mul.grad(dz, y, c)
  -, gw = embedding.grad(dy, t, w) start=0 stop=5
  seed one
  loss loss
  gradient gw of w
"""


def test_integers_that_nobody_looks_up_are_any_of_their_type():
    right, wrong = (LENGTHS.format(op=op) for op in ("clamp(n) min=-128", "clamp(n) min=-127"))
    assert verdict(right, right) == "PROVED"
    assert verdict(right, wrong) == "REFUTED"


def test_rows_of_two_tables_are_usual_where_either_has_them():
    assert verdict(TABLES.format(more="", a="a"), TABLES.format(more=DROPPED, a="d")) == "REFUTED"


def test_elements_of_one_tensor_may_range_over_different_tables():
    """Half of the ids are read by a small table that knows no others, half by a large one."""
    text = """
      ids input int64 [8]
      w buffer [20, 2]
      v buffer [4, 2]
      small, large = split(ids) dim=0 sizes=(4, 4)
      a = aten.embedding(v, small)
      b = aten.embedding(w, {large})
      c = add(a, b)
      output c
    """
    right = text.format(large="large")
    assert verdict(right, right) == "PROVED"
    wrong = right.replace("b = aten", "m = clamp(large) max=15\n      b = aten").replace("(w, large)", "(w, m)")
    assert verdict(right, wrong) != "PROVED"
    same = right.replace("b = aten", "m = clamp(large) max=19\n      b = aten").replace("(w, large)", "(w, m)")
    assert verdict(right, same) == "PROVED"
    bound = right.replace("a = aten", "m = clamp(small) max=3\n      a = aten").replace("(v, small)", "(v, m)")
    assert verdict(right, bound) == "PROVED"


def test_a_lookup_that_knows_fewer_ids_is_not_the_same():
    """Where the single-device plan has a value, the parallel plan must have one, too."""
    right = """
      ids input int64 [6]
      w weight [5, 2]
      y = embedding(ids, w) start=0 stop=5
      output y
    """
    strict = right.replace("embedding(ids, w) start=0 stop=5", "aten.embedding(w, ids)")
    assert verdict(right, strict) != "PROVED"
    assert verdict(strict, right) == "PROVED"
    single, parallel = plans(right, strict)
    assert single.logicals[0].dtype == parallel.logicals[0].dtype == "int64"
