"""Axes that are cut at odd places shrink: parts, paddings and single elements stay what they are."""

import pytest

from tests.values.outline import plans, verdict
from verdict.reduction import shrink
from verdict.semantics import bind

TAKEN = """
  x input [3001, 8]
  w weight [8]
  y activation [8]
  z activation [8]
  y = aten.select.int(x) dim=0 index={}
  z = mul(y, w)
  output z
"""
PUT = """
  x input [8]
  y activation [3001, 8]
  y = aten.select_backward(x) dim=0 index={} input_sizes=(3001, 8)
  output y
"""
PADDED = """
  x input [3001, 8]
  w weight [8, 8]
  p activation [{}, 8]
  y activation [{}, 8]
  p = aten.constant_pad_nd(x) pad=(0, 0, {}) value=0
  y = aten.mm(p, w)
  output y
"""
WRITTEN = """
  x input [2, 3001]
  w weight [2, 3001]
  p activation [2, 3004]
  n activation [2, 3001]
  y activation [2, 3001]
  p = pad(x) dim=1 before={} after={}
  n = narrow(p) dim=1 start={} length=3001
  y = mul(n, w)
  output y
"""


def padded(before, after):
    size = 3001 + before + after
    return PADDED.format(size, size, f"{before}, {after}")


CASES = {
    "an element": (TAKEN.format(2000), TAKEN.format(1999)),
    "the last element": (TAKEN.format(-1), TAKEN.format(2999)),
    "the first element": (TAKEN.format(0), TAKEN.format(1)),
    "an element that is put": (PUT.format(2000), PUT.format(2001)),
    "zeros behind": (padded(0, 7), padded(7, 0)),
    "zeros on both sides": (padded(3, 4), padded(4, 3)),
    "a part without its ends": (padded(-3, -4), padded(-4, -3)),
    "a written padding": (WRITTEN.format(1, 2, 1), WRITTEN.format(1, 2, 2)),
}


def reduced(text):
    """A plan at reduced shapes, beside itself."""
    single, parallel = plans(text, text)
    return shrink(single, parallel, bind(single, parallel))


def longest(text):
    """The longest axis of a plan at reduced shapes."""
    return max(size for shape in reduced(text).small[0].logicals for size in shape)


def test_an_even_cut_is_none_of_uneven_parts():
    assert not reduced(padded(3001, 3001)).uneven


@pytest.mark.parametrize("name", CASES)
def test_a_cut_at_an_odd_place_stays_one_of_few_elements(name):
    right, wrong = CASES[name]
    assert longest(right) < 40
    assert reduced(right).uneven
    assert verdict(right, right) == "PROVED"
    assert verdict(right, wrong) == "REFUTED"


def test_a_padding_of_another_number_keeps_the_axis():
    text = padded(0, 7).replace("value=0", "value=2")
    assert longest(text) > 3000
    assert verdict(text, text) == "PROVED"


def outline(*lines):
    return "\n".join(("", *(f"  {line}" for line in lines), ""))


def turned(times, at):
    """Rows that move down by one, several times; zeros come in behind. One of them is read."""
    lines, steps, rows = ["x input [3001, 8]", "w weight [8]", "y activation [8]", "z activation [8]"], [], "x"
    for k in range(times):
        lines += [f"p{k} activation [3000, 8]", f"q{k} activation [3001, 8]"]
        steps += [
            f"p{k} = aten.slice.Tensor({rows}) dim=0 start=0 end=3000",
            f"q{k} = aten.constant_pad_nd(p{k}) pad=(0, 0, 1, 0) value=0",
        ]
        rows = f"q{k}"
    return outline(*lines, *steps, f"y = aten.select.int({rows}) dim=0 index={at}", "z = mul(y, w)", "output z")


@pytest.mark.parametrize("times", [1, 2, 3, 5, 7])
def test_what_is_moved_again_and_again_stays_before_the_next_cut(times):
    read, nothing = turned(times, 7), turned(times, 7).replace("z = mul(y, w)", "z = aten.zeros_like(w)")
    assert longest(read) < 200
    assert verdict(read, read) == "PROVED"
    assert verdict(read, nothing) == "REFUTED"


def test_what_is_moved_beyond_a_cut_is_zero_there():
    read = turned(8, 7)
    assert verdict(read, read.replace("z = mul(y, w)", "z = aten.zeros_like(w)")) == "PROVED"


def sunk(times):
    """Rows that move down by 40, many times."""
    lines, steps, rows = ["x input [3001, 2]", "w weight [2]", "z activation [3001, 2]"], [], "x"
    for k in range(times):
        lines += [f"p{k} activation [3041, 2]", f"q{k} activation [3001, 2]"]
        steps += [
            f"p{k} = aten.constant_pad_nd({rows}) pad=(0, 0, 40, 0) value=0",
            f"q{k} = aten.slice.Tensor(p{k}) dim=0 start=0 end=3001",
        ]
        rows = f"q{k}"
    return outline(*lines, *steps, f"z = mul({rows}, w)", "output z")


def test_what_is_moved_more_often_than_is_counted_keeps_the_axis():
    assert longest(sunk(9)) < 200
    assert longest(sunk(14)) > 3000
    assert verdict(sunk(14), sunk(14)) == "PROVED"
    assert verdict(sunk(14), sunk(15)) != "PROVED"


APART = """
  x input [3001, 1048576]
  w input [3001, 1048576]
  y activation [3001, 1048576]
"""


def apart(shift):
    """Rows that move down twice, times rows that move up twice: where all moves are longer than the rows, zeros."""
    lines, steps, wide = [], [], 3001 + shift
    for one, before, after, start in (("x", shift, 0, 0), ("w", 0, shift, shift)):
        for k, rows in enumerate((one, f"{one}0")):
            lines += [f"{one}p{k} activation [{wide}, 1048576]", f"{one}{k} activation [3001, 1048576]"]
            steps += [
                f"{one}p{k} = pad({rows}) dim=0 before={before} after={after}",
                f"{one}{k} = narrow({one}p{k}) dim=0 start={start} length=3001",
            ]
    return APART + outline(*lines, *steps, "y = mul(x1, w1)", "output y")


def test_moves_on_both_sides_of_a_product_are_compared_with_the_whole():
    """4 x 750 rows leave one of 3,001, and 4 x 751 leave none."""
    nothing = APART + outline("y = aten.zeros_like(w)", "output y")
    assert verdict(apart(750), nothing) == "REFUTED"
    assert verdict(apart(751), nothing) == "PROVED"


ONE = """
  x input [20, 7000]
  t input int64 [20]
  range t 0 6999
  m activation [20, 1]
  n activation [20]
  f activation [20]
  y activation [20]
  m = one_hot(t) start={at} stop={end}
  n = view(m) size=(20,)
  f = take_ids(x, t) start=0 stop=7000
  y = mul(f, n)
  output y
"""


def test_a_class_by_itself_does_not_keep_the_others():
    single, wrong = (ONE.format(at=at, end=at + 1) for at in (1367, 1368))
    assert longest(single) < 100
    assert verdict(single, single) == "PROVED"
    assert verdict(single, wrong) == "REFUTED"
