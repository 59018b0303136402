"""Random numbers of equal elements and of constants: the model of them proves nothing, and says so."""

import pytest

from tests.values.outline import report, verdict

BIAS = """
  x input [4, 3]
  b weight [1, 3]
  {steps}
  y = add(x, {last})
  y activation [4, 3]
  output y
"""
BEFORE = "d = dropout(b) p=0.1 training=True\n  d activation [1, 3]"
AFTER = """e = aten.expand(b) size=(4,3)
  e activation [4, 3]
  d = dropout(e) p=0.1 training=True
  d activation [4, 3]"""
MASK = """
  x input [4, 3]
  o activation [4, 1]
  o = aten.ones() size=(4,1)
  {steps}
  y = mul(x, m)
  m activation [4, 1]
  y activation [4, 3]
  output y
"""
KEPT = {
    "dropped": "m = dropout(o) p=0.5 training=True",
    "left out": "m = identity(o)",
    "keyed": "m = keyed_dropout(o) p=0.5 key=3 offset=(0,0)",
    "never zero": "n = keyed_dropout(o) p=0.5 key=3 offset=(0,0)\n  n activation [4, 1]\n  m = clamp(n) min=0.1",
}


def test_one_draw_for_all_rows_is_not_a_draw_for_each():
    each, one = BIAS.format(steps=AFTER, last="d"), BIAS.format(steps=BEFORE, last="d")
    assert verdict(one, one) == "PROVED"
    for single, parallel in ((each, one), (one, each)):
        found = report(single, parallel)
        assert found.verdict.name != "PROVED"
        assert any("equal values" in left.reason for left in found.open)


ZEROS = """
  x input [2, 3]
  u weight [4, 3]
  b weight [4]
  w weight [3, 4]
  z activation [2, 3]
  y activation [2, 3]
  {steps}
  output y
"""
EVERY = "y = feedforward(z, u, b, w) dropout={rate}"
ONE = """r activation [1, 3]
  h activation [1, 3]
  r = aten.narrow(z) dim=0 start=0 length=1
  h = feedforward(r, u, b, w) dropout={rate}
  y = aten.expand(h) size=(2,3)"""
MADE = "z = mul(x) other=0.0\n  "

PAIRS = [("dropped", "left out"), ("left out", "dropped"), ("keyed", "never zero")]


@pytest.mark.parametrize(("single", "parallel"), PAIRS)
def test_what_is_drawn_for_constants_is_no_number(single, parallel):
    found = report(MASK.format(steps=KEPT[single]), MASK.format(steps=KEPT[parallel]))
    assert found.verdict.name == "UNKNOWN"
    assert any("constants" in left.reason or "equal values" in left.reason for left in found.open)
    assert verdict(MASK.format(steps=KEPT["left out"]), MASK.format(steps=KEPT["left out"])) == "PROVED"


@pytest.mark.parametrize(("rate", "expected"), [(0.0, "PROVED"), (0.25, "UNKNOWN")])
def test_rows_of_zeros_are_dropped_apart_within_an_operator(rate, expected):
    every, one = (ZEROS.format(steps=MADE + steps.format(rate=rate)) for steps in (EVERY, ONE))
    for single, parallel in ((every, one), (one, every)):
        assert verdict(single, parallel) == expected


GRADIENT = """
  x input [4, 3]
  w weight [4, 3]
  z activation [4, 3]
  d activation [4, 3]
  y activation [4, 3]
  z = mul(x) other=0.0
  d = mul(w, w)
  {steps}
  output y
"""
SLOPES = {
    "dropped": "y = dropout.grad(d, z) p=0.5 training=True",
    "doubled": "y = mul(d) other=2",
    "added": "y = add(d, d)",
}


@pytest.mark.parametrize(
    ("single", "parallel", "expected"),
    [("dropped", "doubled", "UNKNOWN"), ("doubled", "dropped", "UNKNOWN"), ("doubled", "added", "PROVED")],
)
def test_a_gradient_that_is_dropped_for_zeros_is_not_a_multiple_of_it(single, parallel, expected):
    assert verdict(*(GRADIENT.format(steps=SLOPES[name]) for name in (single, parallel))) == expected
