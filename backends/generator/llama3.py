"""LLaMA3: embedding, blocks of attention and SwiGLU with RMSNorm, norm and output; the loss is the sum of the logits.

Tensor parallel as Megatron's: heads and the width of the feed-forward block are divided; so is the vocabulary, of
the embedding and of the output, and the loss is then the sum over the tp ranks. The first pipeline stage makes the
causal mask, and each hands it on with the hidden state.
"""

from collections.abc import Callable

from verdict.backends.generator.attention import attend, causal_mask, heads
from verdict.backends.generator.crossings import enter
from verdict.backends.generator.layers import (
    add,
    column_split_linear,
    elementwise,
    embedding,
    mul,
    rms_norm,
    row_split_linear,
)
from verdict.backends.generator.losses import loss_of
from verdict.backends.generator.sizes import Sizes, check_attention, divides
from verdict.backends.generator.tape import Tape
from verdict.backends.generator.value import Value

INPUT = "tokens"
EMBEDDING = "tok_embeddings"


def check(model: str, sizes: Sizes) -> None:
    """Raise UsageError where the sizes do not fit the model."""
    check_attention(model, sizes)
    divides(model, "the width of a head (hidden / heads)", sizes.head, "2, for rotary pairs", 2)


def boundary(tape: Tape, sizes: Sizes, layer: int) -> tuple[Value, ...]:
    """What a stage that begins after `layer` receives: the output of `layer`, and the causal mask."""
    h = tape.boundary(f"layers.{layer}.out", (tape.batch, sizes.seq, sizes.hidden))
    mask = (1, 1, sizes.seq, sizes.seq)
    return (h, tape.value("mask", mask, "float32", trained=False)) if sizes.cp == 1 else (h,)


def record(tape: Tape, sizes: Sizes, layers: range, before: tuple[Value, ...]) -> tuple[Value, ...]:
    """Record `layers` after `before`, which the first stage lacks: what the next stage receives, or the loss."""
    return blocks(tape, sizes, layers, before, _dense)


def blocks(
    tape: Tape,
    sizes: Sizes,
    layers: range,
    before: tuple[Value, ...],
    feed_forward: Callable[[Tape, Sizes, Value, int, str], Value],
) -> tuple[Value, ...]:
    """`record` with the feed-forward block of each layer, by its number and its name, as it is given."""
    h, *mask = before or _beginning(tape, sizes)
    for layer in layers:
        at = f"layers.{layer}"
        h, skip = tape.multiref(h, 2)
        x = _attention(
            tape, sizes, rms_norm(tape, h, f"{at}.attention_norm"), mask[0] if mask else None, f"{at}.attention"
        )
        h, skip = tape.multiref(add(tape, skip, x, f"{at}.middle"), 2)
        x = feed_forward(tape, sizes, rms_norm(tape, h, f"{at}.ffn_norm"), layer, f"{at}.feed_forward")
        h = add(tape, skip, x, f"{at}.out")
    return (h, *mask) if layers.stop < sizes.layers else (_loss(tape, sizes, h),)


def swiglu(tape: Tape, x: Value, ffn: int, at: str) -> Value:
    """w2 (silu(w1 x) * (w3 x)), where the tp ranks divide the width `ffn`."""
    gate, up = tape.multiref(enter(tape, x), 2)
    gate = elementwise(tape, "silu", row_split_linear(tape, gate, ffn, f"{at}.w1"), f"{at}.silu")
    up = row_split_linear(tape, up, ffn, f"{at}.w3")
    return column_split_linear(tape, mul(tape, gate, up, f"{at}.gated"), x.shape[-1], f"{at}.w2")


def _dense(tape: Tape, sizes: Sizes, x: Value, layer: int, at: str) -> Value:
    return swiglu(tape, x, sizes.ffn, at)


def _beginning(tape: Tape, sizes: Sizes) -> tuple[Value, ...]:
    tokens = tape.load(INPUT, (tape.batch, sizes.seq), "int64", seq=1)
    h = embedding(tape, tokens, sizes.table, sizes.hidden, EMBEDDING)
    return (h, causal_mask(tape, sizes, tokens, h)) if sizes.cp == 1 else (h,)


def _loss(tape: Tape, sizes: Sizes, h: Value) -> Value:
    x = enter(tape, rms_norm(tape, h, "norm"))
    logits = row_split_linear(tape, x, sizes.table, "output")
    return loss_of(tape, sizes, elementwise(tape, "float", logits, "output.float"))


def _attention(tape: Tape, sizes: Sizes, x: Value, mask: Value | None, at: str) -> Value:
    width, unit = sizes.hidden, sizes.head
    q, k, v = (
        heads(tape, sizes, row_split_linear(tape, handle, width, f"{at}.{name}", unit=unit), f"{at}.{name}")
        for name, handle in zip(("wq", "wk", "wv"), tape.multiref(enter(tape, x), 3), strict=True)
    )
    freqs = tape.buffer("freqs", (sizes.seq, sizes.head // 2), "complex64", seq=0)
    q, k = tape.op("apply_rotary_emb", (q, k, freqs), f"{at}.rotary", q.shape, k.shape, split=2)
    return column_split_linear(tape, attend(tape, sizes, q, k, v, mask, at), sizes.hidden, f"{at}.wo")
