"""How near equal values are, beside values that are far greater."""

import numpy as np

from verdict.sweep.match import Catalogue, Known, _tolerance


def test_a_mask_does_not_blur_what_it_leaves():
    scores = np.array([0.5, 0.25, -1e9, 2.0, -1e30])
    near = _tolerance(scores)
    assert near[:2].max() < 1e-8
    assert near[2] > 0.5
    assert _tolerance(scores[[0, 1, 3]]).tolist() == near[[0, 1, 3]].tolist()


def test_noise_beside_numbers_is_noise():
    assert _tolerance(np.array([1.0, 1e-13]))[1] > 1e-13


def test_masked_scores_find_their_own():
    """Scores that differ by a millionth are told apart beside a mask."""
    random = np.random.default_rng(0)
    scores = np.concatenate([1 + np.arange(6) * 1e-6, [-1e9, -1e9]])
    values = tuple(scores + 1e-12 * random.normal(size=8) for _ in range(3))
    catalogue = Catalogue([Known(np.arange(8), values)])
    ids, met = catalogue.each([value[2:6] for value in values])
    assert met.all()
    assert ids.tolist() == [2, 3, 4, 5]
    ids, _ = catalogue.each([np.concatenate([value[2:6], [-1e9]]) for value in values])
    assert ids[:4].tolist() == [2, 3, 4, 5]
