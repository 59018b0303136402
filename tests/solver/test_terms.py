"""Terms: what is one object, what is folded, what is refused."""

from fractions import Fraction

import numpy as np
import pytest

from tests.solver.build import HALF, MINUS_INFINITY, array
from verdict.ops.elements import part
from verdict.solver import Kind, Sign, SolverError, Terms


@pytest.fixture
def terms():
    return Terms()


@pytest.fixture
def xyz(terms):
    return [terms.real(name) for name in "xyz"]


def test_order_and_grouping_of_sums_and_products_do_not_matter(xyz):
    x, y, z = xyz
    assert x + (y + z) is (z + x) + y
    assert x * (y * z) is (z * x) * y
    assert x - y is -(y - x)
    assert 2 * x * y is x * (y + y)
    assert 3 * (x + y) is 3 * y + 3 * x


def test_numbers_of_all_exact_kinds(terms, xyz):
    x = xyz[0]
    assert x + 1 is 1 + x is x + Fraction(1) is x + np.int64(1)
    assert x / 2 is HALF * x
    assert terms.constant(Fraction(4, 2)) is terms.constant(2)
    assert x + 0 is x
    assert x * 1 is x
    assert x * 0 is terms.constant(0)
    assert x - x is terms.constant(0)


@pytest.mark.parametrize("number", [0.5, 1.0, np.float32(2), True])
def test_numbers_that_are_not_exact_are_refused(xyz, number):
    with pytest.raises(TypeError):
        xyz[0] + number


@pytest.mark.parametrize("number", [float("inf"), np.float32("inf")])
def test_there_are_no_terms_of_plus_infinity(xyz, number):
    assert xyz[0] + float("-inf") is xyz[0].terms.minus_infinity
    with pytest.raises(SolverError, match=f"no terms of {float(number)}"):
        xyz[0] + number


def test_what_is_no_number_stays_that(xyz):
    nan = float("nan")
    made = [xyz[0] + nan, xyz[0] * nan, (xyz[0] + nan) * 0, nan / xyz[0], (xyz[0] + nan).exp(), xyz[0].maximum(nan)]
    assert {term.kind for term in made} == {Kind.UNDEFINED}
    assert not xyz[0].terms.nowhere  # a proof takes nothing for granted where there is one


def test_arrays(terms):
    x, w = array(terms, "x", 2, 3), array(terms, "w", 3, 2)
    product = x @ w
    assert product[1, 0] is x[1, 0] * w[0, 0] + x[1, 1] * w[1, 0] + x[1, 2] * w[2, 0]
    assert (x[0, 0] + x)[0, 1] is x[0, 0] + x[0, 1]
    assert (np.array([1, Fraction(1, 2)], dtype=object) * x[0, 0])[1] is x[0, 0] / 2


def test_minus_infinity(terms, xyz):
    x = xyz[0]
    masked = x + MINUS_INFINITY
    assert masked is MINUS_INFINITY + x
    assert masked.kind is Kind.MINUS_INFINITY
    assert masked.exp() is terms.constant(0)
    assert masked.maximum(x) is x
    assert x.maximum(MINUS_INFINITY) is x
    assert masked - x.exp() is masked
    assert masked * 2 is masked
    for undefined in (masked * 0, x - masked, masked - masked, masked * x, 1 / masked, -masked, masked.log()):
        assert undefined.kind is Kind.UNDEFINED
        assert (undefined + x).exp().kind is Kind.UNDEFINED


def test_a_part_that_is_not_chosen_is_zero_be_it_minus_infinity(terms, xyz):
    never, open_ = terms.constant(0), terms.index("i", 3).indicator(0)
    for value in (xyz[0] + MINUS_INFINITY, MINUS_INFINITY):
        assert part(never, value) is terms.constant(0)
        assert part(open_, value).kind is Kind.UNDEFINED
    assert part(open_, 2) is open_ * 2


def test_maximum_is_a_flat_set(terms, xyz):
    x, y, z = xyz
    assert x.maximum(y).maximum(z) is z.maximum(x.maximum(y.maximum(x)))
    assert x.maximum(2).maximum(3) is x.maximum(3)
    assert x.maximum(x) is x
    assert terms.constant(1).maximum(2) is terms.constant(2)


def test_indicators(terms):
    i = terms.index("i", 3)
    assert (i - 2).indicator(0) is i.indicator(2)
    assert i.indicator(3) is terms.constant(0)
    assert (i + 5).indicator(2) is terms.constant(0)
    assert terms.index("one", 1).indicator(0) is terms.constant(1)
    x = terms.real("x")
    assert (x - 2).indicator(1) is 1 - (x - 3).opaque("step") - (3 - x).opaque("step")


def test_exponentials_powers_and_logarithms(terms, xyz):
    x = xyz[0]
    assert (x - x).exp() is terms.constant(1)
    assert 1 / x.exp() is (-x).exp()
    assert x.exp() / x.exp() is terms.constant(1)
    assert x.exp().log() is x
    partial = 1 / x
    assert not (partial.exp() / partial.exp()).total
    assert terms.constant(Fraction(4, 9)).power(Fraction(3, 2)) is terms.constant(Fraction(8, 27))
    assert terms.constant(1).log() is terms.constant(0)
    assert x.power(2) is x * x
    assert x.power(-1) is 1 / x
    assert 1 / x.power(HALF) is x.power(-HALF)
    assert terms.constant(-1).power(HALF).kind is Kind.UNDEFINED
    assert terms.constant(0).log().kind is Kind.UNDEFINED


def test_domain_conditions_survive_folding(xyz):
    x, y, _ = xyz
    quotient = x / y
    for term in (0 * quotient, quotient - quotient, quotient.power(0), y * (1 / y), x.log().exp()):
        assert not term.total
    for term in (x.exp() / y.exp(), 1 / (x * x + 1), (x * x).power(HALF), (x.exp() + 1).log()):
        assert term.total


def test_signs(terms, xyz):
    x, y, _ = xyz
    p = terms.positive("p")
    assert (x * x + y.exp()).sign is Sign.POSITIVE
    assert (x * x * p).sign is Sign.NONNEGATIVE
    assert (x * x - 1).sign is Sign.UNKNOWN
    assert x.maximum(p).sign is Sign.POSITIVE
    assert (p - x.exp()).sign is Sign.UNKNOWN


def test_names_are_declared_once(terms):
    assert terms.real("a") is terms.real("a")
    with pytest.raises(SolverError):
        terms.positive("a")
    with pytest.raises(SolverError):
        terms.index("i", 0)
    with pytest.raises(SolverError):
        terms.real("a") + Terms().real("a")


def test_a_term_has_no_truth_value(xyz):
    with pytest.raises(TypeError):
        bool(xyz[0])


def test_terms_are_readable(terms, xyz):
    x, y, z = xyz
    assert repr(2 * x * y + z.exp() / 3 - 1) == "(2*x*y + 1/3*exp(z) + -1)"
    assert repr(x.maximum(y).opaque("f", terms.index("i", 2).indicator(0))) == "f(max(x, y), [i=0])"


class TestGreatestInSize:
    def test_the_greater_of_a_number_and_its_negative_is_not_negative(self, terms):
        x, y = terms.real("x"), terms.real("y")
        size, apart = x.maximum(-x), (x - y).maximum(y - x)
        assert size.maximum(-size) is size
        assert apart.maximum(-apart) is apart
        assert size.maximum(apart).maximum(-size).maximum(-apart) is size.maximum(apart)

    def test_of_others_nothing_is_known(self, terms):
        x, y = terms.real("x"), terms.real("y")
        both = x.maximum(-y)
        assert both.maximum(-both) is not both

    def test_what_need_not_have_a_value_stays(self, terms):
        x, y = terms.real("x"), terms.real("y")
        size, root = x.maximum(-x), y ** Fraction(1, 2)
        assert size.maximum(-root) is not size
