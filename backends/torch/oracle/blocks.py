"""Own operators of more than one torch function: rotary angles, routers, experts, attention, random states, steps.

Random numbers are modelled: what `dropout` multiplies an element by is one function of the element, what
`keyed_dropout` does one function of the key and the place in the whole tensor. Any function serves that is the same
on both sides; these are other ones than the engine `own` has.
"""

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.nn import functional
from torch.optim.sgd import sgd

Attrs = Mapping[str, Any]


def _rotary(q: Any, k: Any, freqs: Any, attrs: Attrs) -> Any:
    def turned(x: Any) -> Any:
        pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2).contiguous())
        return torch.view_as_real(pairs * freqs[None, :, None, :]).flatten(3)

    return turned(q), turned(k)


def _gate(x: Any, w: Any, *more: Any, attrs: Attrs) -> Any:
    """The Gate of DeepSeek-V3's inference code."""
    logits = functional.linear(x, w)
    scores = logits.softmax(-1) if attrs["score_func"] == "softmax" else logits.sigmoid()
    judged = scores + more[0] if more else scores
    groups = attrs.get("n_groups", 1)
    if groups > 1:
        grouped = judged.view(len(x), groups, -1)
        worth = grouped.topk(2, dim=-1)[0].sum(-1) if more else grouped.amax(-1)
        kept = worth.topk(attrs.get("topk_groups", 1), dim=-1)[1]
        mask = torch.ones(len(x), groups, dtype=torch.bool).scatter_(1, kept, False)
        judged = grouped.masked_fill(mask[..., None], float("-inf")).flatten(1)
    indices = judged.topk(attrs.get("slots", attrs["topk"]), dim=-1)[1]
    weights = scores.gather(1, indices)
    if attrs["score_func"] == "sigmoid":
        weights = weights / weights.sum(-1, keepdim=True)
    return weights * attrs.get("route_scale", 1), indices


def _moe(x: Any, indices: Any, weights: Any, w1: Any, w3: Any, w2: Any, attrs: Attrs) -> Any:
    start, end = attrs["local_expert_start"], attrs["local_expert_end"]
    if not 0 <= start < end <= attrs["n_routed_experts"] or end - start != len(w1):
        raise ValueError(f"{len(w1)} experts are not those from {start} to {end}")
    y = torch.zeros(len(x), w2.shape[1], dtype=x.dtype)
    for expert in range(attrs["local_expert_start"], attrs["local_expert_end"]):
        one, three, two = (w[expert - attrs["local_expert_start"]] for w in (w1, w3, w2))
        made = functional.linear(functional.silu(functional.linear(x, one)) * functional.linear(x, three), two)
        share = torch.where(indices == expert, weights, torch.zeros((), dtype=weights.dtype)).sum(-1)
        y = y + share[:, None] * made
    return y


def _kept(x: Any, p: float) -> Any:
    """What an element is multiplied by: 0 or more, 1 / (1 - p) at most, by the element alone."""
    if p == 1:
        return torch.zeros_like(x)
    return torch.ones_like(x) if p == 0 else (torch.cos(5 * x.detach()) ** 2 + 0.25) / (1.25 * (1 - p))


def _dropout(x: Any, attrs: Attrs) -> Any:
    return x * _kept(x, attrs.get("p", 0.5) if attrs.get("training", True) else 0)


def _drawn(key: int, place: tuple[int, ...]) -> float:
    digest = hashlib.blake2b(repr((key, place)).encode(), digest_size=6).digest()
    return int.from_bytes(digest, "big") / 2**48


def _keyed_dropout(x: Any, attrs: Attrs) -> Any:
    p = attrs.get("p", 0.5) if attrs.get("training", True) else 0
    if p in {0, 1}:
        return x * (1 - p)
    places = torch.cartesian_prod(*(torch.arange(n) for n in x.shape)).reshape(-1, x.ndim) if x.ndim else [()]
    offset = attrs["offset"]
    drawn = [_drawn(attrs["key"], tuple(int(a) + int(b) for a, b in zip(offset, at, strict=True))) for at in places]
    return x * torch.tensor(drawn, dtype=x.dtype).reshape(x.shape) / (1 - p)


def _self_attention(x: Any, w: Any, b: Any, out: Any, attrs: Attrs) -> Any:
    length, batch, _ = x.shape
    rows = functional.linear(x, w, b).reshape(length, batch, attrs["h"], -1, 3)
    q, k, v = (rows[..., part].permute(1, 2, 0, 3) for part in range(3))
    scores = q @ k.transpose(-1, -2) * attrs["scale"]
    if attrs.get("mask", False):
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        scores = scores.masked_fill(later, -10000.0)
    weights = scores.softmax(-1)
    joined = (weights * _kept(weights, attrs["dropout_p"])) @ v
    return functional.linear(joined.permute(2, 0, 1, 3).reshape(length, batch, -1), out)


def _feedforward(x: Any, w1: Any, b1: Any, w2: Any, attrs: Attrs) -> Any:
    active = functional.gelu(functional.linear(x, w1, b1))
    kept = _kept(active, attrs["dropout"])
    return functional.linear(active * kept if attrs.get("is_training", True) else active, w2)


def _sgd(w: Any, g: Any, *state: Any, attrs: Attrs) -> Any:
    if bool(attrs.get("momentum", 0)) != bool(state):
        raise ValueError("there is a momentum where there is a state for it")
    w, buffers = w.clone(), [state[0].clone()] if state else [None]
    sgd(
        [w], [g.clone()], buffers, foreach=False, fused=False,
        lr=attrs["lr"], momentum=attrs.get("momentum", 0), dampening=attrs.get("dampening", 0),
        weight_decay=attrs.get("weight_decay", 0), nesterov=attrs.get("nesterov", False), maximize=False,
    )  # fmt: skip
    return (w, buffers[0]) if state else w


def _adam(decoupled: bool) -> Callable[..., Any]:
    def run(w: Any, g: Any, m: Any, v: Any, attrs: Attrs) -> Any:
        if not isinstance(attrs["step"], int) or attrs["step"] < 1:
            raise ValueError(f"step is {attrs['step']}")
        optimizer = torch.optim.AdamW if decoupled else torch.optim.Adam
        weight = torch.nn.Parameter(w.clone())
        weight.grad = g.clone()
        betas = (attrs.get("beta1", 0.9), attrs.get("beta2", 0.999))
        more = {"eps": attrs.get("eps", 1e-8), "weight_decay": attrs.get("weight_decay", 0)}
        made = optimizer([weight], lr=attrs["lr"], betas=betas, foreach=False, fused=False, **more)
        state = {"step": torch.tensor(float(attrs["step"] - 1)), "exp_avg": m.clone(), "exp_avg_sq": v.clone()}
        made.state[weight] = state
        with torch.enable_grad():
            made.step()
        return weight.detach(), state["exp_avg"], state["exp_avg_sq"]

    return run


BLOCKS: Mapping[str, Callable[..., Any]] = {
    "apply_rotary_emb": _rotary,
    "gate": _gate,
    "moe_gmm": _moe,
    "dropout": _dropout,
    "keyed_dropout": _keyed_dropout,
    "self_attention": _self_attention,
    "feedforward": _feedforward,
    "sgd": _sgd,
    "adamw": _adam(decoupled=True),
    "adam": _adam(decoupled=False),
}
