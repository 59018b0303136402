"""apply_rotary_emb."""

import torch
from hypothesis import strategies as st

from tests.ops.harness import Misfit, Subject, angles, cases, real


def _rotary(draw):
    small = st.integers(1, 3)
    batch, length, pairs = draw(small), draw(small), draw(small)
    heads = draw(st.sampled_from([(1, 1), (2, 2), (4, 2), (4, 1), (2, 3)]))
    q, k = ((batch, length, count, 2 * pairs) for count in heads)
    return [q, k, (length, pairs)], {}, [real, real, angles]


def _torch(x, attrs):
    """apply_rotary_emb of Llama 3."""
    q, k, freqs = x
    turn = torch.view_as_complex(freqs)[None, :, None, :]

    def rotate(states):
        pairs = torch.view_as_complex(states.reshape(*states.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * turn).flatten(3)

    return [rotate(q), rotate(k)]


SUBJECTS = (Subject("apply_rotary_emb", cases(_rotary), _torch, rational=True),)
MISFITS = (
    Misfit("apply_rotary_emb", ((1, 4, 2, 4), (1, 4, 2, 4), (4, 4)), {}, "needs freqs of shape"),
    Misfit("apply_rotary_emb", ((1, 4, 2, 4), (1, 4, 2, 4), (1, 4, 1, 2)), {}, "needs freqs of shape"),
    Misfit("apply_rotary_emb", ((1, 4, 2, 3), (1, 4, 2, 3), (4, 1)), {}, "needs freqs of shape"),
    Misfit("apply_rotary_emb", ((1, 4, 2, 4), (1, 5, 2, 4), (4, 2)), {}, "equal but for the heads"),
    Misfit("apply_rotary_emb", ((4, 2, 4), (4, 2, 4), (4, 2)), {}, "equal but for the heads"),
)
