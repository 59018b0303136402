"""The greatest and the smallest, and what is bounded."""

import torch
from hypothesis import strategies as st

from tests.ops.harness import Misfit, Subject, cases, real, shape

ZERO_AT_BOUNDS = tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 14)
"""Whether `torch.clamp` hands no gradient on where its input is a bound."""


def _amax(draw):
    size = draw(shape())
    dim = draw(st.integers(-len(size), len(size) - 1))
    attrs = draw(st.sampled_from([{}, {"dim": None}, {"dim": dim}, {"dim": (dim,)}, {"dim": tuple(range(len(size)))}]))
    return [size], attrs | draw(st.sampled_from([{}, {"keepdim": True}])), [real]


def _amax_torch(x, attrs):
    dim = attrs.get("dim")
    every = tuple(range(x[0].ndim))
    return [torch.amax(x[0], every if dim is None else dim, attrs.get("keepdim", False))]


def _clamp(draw):
    attrs = draw(st.sampled_from([{"min": -1}, {"max": 0.5}, {"min": -0.5, "max": 1}, {"min": None, "max": 1.0}]))
    return [draw(shape(0))], attrs, [real]


def _clamp_torch(x, attrs):
    """The rule's convention at a bound is that of torch up to 2.13; from 2.14 on the gradient is 0 there."""
    least, most = attrs.get("min"), attrs.get("max")
    made = torch.clamp(x[0], least, most)
    if not ZERO_AT_BOUNDS:
        return [made]
    inside = (x[0] >= (-torch.inf if least is None else least)) & (x[0] <= (torch.inf if most is None else most))
    return [torch.where(inside, x[0], made.detach())]


def _two(draw):
    size = draw(shape(0))
    other = tuple(1 if draw(st.booleans()) else n for n in size[draw(st.integers(0, len(size))) :])
    return draw(st.permutations([size, other])), {}, [real, real]


SUBJECTS = (
    Subject("amax", cases(_amax), _amax_torch, rational=True),
    Subject(
        "clamp",
        cases(_clamp),
        _clamp_torch,
        rational=True,
    ),
    Subject("maximum", cases(_two), lambda x, attrs: [torch.maximum(*x)], rational=True),
    Subject("minimum", cases(_two), lambda x, attrs: [torch.minimum(*x)], rational=True),
)
MISFITS = (
    Misfit("amax", ((2, 3),), {"dim": 2}, "no dimension 2"),
    Misfit("amax", ((2, 3),), {"keepdim": 0}, "keepdim is 0"),
    Misfit("clamp", ((2,),), {}, "one must be a number"),
    Misfit("clamp", ((2,),), {"min": "0"}, "min is 0"),
    Misfit("maximum", ((2, 3), (2,)), {}, "do not broadcast"),
    Misfit("minimum", ((2,),), {}, "takes 2 inputs"),
)
