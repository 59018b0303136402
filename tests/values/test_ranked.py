"""What is looked up at places that an order of unknown numbers gives is a number: each place is one of the row's."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from tests.values.outline import verdict
from verdict.solver.functions import on_floats, on_fractions, on_intervals
from verdict.solver.intervals import Intervals, UncertainError

PLAN = """
  x input [3, 4]
  y input [3, 4]
  {place}
  a = aten.gather(x, i) dim=1
  b = aten.gather(y, i) dim=1
  {made}
  output out
"""
PLACES = {
    "the greatest": "i = aten.argmax(x) dim=1 keepdim=True",
    "the greatest and its place": "v, i = aten.max.dim(x) dim=1 keepdim=True",
    "the two greatest": "v, i = aten.topk(x) k=2 dim=1",
    "an order": "v, i = aten.sort(x) dim=1",
}
PRODUCT = "p = add(a, b)\n  q = sub(a, b)\n  out = mul(p, q)"
SQUARES = "p = mul(a, a)\n  q = mul(b, b)\n  out = sub(p, q)"
WRONG = {
    "a sign": "p = mul(a, a)\n  q = mul(b, b)\n  out = add(p, q)",
    "a factor": "p = mul(a, a)\n  q = mul(a, b)\n  out = sub(p, q)",
}


@pytest.mark.parametrize("place", PLACES)
def test_what_is_looked_up_at_places_of_an_order_is_proved(place):
    one, other = (PLAN.format(place=PLACES[place], made=made) for made in (PRODUCT, SQUARES))
    assert verdict(one, other) == "PROVED"
    assert verdict(other, one) == "PROVED"


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("place", PLACES)
def test_what_differs_there_is_refuted(place, wrong):
    one, other = (PLAN.format(place=PLACES[place], made=made) for made in (PRODUCT, WRONG[wrong]))
    assert verdict(one, other) == "REFUTED"


@pytest.mark.parametrize("place", PLACES)
def test_places_of_other_numbers_are_refuted(place):
    moved = PLACES[place].replace("(x)", "(y)")
    one, other = (PLAN.format(place=asked, made=PRODUCT) for asked in (PLACES[place], moved))
    assert verdict(one, other) == "REFUTED"


ROWS = [[Fraction(value, 2) for value in row] for row in ([3, 1, 2, -4], [1, 1, 0, 1], [0, 0, 0, 0])]


def asked(row: list, first: int, slot: int, element: int) -> tuple[str, list]:
    """The name and the arguments by which a choice is asked of a row."""
    name = f"ranked at {first}" if first else "ranked"
    return name, [row[first], *row[:first], *row[first + 1 :], Fraction(slot), Fraction(element)]


@pytest.mark.parametrize("row", ROWS)
def test_an_order_is_numpys_on_floats_and_exact_numbers(row):
    order = np.argsort([-float(value) for value in row], kind="stable")
    for first, slot, element in product(range(4), repeat=3):
        name, args = asked(row, first, slot, element)
        wanted = int(order[slot] == element)
        assert on_fractions(name, args) == wanted
        assert on_floats(name, [np.array([float(arg)]) for arg in args]).tolist() == [wanted]


def test_minus_infinity_comes_last():
    row = [None, Fraction(-1000), None, Fraction(2)]
    for slot, element in enumerate([3, 1, 0, 2]):
        name, args = asked(row, 1, slot, element)
        assert on_fractions(name, args) == 1
        floats = [np.array([-np.inf if arg is None else float(arg)]) for arg in args]
        assert on_floats(name, floats).tolist() == [1]


def test_an_order_of_intervals_is_certain_or_refused():
    intervals = Intervals(53)
    apart = [intervals.exp(intervals.of(Fraction(value))) for value in (1, 3, 2)]
    numbers = [intervals.of(Fraction(value)) for value in (0, 1)]
    assert on_intervals("ranked", [*apart, numbers[0], numbers[1]], intervals) == numbers[1]
    assert on_intervals("ranked", [*apart, numbers[0], numbers[0]], intervals) == numbers[0]
    alike = [apart[0], apart[0], apart[2]]
    with pytest.raises(UncertainError):
        on_intervals("ranked", [*alike, numbers[0], numbers[1]], intervals)
