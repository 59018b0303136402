"""Scales of dimensions: whatever is joined, reduced products stay equal and cuts stay cuts."""

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from verdict.ops import RULES
from verdict.reduction.factors import Factors, Piece, Scales

SIZES = st.integers(1, 24)
SHAPES = st.lists(SIZES, min_size=1, max_size=3)


def test_an_axis_shrinks_to_its_pieces():
    factors = Factors()
    x = factors.new()
    scales = Scales(factors)
    scales.cut(x, 4096, (1024, 2048, 3072))
    scales.least(x, 1024, 2)
    assert scales.scale(x, 4096) * 4096 == 8


def test_a_cut_at_an_odd_place_keeps_the_axis_whole():
    factors = Factors()
    x = factors.new()
    scales = Scales(factors)
    scales.cut(x, 4096, (1023,))
    assert scales.scale(x, 4096) == 1


def test_a_view_gives_a_dimension_two_factors():
    factors = Factors()
    hidden, heads, width = factors.new(), factors.new(), factors.new()
    factors.equate([Piece(hidden, 4096)], [Piece(heads, 32), Piece(width, 128)])
    scales = Scales(factors)
    scales.cut(heads, 32, (8,))
    scales.cut(width, 128, (64,))
    scales.cut(hidden, 4096, (1024, 2048))
    assert scales.scale(heads, 32) == Fraction(1, 8)
    assert scales.scale(width, 128) == Fraction(1, 64)
    assert scales.scale(hidden, 4096) == Fraction(1, 512)


def test_a_dimension_that_is_a_multiple_of_itself_has_a_frozen_factor():
    factors = Factors()
    x, heads = factors.new(), factors.new()
    factors.equate([Piece(x, 64)], [Piece(heads, 4), Piece(x, 16)])
    scales = Scales(factors)
    for variable, size in ((x, 64), (x, 16), (heads, 4)):
        scales.cut(variable, size, (size,))
    assert scales.scale(heads, 4) == 1
    assert scales.scale(x, 64) == scales.scale(x, 16)


def test_shapes_without_a_common_factor_keep_their_sizes():
    factors = Factors()
    a, b, c, d = (factors.new() for _ in range(4))
    factors.equate([Piece(a, 4), Piece(b, 9)], [Piece(c, 9), Piece(d, 4)])
    scales = Scales(factors)
    assert all(scales.scale(v, n) == 1 for v, n in ((a, 4), (b, 9), (c, 9), (d, 4)))


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
            scales.cut(variable, size, (size,))
    for axis in least:
        scales.least(*axis)
    for source, target in views:
        reduced = [[size * scales.scale(variable, size) for variable, size in side] for side in (source, target)]
        assert all(size.denominator == 1 and size >= 1 for side in reduced for size in side)
        assert _product(reduced[0]) == _product(reduced[1])


def _product(sizes):
    result = 1
    for size in sizes:
        result *= size
    return result
