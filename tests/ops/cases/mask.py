"""create_mask and apply_mask."""

import numpy as np
import torch
from hypothesis import strategies as st

from tests.ops.harness import Misfit, Subject, cases, ids, real, shape


def _create(draw):
    batch, length = draw(st.integers(1, 3)), draw(st.integers(1, 5))
    start = draw(st.sampled_from([{}, {"start_pos": 0}, {"start_pos": 2}]))
    return [(batch, length), (batch, length, draw(st.integers(1, 3)))], start, [ids(9), real]


def _create_torch(x, attrs):
    """The mask of Llama 3, moved by start_pos."""
    length = x[0].shape[1]
    mask = torch.full((length, length), float("-inf"), dtype=torch.float64)
    return [torch.triu(mask, diagonal=1 + attrs.get("start_pos", 0))[None, None]]


def _masks(rng, size):
    return np.where(rng.random(size) < 0.3, -np.inf, real(rng, size))


def _apply(draw):
    scores = draw(shape(2, 4))
    mask = tuple(1 if draw(st.booleans()) else size for size in scores)
    return [scores, mask[draw(st.integers(0, len(mask) - 1)) :]], {}, [real, _masks]


SUBJECTS = (
    Subject("create_mask", cases(_create), _create_torch, rational=True, differentiable=lambda position: False),
    Subject("apply_mask", cases(_apply), lambda x, attrs: [x[0] + x[1]], rational=True),
)
MISFITS = (
    Misfit("create_mask", ((4,), (4, 8)), {}, "have no sequence dimension"),
    Misfit("create_mask", ((1, 4), (1, 4, 8)), {"start_pos": -1}, "start_pos is -1"),
    Misfit("apply_mask", ((2, 4, 4), (1, 1, 4, 4)), {}, "does not fit scores"),
    Misfit("apply_mask", ((1, 1, 4, 1), (1, 1, 4, 4)), {}, "does not fit scores"),
    Misfit("apply_mask", ((1, 2, 4, 4), (1, 1, 2, 4)), {}, "do not broadcast"),
)
