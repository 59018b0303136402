"""The rules of ATen operators, as a recorded PyTorch program has them: `aten.<name>.<overload>` (form.py)."""

from verdict.ops.aten import (
    attention,
    choice,
    compare,
    dimensions,
    elementwise,
    embedding,
    indexing,
    loss,
    making,
    matrix,
    mse,
    norms,
    pointwise_backward,
    reductions,
    shaping,
    slicing,
    softmax,
)

RULES = (
    *elementwise.RULES,
    *pointwise_backward.RULES,
    *matrix.RULES,
    *softmax.RULES,
    *loss.RULES,
    *mse.RULES,
    *norms.RULES,
    *embedding.RULES,
    *shaping.RULES,
    *dimensions.RULES,
    *slicing.RULES,
    *making.RULES,
    *compare.RULES,
    *reductions.RULES,
    *indexing.RULES,
    *choice.RULES,
    *attention.RULES,
)

__all__ = ["RULES"]
