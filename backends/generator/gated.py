"""Experts by a gate, of which each tensor or expert parallel rank holds a range.

Tensor parallel: all tp ranks see the same tokens, and what their experts add up to is summed over them; so are the
gradients of the tokens and of the routing weights. The gate is on every tp rank the same, with its whole gradient.
Where sequences are scattered, the tokens of all positions are gathered first, once for the gate and once for the
experts.

Expert parallel: ep ranks have tokens of their own. Tokens, routing weights and choices are gathered over them, each
rank runs its experts on all of them, and the sums go back by a reduce_scatter:

    tokens      forward all_gather        backward reduce_scatter
    sums        forward reduce_scatter    backward all_gather

Source: Megatron-LM, megatron/core/transformer/moe/token_dispatcher.py, MoEAllGatherTokenDispatcher.
"""

from verdict.backends.generator.crossings import collect, enter, gather_positions, leave, spread
from verdict.backends.generator.sizes import Sizes
from verdict.backends.generator.tape import Tape
from verdict.backends.generator.value import Value

ROUTE_SCALE = 2.5


def gated_experts(tape: Tape, sizes: Sizes, judged: Value, routed: Value, at: str) -> Value:
    """What the experts of each token add up to. judged, routed: two handles of it (samples, positions, hidden)."""
    judged = _tokens(tape, gather_positions(tape, judged), f"{at}.judged")
    weights, indices = _gate(tape, sizes, judged, f"{at}.gate")
    x = _tokens(tape, enter(tape, routed), f"{at}.tokens")
    x, weights, indices = (spread(tape, value) for value in (x, enter(tape, weights), indices))
    y = collect(tape, _experts(tape, sizes, x, indices, weights, f"{at}.experts"))
    size = (tape.rows, tape.seq, sizes.hidden)
    shape, where = (tape.batch, sizes.seq, sizes.hidden), {"seq": 1}
    (rows,) = tape.op("view", (y,), f"{at}.rows", shape, addend=y.addend, attrs={"size": size}, where=where)
    return leave(tape, rows)


def _tokens(tape: Tape, x: Value, name: str) -> Value:
    """All tokens of x in one row."""
    shape, where = (tape.batch * tape.seq, x.shape[2]), {"seq": None}
    size = (-1, x.shape[2])
    (flat,) = tape.op("view", (x,), _own(tape, name), shape, entered=x.entered, attrs={"size": size}, where=where)
    return flat


def _own(tape: Tape, name: str) -> str:
    """The name of a tensor of tokens: those of a context parallel rank are no region of all, so it has its own."""
    return f"{name}.cp{tape.mesh.at(tape.device, 'cp')}" if tape.sizes.cp > 1 else name


def _gate(tape: Tape, sizes: Sizes, x: Value, at: str) -> tuple[Value, Value]:
    """The routing weights and the experts of each token, each (tokens, topk)."""
    weight = tape.weight(f"{at}.weight", (sizes.experts, sizes.hidden))
    bias = tape.buffer(f"{at}.bias", (sizes.experts,), "float32")
    shape = (x.shape[0], sizes.topk)
    weights, indices = tape.op(
        "gate", (x, weight, bias), _own(tape, at), shape, shape, integers=(1,),
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
    """The addend of the sums of experts that this rank has. x and weights have entered."""
    by = "ep" if tape.mesh.size("ep") > 1 else "tp"
    inner, outer = (sizes.experts, sizes.moe_ffn, sizes.hidden), (sizes.experts, sizes.hidden, sizes.moe_ffn)
    w1, w3, w2 = (
        tape.weight(f"{at}.{name}", shape, split=0, by=by)
        for name, shape in (("w1", inner), ("w3", inner), ("w2", outer))
    )
    start, stop = tape.piece(sizes.experts, by)
    (y,) = tape.op(
        "moe_gmm", (x, indices, weights, w1, w3, w2), _own(tape, at), x.shape, addend=tape.mesh.size(by) > 1,
        attrs={
            "n_routed_experts": sizes.experts,
            "local_expert_start": start,
            "local_expert_end": stop,
        },
    )  # fmt: skip
    return y
