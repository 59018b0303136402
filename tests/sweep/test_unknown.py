"""Unknown functions are named by how they are written, sums and maxima in any order, all else as it stands."""

from itertools import permutations

import numpy as np
import pytest

from verdict.solver import Terms
from verdict.sweep.unknown import unknown_functions

MINUS_INFINITY = float("-inf")


def made(terms, write, *values):
    """What an operator that computes `write` makes of some values."""
    inputs = [np.array([value], dtype=object) for value in values]
    (out,) = unknown_functions("f", lambda arrays: [np.array([write(*(array[0] for array in arrays))])], inputs)
    return out[0]


@pytest.fixture
def terms():
    return Terms()


def weight(x, *others):
    """The share of the first of some numbers."""
    total = x.exp()
    for other in others:
        total = total + other.exp()
    return x.exp() / total


def test_a_share_is_one_function_of_a_row_in_any_order(terms):
    x, *others = (terms.real(name) for name in "xyzw")
    assert len({made(terms, weight, x, *order) for order in permutations(others)}) == 1
    assert made(terms, weight, x, *others) is not made(terms, weight, others[0], x, *others[1:])


def test_a_sum_is_one_however_it_is_grouped_and_without_its_zeros(terms):
    x, y, z = (terms.real(name) for name in "xyz")
    one = made(terms, lambda a, b, c: ((a + b) + c).exp(), x, y, z)
    assert one is made(terms, lambda a, b, c: (0 + (a + (b + c))).exp(), z, x, y)
    assert one is not made(terms, lambda a, b, c: (a + b * c).exp(), x, y, z)
    assert one is not made(terms, lambda a, b, c: (a + b + a).exp(), x, y, z)


def test_a_maximum_is_one_in_any_order_and_is_no_sum(terms):
    x, y, z = (terms.real(name) for name in "xyz")
    one = made(terms, lambda a, b, c: a.maximum(b.maximum(c)).exp(), x, y, z)
    assert one is made(terms, lambda a, b, c: a.maximum(b).maximum(c).exp(), y, z, x)
    assert one is not made(terms, lambda a, b, c: (a + b + c).exp(), x, y, z)


@pytest.mark.parametrize("write", [lambda a, b: a - b, lambda a, b: a / b, lambda a, b: a.exp() - b])
def test_what_has_an_order_keeps_it(terms, write):
    x, y = terms.real("x"), terms.real("y")
    assert made(terms, write, x, y) is not made(terms, write, y, x)


def test_what_is_alike_of_other_terms_is_another(terms):
    x, y, z = (terms.real(name) for name in "xyz")
    pairs = [(x, y), (x, z), (y, z)]
    assert len({made(terms, lambda a, b: a.exp() + b.exp(), *pair) for pair in pairs}) == len(pairs)
