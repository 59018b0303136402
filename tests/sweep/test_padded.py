"""What is padded: as many rows as there can be are of the region, and the constant is where the region ends."""

import numpy as np
import pytest

from verdict.sweep.match import Catalogue, Known
from verdict.sweep.padded import padded

ZERO = 1000
"""The element that is the constant 0."""


def made(rows, padding, unnamed=(), behind=True):
    """The guesses for `rows` of a gradient, of which those `unnamed` are zero, with rows of zeros at one end."""
    table = np.arange(1.0, 41.0).reshape(10, 4)
    table[list(unnamed)] = 0
    ids = np.arange(40).reshape(10, 4)
    zeros = np.zeros((padding, 4))
    array = np.concatenate([table[rows], zeros] if behind else [zeros, table[rows]])
    constants = np.where(array == 0, ZERO, -1).ravel()
    found = list(padded(Catalogue([Known(ids, (table,))]), [array], constants))
    fill = np.full((padding, 4), ZERO)
    return found, np.concatenate([ids[rows], fill] if behind else [fill, ids[rows]])


def test_rows_behind_a_region_are_the_constant():
    found, right = made(slice(5, 10), 3)
    assert np.array_equal(found[0], right)


def test_rows_in_front_of_it_are_as_well():
    found, right = made(slice(0, 4), 2, behind=False)
    assert np.array_equal(found[0], right)


def test_rows_of_the_region_that_happen_to_be_zero_stay_of_it():
    found, right = made(slice(5, 10), 3, unnamed=(2, 8, 9))
    assert np.array_equal(found[0], right)


def test_what_is_no_region_is_not_guessed():
    found, _ = made([1, 3, 4, 9], 2)
    assert found == []


@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (3, 0)])
def test_what_has_no_rows_is_not_guessed(shape):
    known = Known(np.arange(6).reshape(2, 3), (np.ones((2, 3)),))
    array = np.zeros(shape)
    assert list(padded(Catalogue([known]), [array], np.full(array.size, ZERO))) == []


def test_of_many_rows_few_guesses_are_made():
    table = np.zeros((3000, 2))
    table[:3] = [[1, 2], [3, 4], [5, 6]]
    ids = np.arange(6000).reshape(3000, 2)
    array = np.concatenate([table[:2], np.zeros((2998, 2))])
    constants = np.where(array == 0, ZERO, -1).ravel()
    found = list(padded(Catalogue([Known(ids, (table,))]), [array], constants))
    assert len(found) == 1
    assert np.array_equal(found[0][:2], ids[:2])
    assert (found[0][2:] == ZERO).all()
