"""dropout, feedforward and self_attention. The random state is the fixed function that numbers stand for it."""

import torch
from hypothesis import strategies as st

from tests.ops.harness import Misfit, Subject, cases, real, shape
from verdict.ops import numbers

SIZES = st.integers(1, 3)
CHANCES = st.sampled_from([0, 0.2, 0.5, 0.75])


def _factor(x, p):
    return torch.from_numpy(numbers.kept(x.detach().numpy(), p))


def _dropout(draw):
    attrs = draw(st.sampled_from([{}, {"training": True}, {"training": False}]))
    return [draw(shape(0))], {**attrs, "p": draw(st.one_of(CHANCES, st.just(1)))}, [real]


def _torch_dropout(x, attrs):
    return [x[0] * _factor(x[0], attrs["p"]) if attrs.get("training", True) else x[0]]


def _feedforward(draw):
    batch, features, hidden, out = draw(shape(0, 2)), draw(SIZES), draw(SIZES), draw(SIZES)
    attrs = {"dropout": draw(CHANCES), "is_training": draw(st.booleans())}
    return [(*batch, features), (hidden, features), (hidden,), (out, hidden)], attrs, [real] * 4


def _torch_feedforward(x, attrs):
    active = torch.nn.functional.gelu(torch.nn.functional.linear(*x[:3]))
    if attrs["is_training"]:
        active = active * _factor(active, attrs["dropout"])
    return [active @ x[3].T]


def _self_attention(draw):
    length, batch, features, heads, width, out = (draw(SIZES) for _ in range(6))
    attrs = {
        "h": heads,
        "scale": draw(st.sampled_from([1, 0.25])),
        "dropout_p": draw(CHANCES),
        "mask": draw(st.booleans()),
    }
    rows = 3 * heads * width
    return [(length, batch, features), (rows, features), (rows,), (out, heads * width)], attrs, [real] * 4


def _torch_self_attention(x, attrs):
    """q, k and v are interleaved in the rows; a head is a run of rows of each of them."""
    tokens, w, b, out = x
    rows = torch.nn.functional.linear(tokens, w, b)
    parts = [rows[..., c::3].unflatten(-1, (attrs["h"], -1)).permute(1, 2, 0, 3) for c in range(3)]
    scores = attrs["scale"] * parts[0] @ parts[1].mT
    if attrs["mask"]:
        scores = scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), -10000.0)
    weights = scores.softmax(-1)
    made = (weights * _factor(weights, attrs["dropout_p"])) @ parts[2]
    return [made.permute(2, 0, 1, 3).flatten(2) @ out.T]


SUBJECTS = (
    Subject("dropout", cases(_dropout), _torch_dropout, rational=True),
    Subject("feedforward", cases(_feedforward), _torch_feedforward),
    Subject("self_attention", cases(_self_attention), _torch_self_attention),
)

WIDE = {"dropout": 0.2, "is_training": True}
HEADS = {"h": 2, "scale": 0.5, "dropout_p": 0.2, "mask": False}
SEQUENCE = (5, 2, 3)
MISFITS = (
    Misfit("dropout", ((2, 3),), {"p": 1.5}, "the dropout probability is 1.5"),
    Misfit("dropout", ((2, 3),), {"p": None}, "the dropout probability is None"),
    Misfit("dropout", ((2, 3),), {"p": 0.5, "training": "self.flag"}, "training is self.flag"),
    Misfit("feedforward", ((2, 3), (4, 3), (4,), (3, 4)), {}, "the dropout probability is None"),
    Misfit("feedforward", ((2, 5), (4, 3), (4,), (3, 4)), WIDE, "x has 5 features in its last dimension"),
    Misfit("feedforward", ((2, 3), (4, 3), (3,), (3, 4)), WIDE, "w1 gives 4 features"),
    Misfit("feedforward", ((2, 3), (4, 3), (4,), (4, 3)), WIDE, "w1 gives 4 features"),
    Misfit("feedforward", ((2, 3), (4,), (4,), (3, 4)), WIDE, "two dimensions"),
    Misfit("self_attention", ((2, 3), (12, 3), (12,), (3, 4)), HEADS, "must have three dimensions"),
    Misfit("self_attention", (SEQUENCE, (12, 4), (12,), (3, 4)), HEADS, "x has 3 features, w expects 4"),
    Misfit("self_attention", (SEQUENCE, (9, 3), (9,), (3, 3)), HEADS, "are not q, k and v of 2 heads"),
    Misfit("self_attention", (SEQUENCE, (12, 3), (12,), (3, 4)), {**HEADS, "h": None}, "q, k and v of None heads"),
    Misfit("self_attention", (SEQUENCE, (12, 3), (12,), (3, 12)), HEADS, "w gives 12 features"),
    Misfit("self_attention", (SEQUENCE, (12, 3), (12,), (3, 4)), {**HEADS, "scale": None}, "scale must be a number"),
    Misfit("self_attention", (SEQUENCE, (12, 3), (12,), (3, 4)), {**HEADS, "mask": 1}, "mask True or False"),
    Misfit("self_attention", (SEQUENCE, (12, 3), (12,), (3, 4)), {**HEADS, "dropout_p": 2}, "probability is 2"),
)
