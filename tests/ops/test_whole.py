"""Whole numbers that floats do not hold: Python's integers in their place, and floats before and behind."""

import numpy as np
import pytest

from verdict.ops.whole import exactly, is_beyond, is_exact

GREAT = 2**62


def plus(number):
    return lambda arrays: (arrays[0] + (number if arrays[0].dtype == object else float(number)),)


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_a_great_sum_is_exact_until_floats_hold_it_again(dtype):
    (far,) = exactly(plus(GREAT), [np.array([3, -2, 0], dtype=dtype)])
    assert is_exact(far)
    assert far.tolist() == [GREAT + 3, GREAT - 2, GREAT]
    (near,) = exactly(plus(-GREAT), [far])
    assert near.dtype == np.float64
    assert near.tolist() == [3, -2, 0]


@pytest.mark.parametrize("given", [[0.5, 1.0], [-np.inf, 1.0], [np.nan, 1.0]])
def test_what_is_no_whole_number_stays_a_float(given):
    (far,) = exactly(plus(GREAT), [np.array(given)])
    assert far.dtype == np.float64


def test_a_mask_is_no_integer_of_int64():
    assert not is_beyond(np.array([-1e30, -3.4028234663852886e38]))
    assert is_beyond(np.array([1.0, -float(GREAT)]))
    assert not is_beyond(np.array([2.0**52]))


def test_an_operator_without_a_rule_for_integers_is_run_on_floats():
    def only_floats(arrays):
        if arrays[0].dtype == object:
            raise TypeError
        return (arrays[0] + float(GREAT),)

    (far,) = exactly(only_floats, [np.array([1.0, 2.0])])
    assert far.dtype == np.float64


def test_what_is_not_made_stays_absent():
    found = exactly(lambda arrays: (None, arrays[0] * 2), [np.array([GREAT])])
    assert found[0] is None
    assert found[1] is not None
