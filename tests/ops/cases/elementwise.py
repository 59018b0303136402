"""Functions of one tensor, element by element."""

import torch
from hypothesis import strategies as st

from tests.ops.harness import Misfit, Subject, cases, nonzero, positive, real, shape


def _member(op, function, fill=real, rational=False):
    return Subject(op, cases(lambda draw: ([draw(shape(0))], {}, [fill])), lambda x, attrs: [function(x[0])], rational)


def _pow(draw):
    exponent, fill = draw(
        st.sampled_from(
            [
                (0, real),
                (1, real),
                (2, real),
                (2.0, real),
                (3, real),
                (-1, nonzero),
                (-2, nonzero),
                (0.5, positive),
                (-1.5, positive),
                (1e-1, positive),
            ]
        )
    )
    return [draw(shape(0))], {"exponent": exponent}, [fill]


SUBJECTS = (
    _member("neg", torch.neg, rational=True),
    _member("exp", torch.exp),
    _member("log", torch.log, positive),
    _member("abs", torch.abs, rational=True),
    _member("sqrt", torch.sqrt, positive),
    _member("rsqrt", torch.rsqrt, positive),
    _member("sigmoid", torch.sigmoid),
    _member("tanh", torch.tanh),
    _member("silu", torch.nn.functional.silu),
    _member("relu", torch.relu, rational=True),
    _member("gelu", torch.nn.functional.gelu),
    Subject("pow", cases(_pow), lambda x, attrs: [torch.pow(x[0], attrs["exponent"])]),
)
MISFITS = (
    *(
        Misfit(op, ((2,), (2,)), {}, "takes 1 inputs, found 2")
        for op in ("neg", "exp", "log", "abs", "sqrt", "rsqrt", "sigmoid", "tanh", "silu", "relu", "gelu")
    ),
    Misfit("gelu", ((2,),), {"approximate": "tanh"}, "only 'none' has a rule"),
    Misfit("pow", ((2,),), {}, "exponent is None"),
    Misfit("pow", ((2,),), {"exponent": float("inf")}, "exponent is inf"),
    Misfit("pow", ((2,), (2,)), {"exponent": 2}, "takes 1 inputs, found 2"),
)
