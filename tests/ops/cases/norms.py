"""softmax and layernorm."""

import numpy as np
import torch
from hypothesis import strategies as st

from tests.ops.harness import Misfit, Subject, cases, real, shape


def _masked(along):
    """Values of which some are minus infinity, but none at the first place of a row."""

    def fill(rng, size):
        hidden = rng.random(size) < 0.3
        np.moveaxis(hidden, along, 0)[0] = False
        return np.where(hidden, -np.inf, real(rng, size))

    return fill


def _softmax(draw):
    size = draw(shape())
    along = draw(st.integers(-len(size), len(size) - 1))
    dtype = draw(st.sampled_from([{}, {"dtype": None}, {"dtype": "float32"}]))
    return [size], {"dim": along, **dtype}, [_masked(along) if draw(st.booleans()) else real]


def _layernorm(draw):
    batch, last = draw(shape(0, 2)), draw(shape(1, 2))
    eps = draw(st.sampled_from([{}, {"eps": 1e-5}, {"eps": 0.25}]))
    return [(*batch, *last), last, last], {"normalized_shape": last, **eps}, [real] * 3


SUBJECTS = (
    Subject("softmax", cases(_softmax), lambda x, attrs: [torch.softmax(x[0], attrs["dim"])]),
    Subject(
        "layernorm",
        cases(_layernorm),
        lambda x, attrs: [
            torch.nn.functional.layer_norm(x[0], attrs["normalized_shape"], x[1], x[2], attrs.get("eps", 1e-5))
        ],
    ),
)
MISFITS = (
    Misfit("softmax", ((2, 3),), {}, "needs dim"),
    Misfit("softmax", ((2, 3),), {"dim": 2}, "no dimension 2"),
    Misfit("softmax", ((2, 3),), {"dim": True}, "no dimension True"),
    Misfit("softmax", ((2, 3),), {"dim": 1, "dtype": "int32"}, "cast to int32"),
    Misfit("layernorm", ((2, 3), (3,), (3,)), {"normalized_shape": (2,)}, "does not end in normalized_shape"),
    Misfit("layernorm", ((2, 3), (2,), (3,)), {"normalized_shape": (3,)}, "must have shape"),
    Misfit("layernorm", ((2, 3), (3,), (3, 1)), {"normalized_shape": (3,)}, "must have shape"),
    Misfit("layernorm", ((2, 3), (3,), (3,)), {}, "normalized_shape is None"),
    Misfit("layernorm", ((2, 3), (3,), (3,)), {"normalized_shape": (3,), "eps": -1}, "eps is -1"),
    Misfit("layernorm", ((2, 3), (3,), (3,)), {"normalized_shape": (3,), "count": 0}, "count is 0"),
)
