"""GPT: embeddings of tokens and positions, blocks of attention and gelu with layernorm, and the output; the loss is
the sum of the logits.

Linears have biases. Tensor parallel as Megatron's: heads, the width of the feed-forward block and the vocabulary are
divided; a bias after a linear whose columns are divided is added once, after the sum. `tied`: the output has the
weight of the embedding, and where they are on different pipeline stages, both hold the sum of both gradients.
"""

from collections.abc import Hashable

from verdict.backends.generator import llama3
from verdict.backends.generator.attention import attend, causal_mask, heads
from verdict.backends.generator.crossings import enter
from verdict.backends.generator.layers import (
    add,
    column_split_linear,
    dropout,
    elementwise,
    embedding,
    layer_norm,
    row_split_linear,
)
from verdict.backends.generator.losses import loss_of
from verdict.backends.generator.sizes import Sizes, check_attention
from verdict.backends.generator.tape import Tape
from verdict.backends.generator.value import Value

INPUT = llama3.INPUT

boundary = llama3.boundary
check = check_attention


def record(tape: Tape, sizes: Sizes, layers: range, before: tuple[Value, ...]) -> tuple[Value, ...]:
    """Record `layers` after `before`, which the first stage lacks: what the next stage receives, or the loss."""
    h, *mask = before or _beginning(tape, sizes)
    for layer in layers:
        h = _block(tape, sizes, h, mask[0] if mask else None, f"layers.{layer}")
    return (h, *mask) if layers.stop < sizes.layers else (_loss(tape, sizes, h),)


def _beginning(tape: Tape, sizes: Sizes) -> tuple[Value, ...]:
    tokens = tape.load(INPUT, (tape.batch, sizes.seq), "int64", seq=1)
    h = embedding(tape, tokens, sizes.table, sizes.hidden, llama3.EMBEDDING)
    positions = tape.buffer("positions", (sizes.seq,), "int64", seq=0, scattered=sizes.sp)
    table = tape.weight("pos_embeddings.weight", (sizes.seq, sizes.hidden))
    attrs: dict[str, Hashable] = {"start": 0, "stop": sizes.seq, "padding_idx": None}
    (placed,) = tape.op("embedding", (positions, table), "pos_embeddings", (sizes.seq, sizes.hidden), attrs=attrs)
    h = dropout(tape, add(tape, h, placed, "embeddings"), sizes.dropout, "embeddings.dropped")
    return (h, causal_mask(tape, sizes, tokens, h)) if sizes.cp == 1 else (h,)


def _loss(tape: Tape, sizes: Sizes, h: Value) -> Value:
    x = enter(tape, layer_norm(tape, h, "norm"))
    weight = f"{llama3.EMBEDDING if sizes.tied else 'output'}.weight"
    return loss_of(tape, sizes, row_split_linear(tape, x, sizes.table, "output", weight))


def _block(tape: Tape, sizes: Sizes, h: Value, mask: Value | None, at: str) -> Value:
    h, skip = tape.multiref(h, 2)
    x = _attention(tape, sizes, layer_norm(tape, h, f"{at}.attention_norm"), mask, f"{at}.attention")
    x = dropout(tape, x, sizes.dropout, f"{at}.attention.dropped")
    h, skip = tape.multiref(add(tape, skip, x, f"{at}.middle"), 2)
    x = _feed_forward(tape, sizes, layer_norm(tape, h, f"{at}.ffn_norm"), f"{at}.feed_forward")
    x = dropout(tape, x, sizes.dropout, f"{at}.feed_forward.dropped")
    return add(tape, skip, x, f"{at}.out")


def _attention(tape: Tape, sizes: Sizes, x: Value, mask: Value | None, at: str) -> Value:
    width, unit = sizes.hidden, sizes.head
    q, k, v = (
        heads(tape, sizes, row_split_linear(tape, handle, width, f"{at}.{name}", "", True, unit), f"{at}.{name}")
        for name, handle in zip(("wq", "wk", "wv"), tape.multiref(enter(tape, x), 3), strict=True)
    )
    mixed = attend(tape, sizes, q, k, v, mask, at, sizes.dropout)
    return column_split_linear(tape, mixed, sizes.hidden, f"{at}.wo", bias=True)


def _feed_forward(tape: Tape, sizes: Sizes, x: Value, at: str) -> Value:
    wide = row_split_linear(tape, enter(tape, x), sizes.ffn, f"{at}.w1", bias=True)
    return column_split_linear(tape, elementwise(tape, "gelu", wide, f"{at}.gelu"), sizes.hidden, f"{at}.w2", bias=True)
