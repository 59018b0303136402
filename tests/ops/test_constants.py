"""Constants of recorded programs: a float that stands for a root is that root, any other is what it is written as."""

import math
from fractions import Fraction

import numpy as np
import pytest

from verdict.ops import RULES
from verdict.ops.aten.form import root_of
from verdict.options import SolverOptions
from verdict.outcome import Proved
from verdict.solver import Goal, Obligation, Terms, check


@pytest.mark.parametrize("number", [2, 3, 8, 12, 128])
def test_roots_are_known(number):
    assert root_of(number**0.5) == number
    assert root_of(number**-0.5) == root_of(1 / math.sqrt(number)) == Fraction(1, number)


@pytest.mark.parametrize("number", [Fraction("0.001999"), Fraction("0.002997001"), Fraction("12.5")])
def test_roots_of_short_decimals_are_known(number):
    assert root_of(math.sqrt(number)) == number


@pytest.mark.parametrize("value", [2.0, 0.5, 1.0, 1.4142, 0.1, -math.sqrt(2), 1e-5, 1e30, math.inf, math.pi])
def test_other_numbers_are_no_roots(value):
    assert root_of(value) is None


@pytest.mark.parametrize(("ranks", "divisor", "same"), [(2, 2**0.5, True), (8, 8**0.5, True), (2, 1.4142, False)])
def test_squares_of_what_is_divided_by_a_root_add_up(ranks, divisor, same):
    """A norm that several ranks hold, as DTensor adds it up: n (x / n ** 0.5)^2 is x^2."""
    terms = Terms()
    x = np.array([terms.real("x"), 3], dtype=object)
    (share,) = RULES["aten.div.Tensor"].forward([x], {"other": divisor})
    found = check(Obligation(terms, (Goal("sum", x * x, ranks * share * share),)), SolverOptions())
    assert isinstance(found, Proved) is same
