"""Casts, copies and the local sum of gradients."""

import torch
from hypothesis import strategies as st

from tests.ops.harness import Misfit, Subject, cases, real, shape


def _copy(draw):
    return [draw(shape(0))], {}, [real]


def _cast(draw):
    return [draw(shape(0))], {"dtype": draw(st.sampled_from(["float32", "bfloat16", None]))}, [real]


def _multiref(draw):
    return [draw(shape(0))], {"times": draw(st.integers(1, 3))}, [real]


def _accumulate(draw):
    count = draw(st.integers(1, 4))
    return [draw(shape(0))] * count, {}, [real] * count


def _same(x, attrs):
    return [x[0]]


SUBJECTS = (
    Subject("float", cases(_cast), lambda x, attrs: [x[0].double()], rational=True),
    Subject("to", cases(_cast), lambda x, attrs: [x[0].to(torch.float64)], rational=True),
    Subject("identity", cases(_copy), lambda x, attrs: [torch.nn.Identity()(x[0])], rational=True),
    Subject("contiguous", cases(_copy), lambda x, attrs: [x[0].contiguous()], rational=True),
    Subject("multiref", cases(_multiref), lambda x, attrs: [x[0] * 1] * attrs["times"], rational=True),
    Subject("accumulate", cases(_accumulate), lambda x, attrs: [sum(x)], rational=True),
)
MISFITS = (
    Misfit("float", ((2,), (2,)), {}, "takes 1 inputs, found 2"),
    Misfit("to", ((2,),), {"dtype": "int64"}, "cast to int64 is not known"),
    Misfit("identity", ((2,),), {"dtype": "float32"}, "unknown attribute dtype; the operator has none"),
    Misfit("contiguous", (), {}, "takes 1 inputs, found 0"),
    Misfit("multiref", ((2,),), {}, "times is None"),
    Misfit("multiref", ((2,),), {"times": 0}, "times is 0"),
    Misfit("multiref", ((2,),), {"times": True}, "times is True"),
    Misfit("accumulate", ((2,), (3,)), {}, "adds tensors of one shape"),
    Misfit("accumulate", ((2,), (2, 1)), {}, "adds tensors of one shape"),
)
