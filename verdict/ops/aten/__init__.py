"""The rules of ATen operators, as a recorded PyTorch program has them: `aten.<name>.<overload>` (form.py)."""

from verdict.ops.aten import (
    activations,
    attention,
    choice,
    compare,
    dimensions,
    elementwise,
    embedding,
    gather,
    indexing,
    loss,
    losses,
    making,
    matrix,
    norms,
    pointwise_backward,
    reductions,
    shaping,
    slicing,
    softmax,
    strides,
)

RULES = (
    *elementwise.RULES,
    *pointwise_backward.RULES,
    *matrix.RULES,
    *softmax.RULES,
    *loss.RULES,
    *losses.RULES,
    *activations.RULES,
    *norms.RULES,
    *embedding.RULES,
    *shaping.RULES,
    *dimensions.RULES,
    *slicing.RULES,
    *strides.RULES,
    *making.RULES,
    *compare.RULES,
    *reductions.RULES,
    *indexing.RULES,
    *gather.RULES,
    *choice.RULES,
    *attention.RULES,
)

__all__ = ["RULES"]
