"""Obligations as SMT-LIB text: exponentials of large numbers, as masks have them, stay short."""

from fractions import Fraction

from verdict.solver import Terms
from verdict.solver.smtlib import MOST_FACTORS, Script


def lines_of(value):
    return Script(value.terms.below([value])).lines


def test_an_exponential_of_a_mask_is_one_function():
    lines = lines_of((Terms().real("x") - Fraction(10) ** 30).exp())
    assert len(lines) < MOST_FACTORS
    assert all(len(line) < 1000 for line in lines)


def test_an_exponential_of_a_small_multiple_is_a_product():
    assert "(* " in lines_of((Terms().real("x") * 3).exp())[-1]
