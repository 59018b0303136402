"""Axes that are flattened by pieces, run on numbers and held against what they mean."""

from itertools import product

import numpy as np
import pytest

from verdict.ops import RULES
from verdict.ops.regrouped import by_pieces, from_pieces


def run(array, made):
    for op, attrs, shape in made:
        (array,) = RULES[op].forward([array], dict(attrs))
        assert array.shape == shape
    return array


CASES = [((4, 6, 3), 0, (2, 3)), ((5, 4, 6), 1, (1, 2)), ((2, 4, 6, 2), 0, (2, 2, 3)), ((4, 6), 0, (1, 1))]


@pytest.mark.parametrize(("shape", "first", "counts"), CASES)
def test_all_pieces_come_before_all_places_in_them(shape, first, counts):
    x = np.arange(np.prod(shape)).reshape(shape)
    axes = shape[first : first + len(counts)]
    flat = (*shape[:first], int(np.prod(axes)), *shape[first + len(counts) :])
    lengths = [size // count for size, count in zip(axes, counts, strict=True)]
    rows = []
    for piece in product(*map(range, counts)):
        for at in product(*map(range, lengths)):
            place = np.asarray(piece) * lengths + at
            rows.append(np.take(x.reshape(flat), int(np.ravel_multi_index(place.tolist(), axes)), first))
    made = run(x, by_pieces(shape, flat, first, counts))
    assert np.array_equal(made, np.stack(rows, first))
    assert np.array_equal(run(made, from_pieces(shape, first, counts)), x)


def test_one_piece_of_each_axis_is_row_major_order():
    x = np.arange(24).reshape(2, 3, 4)
    assert np.array_equal(run(x, by_pieces((2, 3, 4), (6, 4), 0, (1, 1))), x.reshape(6, 4))
