"""Integers at which a plan makes numbers: as many as were drawn, but for those that leave none."""

import numpy as np

from verdict.inputs import Domain, defined
from verdict.ops.domain import Integers

SHAPE = (8, 8)
MASKS = Domain((Integers(0, 1),), (Integers(0, 1),), np.zeros(SHAPE, dtype=np.int64))


def drawn(seed=0):
    return np.random.default_rng(seed).integers(0, 2, SHAPE)


def test_a_mask_keeps_what_covers_no_row():
    def sees(values):
        return bool(values[1].any(axis=1).all())

    mask = drawn() * (np.arange(8) != 3)[:, None]
    assert not sees({1: mask})
    found = defined({0: np.zeros(3), 1: mask}, {1: MASKS}, sees)
    assert sees(found)
    assert (found[1] == 0).any()
    assert ((found[1] == mask) | (found[1] == 1)).all()


def test_the_other_end_is_tried():
    found = defined({1: drawn()}, {1: MASKS}, lambda values: not values[1][0].any())
    assert not found[1][0].any()
    assert (found[1] == 1).any()


def test_what_no_integers_mend_is_none():
    assert defined({1: drawn()}, {1: MASKS}, lambda values: False) is None
    assert defined({0: np.ones(2)}, {}, lambda values: False) is None


def test_integers_stay_within_bounds():
    domain = Domain((Integers(3, 5), Integers(None, None)), (Integers(3, 5),) * 2, np.asarray([0, 1]))
    tried = []
    assert defined({0: np.asarray([4, 9])}, {0: domain}, lambda values: tried.append(values[0].tolist())) is None
    assert tried
    assert all(3 <= first <= 5 for first, _ in tried)
