"""gate and moe_gmm, the operators of a mixture of experts. torch runs a loop over groups and experts."""

import torch
from hypothesis import strategies as st

from tests.ops.harness import Misfit, Subject, cases, ids, real

SIZES = st.integers(1, 3)


def _irregular(rng, shape):
    """Values of which no two, nor two sums, are equal."""
    return rng.normal(size=shape)


def _gate(draw):
    groups, size = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    experts, features, tokens = groups * size, draw(SIZES), draw(SIZES)
    biased = size > 1 and draw(st.booleans())
    attrs = {"score_func": draw(st.sampled_from(["sigmoid", "softmax"])), "n_groups": groups}
    attrs["topk_groups"] = draw(st.integers(1, groups))
    attrs["topk"] = draw(st.integers(1, size * attrs["topk_groups"]))
    attrs |= draw(st.sampled_from([{}, {"route_scale": 2.5}]))
    shapes = [(tokens, features), (experts, features), (experts,)][: 3 if biased else 2]
    return shapes, attrs, [real, real, _irregular][: len(shapes)]


def _best(scores, count):
    """The places of the greatest scores; of equal ones the first."""
    return torch.sort(scores, dim=-1, descending=True, stable=True)[1][..., :count]


def _torch_gate(x, attrs):
    tokens, w, *bias = x
    logits = tokens @ w.T
    scores = logits.softmax(-1) if attrs["score_func"] == "softmax" else logits.sigmoid()
    judged = (scores + bias[0] if bias else scores).detach()
    grouped = judged.view(len(tokens), attrs["n_groups"], -1)
    worth = grouped.topk(2, dim=-1)[0].sum(-1) if bias else grouped.amax(-1)
    dropped = torch.ones_like(worth, dtype=torch.bool).scatter(1, _best(worth, attrs["topk_groups"]), False)
    indices = _best(grouped.masked_fill(dropped[..., None], -torch.inf).flatten(1), attrs["topk"])
    weights = scores.gather(1, indices)
    if attrs["score_func"] == "sigmoid":
        weights = weights / weights.sum(-1, keepdim=True)
    return [weights * attrs.get("route_scale", 1), indices]


def _moe_gmm(draw):
    tokens, slots, experts, hidden, features, out = (draw(SIZES) for _ in range(6))
    start = draw(st.integers(0, 2))
    count = start + experts + draw(st.integers(0, 2))
    attrs = {"n_routed_experts": count, "local_expert_start": start, "local_expert_end": start + experts}
    inner = (experts, hidden, features)
    shapes = [(tokens, features), (tokens, slots), (tokens, slots), inner, inner, (experts, out, hidden)]
    return shapes, attrs, [real, ids(count), real, real, real, real]


def _torch_moe_gmm(x, attrs):
    tokens, indices, weights, w1, w3, w2 = x
    y = torch.zeros((len(tokens), w2.shape[1]), dtype=torch.float64)
    for row in range(len(w1)):
        token, slot = torch.where(indices == attrs["local_expert_start"] + row)
        hidden = torch.nn.functional.silu(tokens[token] @ w1[row].T) * (tokens[token] @ w3[row].T)
        y = y.index_add(0, token, hidden @ w2[row].T * weights[token, slot, None])
    return [y]


SUBJECTS = (
    Subject("gate", cases(_gate), _torch_gate, differentiable=lambda position: position < 2),
    Subject("moe_gmm", cases(_moe_gmm), _torch_moe_gmm),
)

ROUTED = {"score_func": "sigmoid", "n_groups": 2, "topk_groups": 1, "topk": 2}
HELD = {"n_routed_experts": 16, "local_expert_start": 8, "local_expert_end": 12}
SLOTS, INNER, OUTER = (5, 2), (4, 6, 3), (4, 3, 6)
FIT = ((5, 3), SLOTS, SLOTS, INNER, INNER, OUTER)
MISFITS = (
    Misfit("gate", ((5, 3), (8, 4)), ROUTED, "x has 3 features, w expects 4"),
    Misfit("gate", ((5, 3), (8, 3), (4,)), ROUTED, "scores 8 experts, the bias"),
    Misfit("gate", ((5, 3, 1), (8, 3)), ROUTED, "two dimensions"),
    Misfit("gate", ((5, 3), (8, 3)), {**ROUTED, "score_func": "tanh"}, "score_func is tanh"),
    Misfit("gate", ((5, 3), (8, 3)), {**ROUTED, "route_scale": "x"}, "route_scale is x"),
    Misfit("gate", ((5, 3), (8, 3)), {"score_func": "sigmoid"}, "topk is None"),
    Misfit("gate", ((5, 3), (9, 3)), ROUTED, "9 experts do not make 2 groups"),
    Misfit("gate", ((5, 3), (2, 3), (2,)), ROUTED, "2 experts do not make 2 groups"),
    Misfit("gate", ((5, 3), (8, 3)), {**ROUTED, "topk_groups": 3}, "topk_groups is 3"),
    Misfit("gate", ((5, 3), (8, 3)), {**ROUTED, "topk": 5}, "there are 4 experts to choose from"),
    Misfit("moe_gmm", ((5, 3), (5,), (5,), INNER, INNER, OUTER), HELD, "must have two dimensions"),
    Misfit("moe_gmm", ((5, 3), (4, 2), (4, 2), INNER, INNER, OUTER), HELD, "do not fit 5 tokens"),
    Misfit("moe_gmm", ((5, 3), SLOTS, SLOTS, INNER, (4, 3, 6), OUTER), HELD, "do not fit tokens of 3 features"),
    Misfit("moe_gmm", ((5, 3), SLOTS, SLOTS, INNER, INNER, INNER), HELD, "w2 .* 4 experts of 6 hidden"),
    Misfit("moe_gmm", FIT, {}, "must be integers"),
    Misfit("moe_gmm", FIT, {**HELD, "local_expert_end": 13}, "4 experts are held"),
)
