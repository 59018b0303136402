"""A count that is kept from zero by a bound is the count where the single side divides by it."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from tests.solver.build import obligation
from verdict.ops import logic
from verdict.options import SolverOptions
from verdict.outcome import Proved
from verdict.solver import Terms, check

WITHOUT_SMT = SolverOptions(z3=False)


@pytest.fixture
def terms():
    return Terms()


def count_of(terms, size=12):
    """How many of some integers are not the last of their nine values."""
    return sum(1 - terms.indicator(terms.index(f"i{k}", 9), 8) for k in range(size))


def proved(terms, single, parallel, both=False):
    asked = replace(obligation(terms, ("y", single, parallel)), both=both)
    return isinstance(check(asked, WITHOUT_SMT), Proved)


def test_a_bound_of_at_most_one_is_none_where_the_count_divides(terms):
    count, x = count_of(terms), terms.real("x")
    for bound in (1, Fraction(1, 10**8)):
        assert proved(terms, x / count, x / count.maximum(bound))
        assert proved(terms, (x - 1) / (3 * count), (x - 1) / 3 / count.maximum(bound))


def test_other_bounds_are_some(terms):
    count, x = count_of(terms), terms.real("x")
    assert not proved(terms, x / count, x / count.maximum(2))
    assert not proved(terms, x / count, x / count.maximum(x * 0 + 2))


def test_what_divides_by_another_count_says_nothing(terms):
    count, other, x = count_of(terms), 1 - terms.indicator(terms.index("j", 9), 8), terms.real("x")
    assert not proved(terms, x / other, x / other * count / count.maximum(1))
    assert not proved(terms, x, x * count / count.maximum(1))


def test_real_numbers_and_integers_below_zero_are_no_counts(terms):
    x, y = terms.real("x"), terms.real("y")
    below = terms.index("i", 40) + terms.index("j", 200) - 7
    assert not proved(terms, x / y, x / y.maximum(1))
    assert not proved(terms, x / below, x / below.maximum(1))


def test_where_both_sides_must_have_values_a_bound_counts(terms):
    count, x = count_of(terms), terms.real("x")
    assert not proved(terms, x / count, x / count.maximum(1), both=True)


def test_a_quotient_that_is_guarded_says_nothing(terms):
    """It has a value where the count is zero, too."""
    count, x = count_of(terms, 3), terms.real("x")
    some = 1 - count.indicator(0)
    (guarded,) = logic.where(*(np.array([each], dtype=object) for each in (some, x / count, 0)))
    assert proved(terms, guarded, guarded)
    assert not proved(terms, guarded, x / count.maximum(1))
    assert not proved(terms, some * (x / count), x / count.maximum(1))
