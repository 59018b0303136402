"""Experts over expert parallel ranks, for a routing that is given: which token goes into which slot of which expert.

Every sample has `capacity` slots with each expert. The input `dispatch` (samples, positions, experts x capacity) says
what each slot takes of each token, and a trained router by how much each expert counts:

    slots = dispatch^T x        outputs = experts(slots)        y = (softmax(router x) dispatch) outputs

Expert parallel ranks divide the batch, as data parallel ranks do, and the experts. An all_to_all takes the slots of
all samples to the ranks that have their experts, another one takes the outputs back.

Source: Lepikhin et al., GShard, ICLR 2021, algorithm 1, with dispatch and combine as tensors.
"""

from verdict.backends.generator.layers import elementwise, mul
from verdict.backends.generator.sizes import Sizes
from verdict.backends.generator.tape import Tape
from verdict.backends.generator.value import Value
from verdict.graph import Shape


def routed_experts(tape: Tape, sizes: Sizes, x: Value, at: str) -> Value:
    """What the experts make of x (samples, positions, hidden), by the routing that is given."""
    experts, slots = sizes.experts, sizes.experts * sizes.capacity
    dispatch = tape.load(f"{at}.dispatch", (*x.shape[:2], slots), "float32")
    sent, judged = tape.multiref(x, 2)
    turned = _transposed(tape, dispatch, 1, 2, f"{at}.dispatch.turned", (x.shape[0], slots, x.shape[1]))
    (taken,) = tape.op("matmul", (turned, sent), f"{at}.taken", (x.shape[0], slots, sizes.hidden))
    taken = _view(tape, taken, f"{at}.slots", (x.shape[0], experts, sizes.capacity, sizes.hidden))
    by_expert = (experts, x.shape[0], sizes.capacity, sizes.hidden)
    taken = _transposed(tape, taken, 0, 1, f"{at}.by_expert", by_expert, batch=1)
    taken = _view(tape, taken, f"{at}.rows", (experts, x.shape[0] * sizes.capacity, sizes.hidden), batch=1)
    made = _exchange(tape, _expert(tape, sizes, _exchange(tape, taken, to_experts=True), at), to_experts=False)
    made = _view(tape, made, f"{at}.made.rows", by_expert, batch=1)
    made = _transposed(tape, made, 0, 1, f"{at}.made.slots", (x.shape[0], *by_expert[:1], *by_expert[2:]), batch=0)
    made = _view(tape, made, f"{at}.made", (x.shape[0], slots, sizes.hidden), batch=0)
    (y,) = tape.op("matmul", (_combine(tape, sizes, judged, dispatch, at), made), f"{at}.combined", x.shape)
    return y


def _combine(tape: Tape, sizes: Sizes, x: Value, dispatch: Value, at: str) -> Value:
    """The dispatch, each expert's slots times what the router gives the expert."""
    weight = tape.weight(f"{at}.router.weight", (sizes.experts, sizes.hidden))
    (scores,) = tape.op("linear", (x, weight), f"{at}.router", (*x.shape[:2], sizes.experts))
    scores = elementwise(tape, "softmax", scores, f"{at}.router.softmax", dim=-1, dtype=None)
    scores = _view(tape, scores, f"{at}.router.each", (*x.shape[:2], sizes.experts, 1))
    each = _view(tape, dispatch, f"{at}.dispatch.each", (*x.shape[:2], sizes.experts, sizes.capacity))
    (weighted,) = tape.op("mul", (each, scores), f"{at}.combine.each", each.shape)
    return _view(tape, weighted, f"{at}.combine", dispatch.shape)


def _expert(tape: Tape, sizes: Sizes, x: Value, at: str) -> Value:
    """w2 (silu(w1 x) * (w3 x)) of each expert on its own rows."""
    inner, outer = (sizes.experts, sizes.hidden, sizes.moe_ffn), (sizes.experts, sizes.moe_ffn, sizes.hidden)
    w1, w3, w2 = (
        tape.weight(f"{at}.{name}", shape, split=0, by="ep")
        for name, shape in (("w1", inner), ("w3", inner), ("w2", outer))
    )
    gate, up = tape.multiref(x, 2)
    wide = (*x.shape[:2], sizes.moe_ffn)
    (gate,) = tape.op("matmul", (gate, w1), f"{at}.gate", wide, split=x.split)
    (up,) = tape.op("matmul", (up, w3), f"{at}.up", wide, split=x.split)
    gated = mul(tape, elementwise(tape, "silu", gate, f"{at}.silu"), up, f"{at}.gated")
    (y,) = tape.op("matmul", (gated, w2), f"{at}.out", x.shape, split=x.split)
    return y


def _exchange(tape: Tape, x: Value, to_experts: bool) -> Value:
    """From all experts' rows of the own samples to the own experts' rows of all samples, or back."""
    if tape.mesh.size("ep") == 1:
        return x
    split, concat = (0, 1) if to_experts else (1, 0)
    y = tape.like(x, split=0 if to_experts else None, by="ep")
    tape.collective(tape.forward, "all_to_all", x.tensor, y.tensor, ("ep",), x.name, split_dim=split, concat_dim=concat)

    def back() -> None:
        before, after = tape.gradients[y.use], tape.gradient(x)
        name = f"{x.name}.grad"
        tape.collective(tape.backward, "all_to_all", before, after, ("ep",), name, split_dim=concat, concat_dim=split)

    tape.undo(back)
    return y


def _view(tape: Tape, x: Value, name: str, shape: Shape, batch: int = 0) -> Value:
    """x with other dimensions; the samples are within dimension `batch`."""
    local = list(shape)
    local[batch] //= tape.mesh.size("dp", "ep")
    where = {"batch": batch}
    (y,) = tape.op("view", (x,), name, shape, split=x.split, attrs={"size": tuple(local)}, where=where)
    return y


def _transposed(tape: Tape, x: Value, dim0: int, dim1: int, name: str, shape: Shape, batch: int = 0) -> Value:
    (y,) = tape.op("transpose", (x,), name, shape, attrs={"dim0": dim0, "dim1": dim1}, where={"batch": batch})
    return y
