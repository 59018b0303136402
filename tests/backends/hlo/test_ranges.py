"""Ranges of parameters: what they decide while a module is read, and what is proved by them alone."""

import math
from itertools import product
from pathlib import Path

import pytest

from tests.backends.hlo.test_pair import changed
from verdict.backends.hlo.pair import parallel_of, single_of
from verdict.backends.hlo.ranges import compared, span_of
from verdict.backends.hlo.text import read_module
from verdict.backends.text import read
from verdict.errors import PlanFileError
from verdict.options import Options
from verdict.pipeline import verify
from verdict.report import Verdict

TEXTS = Path(__file__).with_name("ranged")
RANGES = {"ids": (0, 4), "target": (0, 2)}
HOW = {
    "LT": int.__lt__, "LE": int.__le__, "GT": int.__gt__, "GE": int.__ge__, "EQ": int.__eq__, "NE": int.__ne__,
}  # fmt: skip
COMPUTED = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "maximum": max,
    "minimum": min,
    "clamp": lambda low, x, high: min(max(x, low), high),
}
SPANS = [(low, high) for low in range(-2, 3) for high in range(low, 3)]


def report_of(after, ranges):
    one, other = read_module((TEXTS / "entropy.before.hlo").read_text(), "before"), read_module(after, "after")
    return verify(single_of(one, other, ranges), parallel_of(one, other, (), ranges), Options())


@pytest.mark.parametrize("direction", HOW)
def test_a_comparison_is_decided_where_all_elements_agree(direction):
    for one, other in product(SPANS, SPANS):
        found = {HOW[direction](x, y) for x in range(one[0], one[1] + 1) for y in range(other[0], other[1] + 1)}
        assert compared(direction, one, other) == (found.pop() if len(found) == 1 else None)
    assert compared(direction, None, (0, 1)) is None


@pytest.mark.parametrize("opcode", COMPUTED)
def test_a_span_holds_all_that_is_computed(opcode):
    for spans in product(SPANS, repeat=3 if opcode == "clamp" else 2):
        made = [COMPUTED[opcode](*given) for given in product(*(range(low, high + 1) for low, high in spans))]
        assert span_of(f"hlo.{opcode}", spans, "int32") == (min(made), max(made))


def test_nothing_is_known_of_what_wraps_around_or_is_not_followed():
    assert span_of("hlo.add", ((100, 120), (0, 8)), "int8") is None
    assert span_of("hlo.subtract", ((0, 4), (0, 4)), "uint32") is None
    assert span_of("hlo.add", ((0, 1 << 61), (0, 1 << 61)), "int64") is None
    assert span_of("hlo.multiply", ((0, 1 << 16), (0, 1 << 16)), "int32") is None
    assert span_of("hlo.power", ((0, 4), (0, 4)), "int32") is None
    assert span_of("hlo.remainder", ((0, 4), (1, 2)), "int32") is None
    assert span_of("hlo.add", (None, (0, 4)), "int32") is None
    assert span_of("hlo.select", (None, (0, 4), (-3, 1)), "int32") == (-3, 4)
    assert span_of("hlo.pad", ((2, 4), (0, 0)), "int32") == (0, 4)


@pytest.mark.parametrize("ends", [(-7, 9), (-7, -2), (3, 9), (0, 2), (-2, 0)])
@pytest.mark.parametrize("by", [1, 4, 20])
def test_ranges_of_quotients_remainders_and_products_hold_all_of_them(ends, by):
    every = range(ends[0], ends[1] + 1)
    made = {
        "divide": [math.trunc(value / by) for value in every],
        "remainder": [int(math.fmod(value, by)) for value in every],
        "multiply": [value * by for value in every],
    }
    for opcode, values in made.items():
        low, high = span_of(f"hlo.{opcode}", (ends, (by, by)), "int32")
        assert low <= min(values)
        assert max(values) <= high


def test_cross_entropy_is_proved_where_ids_name_rows():
    report = report_of((TEXTS / "entropy.after.hlo").read_text(), RANGES)
    assert report.verdict is Verdict.PROVED
    assert "input-ranges" in {each.name for each in report.assumptions}


def test_a_reduction_that_is_left_out_is_refuted_within_the_ranges():
    text = (TEXTS / "entropy.after.hlo").read_text()
    start = text.index("all-reduce(%scatter.1)")
    dropped = text[:start] + "copy(%scatter.1)" + text[text.index("\n", start) :]
    assert report_of(dropped, RANGES).verdict is Verdict.REFUTED


def test_another_scale_is_refuted_within_the_ranges():
    text = changed((TEXTS / "entropy.after.hlo").read_text(), "f32[] constant(0.1)", "f32[] constant(0.2)")
    assert report_of(text, RANGES).verdict is Verdict.REFUTED


@pytest.mark.parametrize(
    ("ranges", "words"),
    [
        ({"rows": (0, 4)}, "which is no parameter of integers"),
        ({"table": (0, 4)}, "these are: ids, target"),
        ({"ids": (4, 0)}, "the range 4 to 0 of ids is no range of int32"),
        ({"ids": (0, 1 << 40)}, "is no range of int32"),
    ],
)
def test_a_range_that_is_none(ranges, words):
    with pytest.raises(PlanFileError) as found:
        report_of((TEXTS / "entropy.after.hlo").read_text(), ranges)
    assert words in str(found.value)


LEFT = """verdict-plan 1
devices 1
replicas 1
microbatches 1
range k -8 8
tensors
  k input int32 [2]
  x input float32 [2]
  twenty activation int32 [2]
  k20 activation int32 [2]
  more activation int32 [2]
  sum activation int32 [2]
  all activation int32 [2]
  left activation int32 [2]
  zero activation int32 [2]
  any activation bool [2]
  one activation float32 [2]
  y activation float32 [2]
family 0
segment step
  k, x = dataloader()
  twenty = hlo.constant() dtype="int32" shape=(2,) values=(20, 20)
  k20 = hlo.multiply(k, twenty)
  more = hlo.constant() dtype="int32" shape=(2,) values=({more}, {more})
  sum = hlo.add(k20, more)
  all = hlo.constant() dtype="int32" shape=(2,) values=(256, 256)
  left = hlo.remainder(sum, all)
  zero = hlo.constant() dtype="int32" shape=(2,) values=(0, 0)
  any = hlo.compare(left, zero) direction="NE"
  one = hlo.convert(any) dtype="float32" saturate=False
  y = hlo.multiply(x, one)
call step 0
output y
end
"""


@pytest.mark.parametrize(("more", "verdict"), [(128, Verdict.PROVED), (96, Verdict.REFUTED)])
def test_what_is_left_of_a_division_is_computed_of_a_range(more, verdict):
    """No multiple of 20 is 128 short of a multiple of 256, so that y is x; 160 is 96 short of one."""
    parallel = LEFT.format(more=more)
    single = parallel.replace("multiply(x, one)", "reshape(x) size=(2,)")
    assert verify(read(single.encode(), "single"), read(parallel.encode(), "parallel"), Options()).verdict is verdict
