"""Arithmetic on exact rationals: exact where it can be, the nearest float elsewhere, never a wrong number."""

import math
from fractions import Fraction

import numpy as np
import pytest

from tests.ops.terms import Term
from verdict.ops import numbers

HUGE, TINY = Fraction(10**400), Fraction(1, 10**400)
INFINITE = float("inf")
HUGE_COUNT = 1 << 20
"""So many digits no power has that is written out."""


def _objects(*values):
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made


@pytest.mark.parametrize(
    ("function", "value", "expected"),
    [
        (numbers.exp, 0, 1),
        (numbers.exp, -INFINITE, 0),
        (numbers.exp, Fraction(1, 2), math.exp(0.5)),
        (numbers.exp, HUGE, INFINITE),
        (numbers.exp, -HUGE, 0),
        (numbers.log, 1, 0),
        (numbers.log, 0, -INFINITE),
        (numbers.log, Fraction(1, 2), math.log(0.5)),
        (numbers.sqrt, Fraction(9, 4), Fraction(3, 2)),
        (numbers.sqrt, 2, math.sqrt(2)),
        (numbers.sqrt, Fraction(10**40 + 1) ** 2, Fraction(10**40 + 1)),
        (numbers.sigmoid, 0, Fraction(1, 2)),
        (numbers.sigmoid, -INFINITE, 0.0),
        (numbers.tanh, 0, 0),
        (numbers.erf, 0, 0),
        (numbers.erf, 1, math.erf(1)),
        (numbers.step, TINY, 1),
        (numbers.step, 0, 0),
        (numbers.step, -TINY, 0),
    ],
)
def test_functions_on_rationals(function, value, expected):
    (found,) = function(_objects(value))
    assert found == expected
    assert not isinstance(expected, (int, Fraction)) or isinstance(found, (int, Fraction))


@pytest.mark.parametrize("function", [numbers.log, numbers.sqrt])
def test_what_is_not_defined_is_not_a_number(function):
    assert math.isnan(function(_objects(Fraction(-1)))[0])


def test_powers():
    assert numbers.power(_objects(Fraction(8, 27)), Fraction(-2, 3))[0] == Fraction(9, 4)
    assert numbers.power(_objects(Fraction(-2, 3)), Fraction(3))[0] == Fraction(-8, 27)
    assert numbers.power(_objects(HUGE + 1), Fraction(1, 2))[0] == INFINITE
    assert numbers.power(_objects(HUGE + 1), Fraction(-1, 2))[0] == 0
    assert math.isnan(numbers.power(_objects(Fraction(0)), Fraction(-1, 2))[0])
    assert math.isnan(numbers.power(_objects(0), Fraction(-3))[0])
    assert numbers.power(_objects(Fraction(9, 10)), Fraction(HUGE_COUNT))[0] == 0.9**HUGE_COUNT
    assert numbers.power(_objects(-1), Fraction(HUGE_COUNT + 1))[0] == -1


def test_constants_are_what_they_are_written_as():
    assert numbers.scalar(_objects(1), 1e-05) == Fraction(1, 100000)
    assert numbers.scalar(_objects(1), np.float64(0.1)) == Fraction(1, 10)
    assert numbers.scalar(np.ones(1), Fraction(1, 4)) == 0.25


def test_division_of_ints_is_exact():
    (found,) = numbers.divide(_objects(1), 3)
    assert found == Fraction(1, 3)


def test_maximum_takes_terms_on_either_side():
    mixed = numbers.maximum(_objects(Term(1), Fraction(3), -INFINITE), _objects(2, Term(1), 0))
    assert [value.value if isinstance(value, Term) else value for value in mixed] == [2, 3, 0]
    assert numbers.amax(np.array([[1, 5, 3]], dtype=object), 1).tolist() == [[5]]


def test_ids_are_ints_only_where_none_is_a_term():
    assert numbers.integers(_objects(1, Fraction(2))).tolist() == [1, 2]
    assert numbers.integers(_objects(1, Term(2))) is None


@pytest.mark.parametrize(
    ("value", "constant"),
    [
        (2 / 7, Fraction(2, 7)),
        (-8 / 7, Fraction(-8, 7)),
        (1 / 1023, Fraction(1, 1023)),
        (0.1, Fraction(1, 10)),
        (1e-05, Fraction(1, 100000)),
        (1e-20, Fraction(1, 10**20)),
        (0.1 + 0.2, Fraction("0.30000000000000004")),
        (math.nextafter(2 / 7, 1), Fraction(repr(math.nextafter(2 / 7, 1)))),
        (math.sqrt(2), Fraction(repr(math.sqrt(2)))),
    ],
)
def test_a_float_is_the_constant_that_it_is_written_as(value, constant):
    assert numbers.rational(value) == constant
    assert float(constant) == value
