"""What shaking leaves as it is: what floats do not round, so that comparisons and lookups say what they said before."""

import numpy as np
import pytest

from verdict.ops.shaken import MOST_SORTED, among, shaken

X = np.array([-2.3, -0.7, 0.1, 0.7, 1.9])
EXACT = [
    ("aten.amax", {"dim": (0,)}, X, np.array([1.9])),
    ("aten.amin", {"dim": (0,)}, X, np.array([-2.3])),
    ("aten.relu", {}, X, np.maximum(X, 0)),
    ("aten.abs", {}, X, np.abs(X)),
    ("aten.neg", {}, X, -X),
    ("aten.clamp", {"min": -0.3, "max": 0.3}, X, X.clip(-0.3, 0.3)),
    ("aten.hardtanh", {"min_val": -0.3, "max_val": 0.3}, X, X.clip(-0.3, 0.3)),
    ("aten.floor", {}, X, np.floor(X)),
    ("aten.round", {}, X, np.round(X)),
    ("aten.div.Tensor_mode", {"other": 0.3, "rounding_mode": "floor"}, X, np.floor(X / 0.3)),
    ("hlo.reduce_maximum", {}, X, np.array([1.9])),
    ("hlo.negate", {}, X, -X),
    ("aten.view", {}, X, X),
]
ROUNDED = [
    ("aten.exp", {}, X, np.exp(X)),
    ("aten.sigmoid", {}, 50 + X, np.ones(5)),
    ("aten.sum", {"dim": (0,)}, X, np.array([X.sum()])),
    ("aten.div.Tensor", {"other": 0.3}, X, X / 0.3),
]


@pytest.mark.parametrize(("op", "attrs", "read", "made"), EXACT)
def test_what_floats_do_not_round_stays(op, attrs, read, made):
    assert (shaken(op, attrs, (), (read,), made) == made).all()


@pytest.mark.parametrize(("op", "attrs", "read", "made"), ROUNDED)
def test_what_floats_round_is_off_by_little(op, attrs, read, made):
    off = shaken(op, attrs, (), (read,), made)
    assert (off != made).any()
    assert np.allclose(off, made, rtol=1e-12)


@pytest.mark.parametrize("size", [0, 1, 7, MOST_SORTED // 2, MOST_SORTED])
@pytest.mark.parametrize("odd", [(), (np.nan,), (np.inf, -np.inf, 0.0)])
def test_numbers_are_looked_up_as_isin_does(size, odd):
    draw = np.random.default_rng(size).integers(-size, size + 1, 2 * size) / 4
    made, known = np.array([*draw[:size], *odd, -0.0]).reshape(1, -1), np.array([*draw[size:], *odd])
    assert np.array_equal(among(made, known), np.isin(made, known))
    assert among(made, made[0]).sum() == made.size - np.isnan(made).sum()
