"""Two tensors with broadcasting, or a tensor and a constant."""

import torch
from hypothesis import strategies as st

from tests.ops.harness import Misfit, Subject, cases, nonzero, real, shape

CONSTANTS = st.sampled_from([1e-5, 2, -3, 0.5, 11.313708498984761])


def _broadcast(draw):
    """Two shapes that broadcast, each with dimensions of size one and missing leading ones."""
    full = draw(shape(0, 4, 3))
    return [
        tuple(1 if draw(st.booleans()) and draw(st.booleans()) else size for size in full)[
            draw(st.integers(0, len(full))) if draw(st.booleans()) else 0 :
        ]
        for _ in range(2)
    ]


def _binary(fills, reflected_fill=real, **extra):
    def build(draw):
        attrs = {name: draw(choice) for name, choice in extra.items() if draw(st.booleans())}
        if draw(st.booleans()):
            return _broadcast(draw), attrs, fills
        attrs["other"] = draw(CONSTANTS)
        if draw(st.booleans()):
            attrs["reflected"] = draw(st.booleans())
        return [draw(shape(0))], attrs, [reflected_fill if attrs.get("reflected") else real]

    return cases(build)


def _torch(function):
    def run(x, attrs):
        extra = {name: attrs[name] for name in ("alpha", "rounding_mode") if name in attrs}
        operands = list(x) if len(x) == 2 else [x[0], torch.tensor(attrs["other"], dtype=torch.float64)]
        if attrs.get("reflected"):
            operands.reverse()
        return [function(*operands, **extra)]

    return run


ALPHA = st.sampled_from([1, -2, 0.25])
SUBJECTS = (
    Subject("add", _binary([real, real], alpha=ALPHA), _torch(torch.add), rational=True),
    Subject("sub", _binary([real, real], alpha=ALPHA), _torch(torch.sub), rational=True),
    Subject("mul", _binary([real, real]), _torch(torch.mul), rational=True),
    Subject("div", _binary([real, nonzero], nonzero, rounding_mode=st.none()), _torch(torch.div), rational=True),
)
MISFITS = (
    Misfit("add", ((2, 3), (2,)), {}, "do not broadcast"),
    Misfit("add", ((2,), (2,)), {"alpha": "1"}, "alpha is 1"),
    Misfit("add", ((2,), (2,), (2,)), {}, "takes 1 or 2 inputs, found 3"),
    Misfit("sub", ((4, 1, 2), (3, 2, 2)), {}, "do not broadcast"),
    Misfit("sub", ((2,),), {}, "other must be a number"),
    Misfit("sub", ((2,),), {"other": True}, "other must be a number"),
    Misfit("mul", ((2,), (2,)), {"other": 3}, "two tensors and a constant"),
    Misfit("mul", ((2,), (2,)), {"reflected": True}, "two tensors and a constant"),
    Misfit("mul", ((2,),), {"other": float("nan")}, "other must be a number"),
    Misfit("mul", ((2,),), {"other": 2, "alpha": 3}, "unknown attribute alpha"),
    Misfit("div", ((2,), (2,)), {"rounding_mode": "floor"}, "rounding_mode is floor"),
    Misfit("div", ((2,),), {"other": 0}, "divides by the constant 0"),
    Misfit("div", ((2,),), {"other": 1, "reflected": 1}, "reflected is 1"),
)
