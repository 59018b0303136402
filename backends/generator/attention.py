"""Causal attention in the operators that it is traced to, over heads that the tp ranks divide."""

from collections.abc import Hashable
from math import sqrt

from verdict.backends.generator.layers import dropout, elementwise
from verdict.backends.generator.ring import ring_attend
from verdict.backends.generator.sizes import Sizes
from verdict.backends.generator.tape import EVERYWHERE, Tape
from verdict.backends.generator.value import Value


def causal_mask(tape: Tape, sizes: Sizes, tokens: Value, h: Value) -> Value:
    """The mask (1, 1, seq, seq): minus infinity where a position would see a later one."""
    shape = (1, 1, sizes.seq, sizes.seq)
    (mask,) = tape.op("create_mask", (tokens, h._replace(trained=False)), "mask", shape, where=EVERYWHERE)
    return mask


def heads(tape: Tape, sizes: Sizes, x: Value, at: str) -> Value:
    """x (rows, seq, hidden) as (rows, seq, heads, width of a head)."""
    size = (tape.rows, tape.seq, len(range(*tape.piece(sizes.heads, "tp"))), sizes.head)
    shape = (tape.batch, sizes.seq, sizes.heads, sizes.head)
    (y,) = tape.op("view", (x,), f"{at}.heads", shape, split=2, attrs={"size": size}, where={"unit": 1})
    return y


def attend(
    tape: Tape, sizes: Sizes, q: Value, k: Value, v: Value, mask: Value | None, at: str, drop: float = 0.0
) -> Value:
    """dropout(softmax(q k^T / sqrt(width of a head) + mask)) v, of q, k, v as of `heads`: (rows, seq, hidden).

    Without a mask it is causal over the ring of context parallel ranks. With padding the input `unseen` (samples, 1, 1,
    positions) is added to the scores: any number for each key, very small ones for those that are padding.
    """
    q, k, v = (
        _transpose(tape, value, 1, 2, f"{at}.{name}.transposed") for name, value in (("q", q), ("k", k), ("v", v))
    )
    if mask is None:
        return _joined(tape, sizes, ring_attend(tape, q, k, v, at), at)
    k = _transpose(tape, k, 2, 3, f"{at}.k.columns")
    (scores,) = tape.op("matmul", (q, k), f"{at}.scores", (*q.shape[:-1], k.shape[-1]), split=1)
    scores = elementwise(tape, "div", scores, f"{at}.scaled", other=sqrt(sizes.head), rounding_mode=None)
    if sizes.padding:
        unseen = tape.given("unseen", (tape.batch, 1, 1, sizes.seq), "float32")
        (scores,) = tape.op("add", (scores, unseen), f"{at}.padded", scores.shape, split=1, attrs={"alpha": 1})
    (scores,) = tape.op("apply_mask", (scores, mask), f"{at}.masked", scores.shape, split=1)
    scores = elementwise(tape, "float", scores, f"{at}.float")
    weights = elementwise(tape, "softmax", scores, f"{at}.softmax", dim=-1, dtype=None)
    weights = elementwise(tape, "to", weights, f"{at}.to", dtype="float32")
    weights = dropout(tape, weights, drop, f"{at}.weights.dropped")
    (y,) = tape.op("matmul", (weights, v), f"{at}.mixed", v.shape, split=1)
    return _joined(tape, sizes, y, at)


def _joined(tape: Tape, sizes: Sizes, y: Value, at: str) -> Value:
    """The heads side by side again."""
    y = elementwise(tape, "contiguous", _transpose(tape, y, 1, 2, f"{at}.mixed.transposed"), f"{at}.contiguous")
    size: dict[str, Hashable] = {"size": (tape.rows, tape.seq, -1)}
    (y,) = tape.op("view", (y,), f"{at}.joined", (tape.batch, sizes.seq, sizes.hidden), split=2, attrs=size,
                   where={"unit": sizes.head})  # fmt: skip
    return y


def _transpose(tape: Tape, x: Value, dim0: int, dim1: int, name: str) -> Value:
    order = list(range(len(x.shape)))
    order[dim0], order[dim1] = dim1, dim0
    batch, seq, split = (None if axis is None else order.index(axis) for axis in (x.batch, x.seq, x.split))
    shape = tuple(x.shape[axis] for axis in order)
    attrs: dict[str, Hashable] = {"dim0": dim0, "dim1": dim1}
    (y,) = tape.op("transpose", (x,), name, shape, split=split, attrs=attrs, where={"batch": batch, "seq": seq})
    return y
