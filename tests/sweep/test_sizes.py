"""Outputs are held against each other on each seed by itself: great numbers of one hide nothing that another shows."""

import numpy as np
import pytest

from verdict.sweep.compare import compare
from verdict.sweep.flow import Flow, Result


def flow(names):
    results = tuple(Result(("output", name), name, "", k, (slice(0, 2),), (k,)) for k, name in enumerate(names))
    return Flow(len(names), (), (), results)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_great_numbers_on_one_seed_hide_nothing_on_another(order):
    usual, great = [np.ones(2), np.ones(2)], [np.ones(2), np.full(2, 1e60)]
    seeds = [(usual, [np.full(2, 2.0), np.ones(2)]), (great, [np.ones(2), np.full(2, 1e60)])]
    right, found = zip(*(seeds[k] for k in order), strict=True)
    compared = compare(flow("ab"), flow("ab"), list(right), list(found))
    assert [item.result.what for item in compared.different] == ["a"]


def test_what_is_zero_but_for_rounding_beside_the_greatest_output_is_equal():
    right, found = [np.full(2, 1e-20), np.ones(2)], [np.full(2, 3e-20), np.ones(2)]
    assert not compare(flow("ab"), flow("ab"), [right], [found]).different
