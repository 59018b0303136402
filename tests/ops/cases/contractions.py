"""linear and matmul."""

import torch
from hypothesis import strategies as st

from tests.ops.cases.arithmetic import _broadcast
from tests.ops.harness import Misfit, Subject, cases, real, shape

SIZES = st.integers(1, 4)


def _linear(draw):
    batch, k, n = draw(shape(0, 3)), draw(SIZES), draw(SIZES)
    shapes = [(*batch, k), (n, k), (n,)][: draw(st.sampled_from([2, 3]))]
    return shapes, {}, [real] * len(shapes)


def _matmul(draw):
    left, right = _broadcast(draw) if draw(st.booleans()) else ((), ())
    m, k, n = draw(SIZES), draw(SIZES), draw(SIZES)
    return [(*left, m, k), (*right, k, n)], {}, [real, real]


SUBJECTS = (
    Subject("linear", cases(_linear), lambda x, attrs: [torch.nn.functional.linear(*x)], rational=True),
    Subject("matmul", cases(_matmul), lambda x, attrs: [torch.matmul(*x)], rational=True),
)
MISFITS = (
    Misfit(
        "linear",
        ((2, 4096), (8, 1024)),
        {},
        "linear: x has 4096 features in its last dimension, w expects 1024",
    ),
    Misfit("linear", ((2, 4), (8, 4), (4,)), {}, "w gives 8 features, the bias has shape"),
    Misfit("linear", ((2, 4), (8, 4), (1, 8)), {}, "w gives 8 features, the bias has shape"),
    Misfit("linear", ((2, 4), (4,)), {}, "w .* two dimensions"),
    Misfit("linear", ((), (4, 4)), {}, "needs a last dimension"),
    Misfit("matmul", ((2, 3), (2, 3)), {}, "the first factor has 3 columns, the second 2 rows"),
    Misfit("matmul", ((2, 2, 3), (4, 3, 2)), {}, "do not broadcast"),
    Misfit("matmul", ((3,), (3, 2)), {}, "two dimensions or more"),
)
