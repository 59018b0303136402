"""Products of sums over the values of an index: values that exclude each other are not multiplied."""

import random
from itertools import product

import pytest

from verdict.solver.errors import BudgetError
from verdict.solver.polynomial import combine
from verdict.solver.ring import Ring

SIZE = 400


def picked(ring, index, values):
    """1 where the index is one of `values`."""
    return combine((ring.one_hot(index, SIZE, value), 1) for value in values)


@pytest.fixture
def ring():
    return Ring(limit=1000)


def grown(rng, ring, sizes, depth):
    """A polynomial of indicators of two indices, and the number that it is at each choice of their values."""
    if depth == 0:
        index = rng.choice(list(sizes))
        value = rng.randrange(sizes[index])
        numbers = [int(dict(zip(sizes, chosen, strict=True))[index] == value) for chosen in choices(sizes)]
        return ring.one_hot(index, sizes[index], value), numbers
    (p, at_p), (q, at_q) = grown(rng, ring, sizes, depth - 1), grown(rng, ring, sizes, depth - 1)
    if rng.random() < 0.5:
        return ring.multiply(p, q), [a * b for a, b in zip(at_p, at_q, strict=True)]
    times = rng.randint(-2, 3)
    return combine([(p, times), (q, 1)]), [times * a + b for a, b in zip(at_p, at_q, strict=True)]


def choices(sizes):
    return list(product(*map(range, sizes.values())))


def listed(ring, sizes, numbers):
    """The polynomial that is these numbers, term by term."""
    parts = []
    for chosen, number in zip(choices(sizes), numbers, strict=True):
        (one, own), (other, its) = zip(sizes.items(), chosen, strict=True)
        hit = ring.multiply(ring.one_hot(*one, own), ring.one_hot(*other, its))
        parts.append((hit, number))
    return combine(parts)


@pytest.mark.parametrize("seed", range(100))
def test_products_are_those_of_the_numbers_at_each_choice(seed):
    rng, ring = random.Random(seed), Ring(limit=100_000)
    sizes = {"i": rng.randint(2, 4), "j": rng.randint(1, 3)}
    made, numbers = grown(rng, ring, sizes, rng.randint(1, 4))
    assert made == listed(ring, sizes, numbers)


def test_two_sets_of_one_index_meet_in_what_both_hold(ring):
    product = ring.multiply(picked(ring, "i", range(200)), picked(ring, "i", range(100, 300)))
    assert product == picked(ring, "i", range(100, 200))


def test_sets_with_the_last_value_which_is_one_minus_the_others_meet_as_well(ring):
    product = ring.multiply(picked(ring, "i", range(100, SIZE)), picked(ring, "i", range(200)))
    assert product == picked(ring, "i", range(100, 200))


def test_an_index_beside_another_is_multiplied_out(ring):
    first, second, other = ring.one_hot("i", SIZE, 0), ring.one_hot("i", SIZE, 1), ring.one_hot("j", SIZE, 2)
    both = ring.multiply(second, other)
    product = ring.multiply(combine([(first, 1), (both, 3)]), combine([(second, 1), (other, 1)]))
    assert product == combine([(ring.multiply(first, other), 1), (both, 6)])


def test_sets_of_two_indices_exceed_the_budget(ring):
    with pytest.raises(BudgetError):
        ring.multiply(picked(ring, "i", range(200)), picked(ring, "j", range(200)))


def test_one_value_after_another_meets_a_set_in_itself_or_not_at_all(ring):
    held = picked(ring, "i", range(200))
    for value in range(SIZE):
        one = ring.one_hot("i", SIZE, value)
        assert ring.multiply(one, held) == (one if value < 200 else combine([]))
