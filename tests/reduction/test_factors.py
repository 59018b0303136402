"""Scales of dimensions: whatever is joined, reduced products stay equal and cuts stay cuts."""

from itertools import combinations_with_replacement, pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from verdict.ops import RULES
from verdict.reduction.factors import Factors, Piece
from verdict.reduction.scales import ORDER, Scales
from verdict.reduction.uneven import few_alike

SIZES = st.integers(1, 24)
SHAPES = st.lists(SIZES, min_size=1, max_size=3)


def test_an_axis_shrinks_to_its_pieces():
    factors = Factors()
    x = factors.new()
    scales = Scales(factors)
    scales.cut(x, 4096, (1024, 2048, 3072))
    scales.least(x, 1024, 2)
    assert [scales.small(x, 4096, at) for at in (0, 1024, 2048, 4096)] == [0, 2, 4, 8]


def test_parts_without_a_common_divisor_stay_a_whole():
    factors = Factors()
    x = factors.new()
    scales = Scales(factors)
    scales.cut(x, 1001, (501,))
    scales.cut(x, 501, (500,))
    scales.least(x, 500, 2)
    assert [scales.small(x, 1001, at) for at in (0, 500, 501, 1001)] == [0, 3, 4, 7]


@pytest.mark.parametrize("grow", [1, 2, 6])
def test_an_uneven_axis_that_grows_has_longer_parts(grow):
    found = []
    for more in (0, grow):
        factors = Factors()
        x = factors.new()
        scales = Scales(factors, more)
        scales.cut(x, 1001, (500, 501))
        found.append([scales.small(x, 1001, at) for at in (500, 501, 1001)])
    assert all(few + grow <= more for few, more in zip(*found, strict=True))


def test_an_axis_of_which_a_part_is_counted_and_the_whole_stays_even():
    factors = Factors()
    x, y = factors.new(), factors.new()
    scales = Scales(factors)
    for axis in (x, y):
        scales.cut(axis, 1001, (501,))
        scales.even(axis, 1001)
    scales.even(x, 501)
    assert [scales.small(x, 1001, at) for at in (501, 1001)] == [501, 1001]
    assert scales.small(y, 1001, 1001) < 10


def test_chunks_of_a_whole_stay_its_chunks():
    factors = Factors()
    x = factors.new()
    scales = Scales(factors, grow=6)
    scales.chunk(x, 50257, 12565, 4)
    whole, step = (scales.small(x, 50257, at) for at in (50257, 12565))
    assert step == -(-whole // 4) > 6
    assert whole < 100


NUMBERS = st.tuples(
    st.integers(100, 9000), st.sets(st.tuples(st.integers(1, 6), st.integers(-3, 3)), min_size=1, max_size=6)
)


@given(NUMBERS, st.integers(1, 3))
@settings(max_examples=200, deadline=None)
def test_what_numbers_become_compares_and_adds_up_as_they_do(given_, gap):
    """Multiples of one number, and a few more or less."""
    base, parts = given_
    numbers = {times * base + rest for times, rest in parts}
    found = few_alike(numbers, ORDER, gap, (), ())
    assume(found is not None)
    small = {0: 0, **found}
    assert max(small.values()) < max(numbers) or max(numbers) < 200
    sums = list(combinations_with_replacement(sorted(small), ORDER))
    signs = [_sign(sum(one) - sum(other)) for one, other in pairwise(sums)]
    assert signs == [_sign(_small_sum(one, small) - _small_sum(other, small)) for one, other in pairwise(sums)]
    assert all(min(gap, b - a) <= small[b] - small[a] <= b - a for a, b in pairwise(sorted(small)))


def _sign(number):
    return (number > 0) - (number < 0)


def _small_sum(numbers, small):
    return sum(small[number] for number in numbers)


def test_numbers_that_become_long_have_longer_parts():
    """The second choice of shapes is one element longer in each part."""
    numbers = (1001, 1003, 2002, 2003, 2006, 4001, 4006, 7999, 8002)
    found = few_alike(numbers, ORDER, 1, (), ())
    longer = few_alike(numbers, ORDER, 2, [(number, few + 1) for number, few in found.items()], ())
    assert all(found[number] < longer[number] < 1000 for number in numbers)


def test_a_view_gives_a_dimension_two_factors():
    factors = Factors()
    hidden, heads, width = factors.new(), factors.new(), factors.new()
    factors.equate([Piece(hidden, 4096)], [Piece(heads, 32), Piece(width, 128)])
    scales = Scales(factors)
    scales.cut(heads, 32, (8,))
    scales.cut(width, 128, (64,))
    scales.cut(hidden, 4096, (1024, 2048))
    assert scales.small(heads, 32, 32) == 4
    assert scales.small(width, 128, 128) == 2
    assert scales.small(hidden, 4096, 4096) == 8


def test_a_dimension_that_is_a_multiple_of_itself_has_a_frozen_factor():
    factors = Factors()
    x, heads = factors.new(), factors.new()
    factors.equate([Piece(x, 64)], [Piece(heads, 4), Piece(x, 16)])
    scales = Scales(factors)
    for variable, size in ((x, 64), (x, 16), (heads, 4)):
        scales.cut(variable, size, (size,))
    assert scales.small(heads, 4, 4) == 4
    assert scales.small(x, 64, 64) == 4 * scales.small(x, 16, 16)


def test_shapes_without_a_common_factor_keep_their_sizes():
    factors = Factors()
    a, b, c, d = (factors.new() for _ in range(4))
    factors.equate([Piece(a, 4), Piece(b, 9)], [Piece(c, 9), Piece(d, 4)])
    scales = Scales(factors)
    assert all(scales.small(v, n, n) == n for v, n in ((a, 4), (b, 9), (c, 9), (d, 4)))


@given(st.lists(st.tuples(SHAPES, st.randoms(use_true_random=False)), min_size=1, max_size=4))
@settings(max_examples=200, deadline=None)
def test_views_still_fit_at_reduced_shapes(found):
    """Chains of views, as the rule of view sees them: at reduced shapes every one has equally many elements."""
    factors = Factors()
    views, least = [], []
    for shape, random in found:
        target = list(shape)
        random.shuffle(target)
        joined = random.randrange(len(target))
        last = joined + 2
        target = [*target[:joined], _product(target[joined:last]), *target[last:]]
        axes = RULES["view"].axes([tuple(shape)], {"size": tuple(target)})
        atoms = {atom.name: (factors.new(), atom.size) for atom in axes.atoms}
        least += [(*atoms[atom.name], atom.least) for atom in axes.atoms]
        sides = []
        for sizes, dims in ((shape, axes.inputs[0]), (target, axes.outputs[0])):
            variables = [factors.new() for _ in sizes]
            sides.append(list(zip(variables, sizes, strict=True)))
            for (variable, size), names in zip(sides[-1], dims, strict=True):
                product = [p for name in names for p in factors.pieces(*atoms[name])]
                if product:
                    factors.equate(factors.pieces(variable, size), product)
        if views and len(views[-1][1]) == len(sides[0]):
            for (one, _), (other, _) in zip(views[-1][1], sides[0], strict=True):
                factors.join(one, other)
        views.append(sides)
    scales = Scales(factors)
    for side in (side for view in views for side in view):
        for variable, size in side:
            scales.cut(variable, size, (size, random.randint(0, size)))
    for axis in least:
        scales.least(*axis)
    for source, target in views:
        reduced = [[scales.small(variable, size, size) for variable, size in side] for side in (source, target)]
        assert all(size >= 1 for side in reduced for size in side)
        assert _product(reduced[0]) == _product(reduced[1])


def _product(sizes):
    result = 1
    for size in sizes:
        result *= size
    return result
