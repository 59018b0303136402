"""LLaMA3: embedding, blocks of attention and SwiGLU with RMSNorm, norm and output; the loss is the sum of the logits.

Tensor parallel as Megatron's: heads and the width of the feed-forward block are divided; so is the vocabulary, of
the embedding and of the output, and the loss is then the sum over the tp ranks. The first pipeline stage makes the
causal mask, and each hands it on with the hidden state.
"""

from collections.abc import Hashable
from math import sqrt

from backends.generator.layers import (
    add,
    column_split_linear,
    elementwise,
    embedding,
    mul,
    rms_norm,
    row_split_linear,
    sum_loss,
)
from backends.generator.sizes import Sizes
from backends.generator.tape import Tape, Value

INPUT = "tokens"


def boundary(tape: Tape, sizes: Sizes, layer: int) -> tuple[Value, ...]:
    """What a stage that begins after `layer` receives: the output of `layer`, and the causal mask."""
    return (
        tape.boundary(f"layers.{layer}.out", (tape.rows, sizes.seq, sizes.hidden)),
        tape.boundary("mask", (1, 1, sizes.seq, sizes.seq), trained=False),
    )


def record(tape: Tape, sizes: Sizes, layers: range, before: tuple[Value, ...]) -> tuple[Value, ...]:
    """Record `layers` after `before`, which the first stage lacks: what the next stage receives, or the loss."""
    h, mask = before or _beginning(tape, sizes)
    for layer in layers:
        h = _block(tape, sizes, h, mask, f"layers.{layer}")
    return (h, mask) if layers.stop < sizes.layers else (_loss(tape, sizes, h),)


def _beginning(tape: Tape, sizes: Sizes) -> tuple[Value, Value]:
    tokens = tape.load(INPUT, (tape.rows, sizes.seq), "int64")
    h = embedding(tape, tokens, sizes.vocab, sizes.hidden, "tok_embeddings")
    untrained = h._replace(trained=False)
    (mask,) = tape.op("create_mask", (tokens, untrained), "mask", (1, 1, sizes.seq, sizes.seq))
    return h, mask


def _loss(tape: Tape, sizes: Sizes, h: Value) -> Value:
    x = tape.enter(rms_norm(tape, h, "norm"))
    logits = row_split_linear(tape, x, sizes.vocab, "output")
    return sum_loss(tape, elementwise(tape, "float", logits, "output.float"))


def _block(tape: Tape, sizes: Sizes, h: Value, mask: Value, at: str) -> Value:
    h, skip = tape.multiref(h, 2)
    x = _attention(tape, sizes, rms_norm(tape, h, f"{at}.attention_norm"), mask, f"{at}.attention")
    h, skip = tape.multiref(add(tape, skip, x, f"{at}.middle"), 2)
    x = _feed_forward(tape, sizes, rms_norm(tape, h, f"{at}.ffn_norm"), f"{at}.feed_forward")
    return add(tape, skip, x, f"{at}.out")


def _attention(tape: Tape, sizes: Sizes, x: Value, mask: Value, at: str) -> Value:
    q, k, v = (
        _heads(tape, sizes, row_split_linear(tape, handle, sizes.hidden, f"{at}.{name}"), f"{at}.{name}")
        for name, handle in zip(("wq", "wk", "wv"), tape.multiref(tape.enter(x), 3), strict=True)
    )
    freqs = tape.buffer("freqs", (sizes.seq, sizes.head // 2), "complex64")
    q, k = tape.op("apply_rotary_emb", (q, k, freqs), f"{at}.rotary", q.shape, k.shape, split=2)
    q, k, v = (
        _transpose(tape, value, 1, 2, f"{at}.{name}.transposed") for name, value in (("q", q), ("k", k), ("v", v))
    )
    k = _transpose(tape, k, 2, 3, f"{at}.k.columns")
    (scores,) = tape.op("matmul", (q, k), f"{at}.scores", (*q.shape[:-1], k.shape[-1]), split=1)
    scores = elementwise(tape, "div", scores, f"{at}.scaled", other=sqrt(sizes.head), rounding_mode=None)
    (scores,) = tape.op("apply_mask", (scores, mask), f"{at}.masked", scores.shape, split=1)
    scores = elementwise(tape, "float", scores, f"{at}.float")
    weights = elementwise(tape, "softmax", scores, f"{at}.softmax", dim=-1, dtype=None)
    weights = elementwise(tape, "to", weights, f"{at}.to", dtype="float32")
    (y,) = tape.op("matmul", (weights, v), f"{at}.mixed", v.shape, split=1)
    y = elementwise(tape, "contiguous", _transpose(tape, y, 1, 2, f"{at}.mixed.transposed"), f"{at}.contiguous")
    size: dict[str, Hashable] = {"size": (tape.rows, sizes.seq, -1)}
    (y,) = tape.op("view", (y,), f"{at}.joined", (tape.rows, sizes.seq, sizes.hidden), split=2, attrs=size)
    return column_split_linear(tape, y, sizes.hidden, f"{at}.wo")


def _heads(tape: Tape, sizes: Sizes, x: Value, at: str) -> Value:
    size = (tape.rows, sizes.seq, tape.local(sizes.heads), sizes.head)
    shape = (tape.rows, sizes.seq, sizes.heads, sizes.head)
    (y,) = tape.op("view", (x,), f"{at}.heads", shape, split=2, attrs={"size": size})
    return y


def _transpose(tape: Tape, x: Value, dim0: int, dim1: int, name: str) -> Value:
    order = list(range(len(x.shape)))
    order[dim0], order[dim1] = dim1, dim0
    split = None if x.split is None else order.index(x.split)
    shape = tuple(x.shape[axis] for axis in order)
    (y,) = tape.op("transpose", (x,), name, shape, split=split, attrs={"dim0": dim0, "dim1": dim1})
    return y


def _feed_forward(tape: Tape, sizes: Sizes, x: Value, at: str) -> Value:
    gate, up = tape.multiref(tape.enter(x), 2)
    gate = elementwise(tape, "silu", row_split_linear(tape, gate, sizes.ffn, f"{at}.w1"), f"{at}.silu")
    up = row_split_linear(tape, up, sizes.ffn, f"{at}.w3")
    return column_split_linear(tape, mul(tape, gate, up, f"{at}.gated"), sizes.hidden, f"{at}.w2")
