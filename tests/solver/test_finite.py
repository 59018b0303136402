"""What is made of indices alone is listed exactly: against plain evaluation, at every assignment."""

import operator
import random
from fractions import Fraction
from itertools import product

import pytest

from tests.solver.test_traps import decide
from verdict.outcome import Proved, Refuted, Unknown
from verdict.solver import Kind, Sign, Terms
from verdict.solver.evaluate import ExactValues
from verdict.solver.finite import LARGEST

HALF = Fraction(1, 2)


def grown(rng, leaves, depth):
    """A term of sums, products, maxima, indicators and steps of `leaves`."""
    if depth == 0:
        return rng.choice(leaves)
    a, b = grown(rng, leaves, depth - 1), grown(rng, leaves, depth - 1)
    return rng.choice(
        (
            lambda: a + b * rng.choice((-2, HALF, 3)),
            lambda: a * b,
            lambda: a.maximum(b),
            lambda: (a - b).indicator(rng.choice((0, 1))),
            lambda: (a - b).opaque("step"),
            lambda: a - rng.choice((1, 2)),
        )
    )()


def value(terms, term, point):
    """The value of a term at a point, without any table."""
    return ExactValues(terms.below([term]), point).exact[term]


@pytest.mark.parametrize("seed", range(60))
def test_functions_of_indices_are_listed_exactly(seed):
    rng, terms = random.Random(seed), Terms()
    indices = [terms.index("i", 4), terms.index("j", 3)]
    one, two = grown(rng, indices, 3), grown(rng, indices, 2)
    listed = one.tabulate(lambda a, b: a * 3 - b * b, two)
    chosen = (one - two).opaque("step").choose(one * two, two)
    for i, j in product(range(4), range(3)):
        point = {indices[0]: Fraction(i), indices[1]: Fraction(j)}
        a, b = value(terms, one, point), value(terms, two, point)
        assert value(terms, listed, point) == a * 3 - b * b
        assert value(terms, chosen, point) == (a * b if a > b else b)


@pytest.fixture
def terms():
    return Terms()


def test_masks_are_sums_of_indicators(terms):
    i = terms.index("i", 5)
    assert (3 - i).opaque("step") is i.indicator(0) + i.indicator(1) + i.indicator(2)
    assert (i - 7).opaque("step") is terms.zero
    assert (i + 1).opaque("step") is terms.one
    masked = (i - 3) * (i - 2).opaque("step")
    assert masked.indicator(1) is i.indicator(4)
    assert masked.indicator(0) is i.indicator(0) + i.indicator(1) + i.indicator(2) + i.indicator(3)
    assert masked.indicator(2) is terms.zero


def test_two_indices_are_equal_where_both_have_a_value(terms):
    i, j = terms.index("i", 2), terms.index("j", 3)
    equal = (i - j).indicator(0)
    assert isinstance(decide(terms, equal, sum(i.indicator(k) * j.indicator(k) for k in range(2))), Proved)
    assert isinstance(decide(terms, equal, i.indicator(0) * j.indicator(0)), Refuted)


def test_what_is_not_made_of_indices_alone_is_not_listed(terms):
    x, i = terms.real("x"), terms.index("i", 3)
    for term in (x, x + i, i * x, i.exp(), (i + 1).log(), 1 / (i + 1), i.opaque("f")):
        assert term.tabulate(operator.neg) is None
    assert (x - i).opaque("step").kind is Kind.OPAQUE


def test_too_many_assignments_are_not_listed(terms):
    wide, other = terms.index("wide", LARGEST), terms.index("other", 2)
    assert wide.tabulate(operator.neg) is not None
    assert (wide + other).tabulate(operator.neg) is None
    assert terms.index("wider", LARGEST + 1).tabulate(operator.neg) is None


@pytest.mark.parametrize("sides", [lambda x: (1 / x, 0), lambda x: (0, x.log()), lambda x: (x ** Fraction(1, 2), 1)])
def test_a_choice_of_what_does_not_exist_everywhere_is_no_product(terms, sides):
    """The other side has a value there, which a product with an indicator has not. Where that has one, both have it."""
    mask, x = terms.real("y").opaque("step"), terms.real("x")
    one, other = map(terms.coerce, sides(x))
    product = mask * one + (1 - mask) * other
    assert mask.choose(one, other) is mask.choose(*sides(x))
    assert isinstance(decide(terms, mask.choose(one, other), product), Unknown)
    assert isinstance(decide(terms, product, mask.choose(one, other)), Proved)
    one, other = map(terms.coerce, sides(x.exp()))
    assert isinstance(decide(terms, mask.choose(one, other), mask * one + (1 - mask) * other), Proved)


def test_what_is_chosen_adds_up_and_is_multiplied_by_what_exists_everywhere(terms):
    mask, x, y, z = terms.real("m").opaque("step"), terms.real("x", total=False), terms.real("y"), 1 / terms.real("z")
    assert mask.choose(2 * x + y * z, 0) is 2 * mask.choose(x, 0) + y * mask.choose(z, 0)
    assert mask.choose(mask.choose(x, 0), 0) is mask.choose(x, 0)
    assert mask.choose(x * z, 0) is not mask.choose(x, 0) * mask.choose(z, 0)


def test_what_need_not_be_a_number_does_not_vanish(terms):
    x, y = terms.real("x", total=False), terms.real("y")
    assert isinstance(decide(terms, x - x, terms.zero), Proved)
    assert isinstance(decide(terms, terms.zero, x - x), Unknown)
    assert isinstance(decide(terms, y, y + x - x), Unknown)
    assert isinstance(decide(terms, x + y, y + x), Proved)


def test_a_choice_meets_the_indicators_of_its_sides(terms):
    x, y, i = terms.real("x"), terms.real("y"), terms.index("i", 4)
    looked_up = i.indicator(0) * x + i.indicator(3) * y + x
    mask = (i - 1).opaque("step")
    assert mask.choose(looked_up, 0) is i.indicator(3) * y + (i.indicator(2) + i.indicator(3)) * x
    assert mask.choose(looked_up, looked_up) is not None
    assert isinstance(decide(terms, mask.choose(looked_up, looked_up), looked_up), Proved)


def test_steps_of_known_sign(terms):
    x = terms.positive("x")
    assert x.opaque("step") is terms.one
    assert (-x).opaque("step") is terms.zero
    assert terms.real("y").exp().opaque("step") is terms.one
    assert terms.minus_infinity.opaque("step") is terms.zero
    partial = 1 / terms.real("y")
    assert (partial * partial).sign is Sign.NONNEGATIVE
    assert (-(partial * partial)).opaque("step") is not terms.zero


def test_what_equals_a_number_is_neither_above_nor_below(terms):
    x = terms.real("x")
    assert isinstance(decide(terms, x.indicator(2) * (x - 2), 0), Proved)
    assert isinstance(decide(terms, x.indicator(2), (x - 3).indicator(-1)), Proved)
    assert isinstance(decide(terms, x.indicator(2), x.indicator(3)), Refuted)


def test_the_greatest_of_many_numbers_has_no_table():
    terms = Terms()
    assert terms.tabulate(lambda x: x, (terms.maximum([terms.real(f"x{k}") for k in range(70)]),)) is None
    many = [terms.index("i", 2), *map(terms.constant, range(70))]
    assert terms.tabulate(lambda *numbers: max(numbers), many) is terms.constant(69)
