"""A mixture of experts as DeepSeek-V3's: LLaMA3's blocks, with experts in place of the feed-forward after the
first layers.

A gate sends each token to `topk` experts by sigmoid scores, limited to `topk_groups` of the groups of experts; the
choice goes by scores and a bias that is not trained. Shared experts take every token. The attention is LLaMA3's and
not latent. Of the experts each tp rank holds a range, and what they add up to is summed over the tp ranks; so are the
gradients of the tokens and of the routing weights. The gate is on every tp rank the same, with its whole gradient.

Source: DeepSeek-V3 Technical Report, arXiv 2412.19437, section 2.1.2; its inference code, classes Gate and MoE.
"""

from backends.generator import llama3
from backends.generator.crossings import enter, leave
from backends.generator.experts import routed_experts
from backends.generator.layers import add
from backends.generator.sizes import Sizes, divides
from backends.generator.tape import Tape
from backends.generator.value import Value
from verdict.errors import UsageError

INPUT = llama3.INPUT
ROUTE_SCALE = 2.5

boundary = llama3.boundary


def check(model: str, sizes: Sizes) -> None:
    """Raise UsageError where the sizes do not fit the model."""
    llama3.check(model, sizes)
    divides(model, "experts", sizes.experts, "tp", sizes.tp)
    divides(model, "shared_experts x moe_ffn", sizes.shared_experts * sizes.moe_ffn, "tp", sizes.tp)
    divides(model, "experts", sizes.experts, "ep", sizes.ep)
    if sizes.routing == "given" and sizes.tp > 1:
        raise UsageError(model, "a given routing with tensor parallel ranks", "choose tp 1, and ep for the experts")
    divides(model, "experts", sizes.experts, "groups", sizes.groups)
    if sizes.topk_groups > sizes.groups:
        raise UsageError(model, f"topk_groups is {sizes.topk_groups} of {sizes.groups} groups", "choose fewer")
    each = sizes.experts // sizes.groups
    if sizes.groups > 1 and each < 2:
        raise UsageError(model, "a group of one expert", "a group is as good as its two best: give it two at least")
    if sizes.topk > each * sizes.topk_groups:
        raise UsageError(
            model, f"topk is {sizes.topk}, {sizes.topk_groups} groups have {each * sizes.topk_groups} experts",
            "choose a smaller topk",
        )  # fmt: skip


def record(tape: Tape, sizes: Sizes, layers: range, before: tuple[Value, ...]) -> tuple[Value, ...]:
    """Record `layers` after `before`, which the first stage lacks: what the next stage receives, or the loss."""
    return llama3.blocks(tape, sizes, layers, before, _feed_forward)


def _feed_forward(tape: Tape, sizes: Sizes, x: Value, layer: int, at: str) -> Value:
    if layer < sizes.dense_layers:
        return llama3.swiglu(tape, x, sizes.ffn, at)
    if sizes.routing == "given":
        return _given(tape, sizes, x, at)
    tokens = tape.batch * sizes.seq
    (flat,) = tape.op(
        "view", (x,), f"{at}.tokens", (tokens, sizes.hidden), attrs={"size": (-1, sizes.hidden)}, where={"seq": None}
    )
    judged, routed, *shared = tape.multiref(flat, 2 + (sizes.shared_experts > 0))
    weights, indices = _gate(tape, sizes, judged, f"{at}.gate")
    y = _experts(tape, sizes, enter(tape, routed), indices, enter(tape, weights), f"{at}.experts")
    for handle in shared:
        width = sizes.shared_experts * sizes.moe_ffn
        y = add(tape, y, llama3.swiglu(tape, handle, width, f"{at}.shared_experts"), f"{at}.sum")
    (out,) = tape.op("view", (y,), f"{at}.rows", x.shape, attrs={"size": (tape.rows, *x.shape[1:])}, where={"seq": 1})
    return out


def _given(tape: Tape, sizes: Sizes, x: Value, at: str) -> Value:
    """Experts by a given routing, and those that take every token."""
    if not sizes.shared_experts:
        return routed_experts(tape, sizes, x, f"{at}.experts")
    routed, shared = tape.multiref(x, 2)
    y = routed_experts(tape, sizes, routed, f"{at}.experts")
    width = sizes.shared_experts * sizes.moe_ffn
    return add(tape, y, llama3.swiglu(tape, shared, width, f"{at}.shared_experts"), f"{at}.sum")


def _gate(tape: Tape, sizes: Sizes, x: Value, at: str) -> tuple[Value, Value]:
    """The routing weights and the experts of each token, each (tokens, topk)."""
    weight = tape.weight(f"{at}.weight", (sizes.experts, sizes.hidden))
    bias = tape.buffer(f"{at}.bias", (sizes.experts,), "float32")
    shape = (x.shape[0], sizes.topk)
    weights, indices = tape.op(
        "gate", (x, weight, bias), at, shape, shape, integers=(1,),
        attrs={
            "score_func": "sigmoid",
            "n_groups": sizes.groups,
            "topk_groups": sizes.topk_groups,
            "topk": sizes.topk,
            "route_scale": ROUTE_SCALE,
        },
    )  # fmt: skip
    return weights, indices


def _experts(tape: Tape, sizes: Sizes, x: Value, indices: Value, weights: Value, at: str) -> Value:
    """What the experts of each token add up to. x and weights have entered."""
    inner, outer = (sizes.experts, sizes.moe_ffn, sizes.hidden), (sizes.experts, sizes.hidden, sizes.moe_ffn)
    w1, w3, w2 = (
        tape.weight(f"{at}.{name}", shape, split=0) for name, shape in (("w1", inner), ("w3", inner), ("w2", outer))
    )
    start = tape.tp_rank * tape.local(sizes.experts)
    (y,) = tape.op(
        "moe_gmm", (x, indices, weights, w1, w3, w2), at, x.shape, addend=tape.tp > 1,
        attrs={
            "n_routed_experts": sizes.experts,
            "local_expert_start": start,
            "local_expert_end": start + tape.local(sizes.experts),
        },
    )  # fmt: skip
    return leave(tape, y)
