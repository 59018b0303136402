"""embedding, with ids that repeat and ids outside the slice of the vocabulary."""

import torch
from hypothesis import strategies as st

from tests.ops.harness import Misfit, Subject, cases, ids, real, shape


def _embedding(draw):
    rows, features = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    start = draw(st.integers(0, 4))
    attrs = draw(st.sampled_from([{}, {"start": start, "stop": start + rows}, {"start": start}]))
    if draw(st.booleans()):
        attrs = {**attrs, "padding_idx": draw(st.one_of(st.none(), st.integers(0, rows - 1)))}
    stop = attrs.get("start", 0) + rows + draw(st.integers(0, 3))
    return [draw(shape(0, 2)), (rows, features)], attrs, [ids(stop), real]


def _torch(x, attrs):
    """torch on the given rows: ids outside look up row 0 and are then set to zero."""
    tokens, weight = x
    local = tokens - attrs.get("start", 0)
    inside = (local >= 0) & (local < len(weight))
    found = torch.nn.functional.embedding(local * inside, weight, attrs.get("padding_idx"))
    return [torch.where(inside[..., None], found, 0.0)]


SUBJECTS = (Subject("embedding", cases(_embedding), _torch, rational=True, differentiable=bool),)
MISFITS = (
    Misfit("embedding", ((2,), (8, 4)), {"start": 100, "stop": 200}, "the weight has 8 rows"),
    Misfit("embedding", ((2,), (8, 4)), {"start": -1, "stop": 7}, "start and stop are -1 and 7"),
    Misfit("embedding", ((2,), (8, 4)), {"padding_idx": 8}, "padding_idx 8 is no row"),
    Misfit("embedding", ((2,), (8,)), {}, "must have two dimensions"),
)
