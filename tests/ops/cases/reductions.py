"""sum and mean."""

import torch
from hypothesis import strategies as st

from tests.ops.harness import Misfit, Subject, cases, real, shape


def _reduction(draw):
    size = draw(shape(0))
    if not size:
        return [size], draw(st.sampled_from([{}, {"dim": None}])), [real]
    places = draw(st.sets(st.integers(0, len(size) - 1), min_size=1))
    dim = tuple(place - len(size) if draw(st.booleans()) else place for place in places)
    attrs = draw(st.sampled_from([{}, {"dim": None}, {"dim": dim}, {"dim": dim}, {"dim": dim[0]}]))
    keep = draw(st.sampled_from([{}, {"keepdim": False}, {"keepdim": True}]))
    return [size], {**attrs, **keep}, [real]


def _mean(draw):
    shapes, attrs, fills = _reduction(draw)
    return shapes, attrs | draw(st.sampled_from([{}, {"count": 7}])), fills


def _sum_torch(x, attrs):
    return [torch.sum(x[0], dim=attrs.get("dim"), keepdim=attrs.get("keepdim", False))]


def _mean_torch(x, attrs):
    if "count" in attrs:
        return [_sum_torch(x, attrs)[0] / attrs["count"]]
    return [torch.mean(x[0], dim=attrs.get("dim"), keepdim=attrs.get("keepdim", False))]


SUBJECTS = (
    Subject("sum", cases(_reduction), _sum_torch, rational=True),
    Subject("mean", cases(_mean), _mean_torch, rational=True),
)
MISFITS = (
    Misfit("sum", ((2, 3),), {"dim": (2,)}, "no dimension 2 in a tensor of 2 dimensions"),
    Misfit("sum", ((2, 3),), {"dim": ()}, "names no dimension"),
    Misfit("sum", ((2, 3),), {"dim": (1, -1)}, "one of them twice"),
    Misfit("sum", ((2, 3),), {"count": 3}, "unknown attribute count"),
    Misfit("sum", ((2, 3),), {"keepdim": 1}, "keepdim is 1"),
    Misfit("mean", ((2, 3),), {"dim": (-3,)}, "no dimension -3"),
    Misfit("mean", ((2, 3),), {"dim": (0.5,)}, "no dimension 0.5"),
    Misfit("mean", ((2, 3),), {"count": 0}, "count is 0"),
    Misfit("mean", ((2, 3),), {"count": 1.5}, "count is 1.5"),
)
