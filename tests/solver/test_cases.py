"""Guarded values are equal where they are in every case, and nothing is claimed only where there is no value at all."""

import numpy as np
import pytest

from tests.solver.test_traps import decide
from verdict.ops.logic import looked_up, one_hot
from verdict.options import SolverOptions
from verdict.outcome import Proved, Refuted, Unknown
from verdict.solver import Goal, Obligation, Terms, check


@pytest.fixture
def terms():
    return Terms()


def above(term):
    return term.opaque("step")


def test_a_function_of_a_choice_is_a_choice_of_functions(terms):
    m, x = above(terms.real("m")), terms.real("x")
    assert isinstance(decide(terms, m.choose(x.log(), 0), m.choose(x, 1).log()), Proved)
    assert not isinstance(decide(terms, m.choose(x.log(), 0), m.choose(x, 2).log()), Proved)


def test_the_sign_of_a_mask_is_known_where_it_is_one(terms):
    c, d, x = terms.real("c"), terms.real("d"), terms.real("x")
    for size in (c, 2 * c - 3 * d):
        guarded, inside = above(size).choose(x / size, 0), x / above(size).choose(size, 1) * above(size)
        assert isinstance(decide(terms, guarded, above(size).choose(x / size.maximum(-size), 0)), Proved)
        assert isinstance(decide(terms, guarded, inside), Proved)
        assert not isinstance(decide(terms, guarded, x / above(size).choose(size, 1)), Proved)
        assert not isinstance(decide(terms, guarded, x / size.maximum(-size)), Proved)


def test_a_ratio_of_counts_is_rounded_at_each_of_its_values(terms):
    i, j = terms.index("i", 3), terms.index("j", 3)
    whole = i + j
    ratio = above(whole).choose((10 * i / whole).opaque("floor"), 0)
    assert isinstance(decide(terms, ratio, (10 * i / whole.maximum(1)).opaque("floor")), Proved)
    assert not isinstance(decide(terms, ratio, (10 * i / whole.maximum(2)).opaque("floor")), Proved)


def checked(terms, single, parallel, both=False):
    goals = (Goal("claim", np.array([single], dtype=object), np.array([parallel], dtype=object)),)
    return check(Obligation(terms, goals, both=both), SolverOptions())


def test_where_there_is_no_value_nothing_is_claimed(terms):
    i, x = terms.index("i", 3), terms.real("x")
    single, parallel = x / i, above(i).choose(x / i, 0)
    assert isinstance(decide(terms, single, parallel), Proved)
    assert isinstance(decide(terms, parallel, single), Unknown)
    assert isinstance(checked(terms, single, parallel, both=True), Unknown)


def test_what_is_not_chosen_and_what_is_compared_need_no_value(terms):
    """A number is made of what has none, so that something is claimed there."""
    i, j = terms.index("i", 2), terms.index("j", 2)
    inverse, wrong = 1 / i, 5 * i.indicator(0) * j.indicator(0)
    chosen = j.indicator(1).choose(inverse, 0)
    for single in (chosen, above(inverse), inverse.indicator(3)):
        assert isinstance(decide(terms, single, single), Proved)
        assert not isinstance(decide(terms, single, single + wrong), Proved)
        assert not isinstance(decide(terms, single, above(i).choose(single, 5)), Proved)


def test_a_row_that_does_not_exist_stops_a_program_that_does_not_choose_it(terms):
    i, x, y = terms.index("i", 3), terms.real("x"), terms.real("y")
    table = np.array([x, y], dtype=object)
    outside = i.indicator(0) + i.indicator(1)
    found = looked_up(table, np.array([i], dtype=object), wrap=False)[0]
    due = i.indicator(0) * x + i.indicator(1) * y
    assert isinstance(decide(terms, due, outside.choose(found, 0)), Unknown)
    assert isinstance(decide(terms, outside.choose(found, 0), due), Proved)


@pytest.mark.parametrize("wrap", [False, True])
@pytest.mark.parametrize("size", [2, 3, 4])
def test_one_hot_is_what_is_looked_up_in_the_identity(terms, size, wrap):
    ids = np.array([terms.index("i", 3), 1, terms.index("j", 3) - 1], dtype=object)
    table = np.eye(size, dtype=np.int64).astype(object)
    found, due = one_hot(ids, size, wrap), looked_up(table, ids, wrap)
    assert found.shape == due.shape == (3, size)
    assert all(isinstance(decide(terms, *each), Proved) for each in zip(found.flat, due.flat, strict=True))
    assert not isinstance(decide(terms, found[0, 0], due[0, 1]), Proved)


def test_an_integer_that_is_divided_by_zero_stops_a_program_that_does_not_choose_it(terms):
    i, j = terms.index("i", 3), terms.index("j", 3)
    places = above(i).choose((j / i).opaque("floor"), 0)
    due = above(i).choose((j / i.maximum(1)).opaque("floor"), 0)
    assert isinstance(decide(terms, due, places), Unknown)
    assert isinstance(decide(terms, places, due), Proved)


def test_a_product_with_a_mask_has_no_value_where_a_choice_has_one(terms):
    i, j = terms.index("i", 2), terms.index("j", 2)
    whole = i + j
    chosen = i.indicator(1).choose(1 / whole.maximum(1), 0)
    assert isinstance(decide(terms, chosen, i.indicator(1).choose(1 / whole, 0)), Proved)
    assert isinstance(decide(terms, chosen, i.indicator(1) * (1 / whole)), Unknown)


def test_the_greatest_over_shards_is_the_first_greatest_of_all(terms):
    x = [terms.real(f"x{k}") for k in range(4)]

    def place(row):
        return sum(k * row[0].opaque("greatest", *row[1:], 0, k) for k in range(len(row)))

    left, right = (x[at].maximum(x[at + 1]) for at in (0, 2))
    joined = above(right - left).choose(place(x[2:]) + 2, place(x[:2]))
    assert isinstance(checked(terms, place(x), joined), Proved)
    last = above(left - right).choose(place(x[:2]), place(x[2:]) + 2)
    assert isinstance(checked(terms, place(x), last), Refuted)
