"""Sums and means of rows of a table, each over a bag of ids: taken apart into a lookup and sums.

Bags are marked by where they begin among the ids: `of` tells the bag of each id, the last that begins there or before.
"""

from typing import Any

import torch

from verdict.backends.torch.collectives import Unknown

SUM, MEAN = 0, 1


def bagged(
    weight: Any, ids: Any, offsets: Any, scale_grad_by_freq: bool = False, mode: int = SUM, sparse: bool = False,
    per_sample_weights: Any = None, include_last_offset: bool = False, padding_idx: int = -1,
) -> Any:  # fmt: skip
    """What is made of the rows of each bag, (bags, features); the bag of each id, how many ids each has that count, and
    nothing in the place of the greatest ones.
    """
    if mode not in (SUM, MEAN):
        raise Unknown("the greatest of a bag's rows has no rule")
    starts = offsets[:-1] if include_last_offset else offsets
    of = (starts <= torch.arange(ids.numel()).unsqueeze(-1)).sum(-1) - 1
    counts = torch.ones_like(ids) if padding_idx < 0 else (ids != padding_idx).to(ids.dtype)
    rows = torch.ops.aten.embedding(weight, ids) * counts.unsqueeze(-1).to(weight.dtype)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(-1)
    made = weight.new_zeros((len(starts), weight.shape[1])).index_add(0, of, rows)
    sizes = torch.zeros_like(starts).index_add(0, of, counts.to(starts.dtype))
    if mode == MEAN:
        made = made / sizes.clamp(min=1).unsqueeze(-1)
    return made, of.to(offsets.dtype), sizes, torch.zeros_like(starts)


def unbagged(
    grad: Any, ids: Any, of: Any, sizes: Any, greatest: Any, num_weights: int, scale_grad_by_freq: bool, mode: int,
    per_sample_weights: Any, padding_idx: int = -1,
) -> Any:  # fmt: skip
    """The gradient of the table."""
    if mode not in (SUM, MEAN) or scale_grad_by_freq:
        raise Unknown("a gradient of a bag's greatest rows, or divided by how often an id occurs, has no rule")
    each = (grad / sizes.clamp(min=1).unsqueeze(-1) if mode == MEAN else grad).index_select(0, of)
    if per_sample_weights is not None:
        each = each * per_sample_weights.unsqueeze(-1)
    return torch.ops.aten.embedding_dense_backward(each, ids, num_weights, padding_idx, False)


def unbagged_whole(
    grad: Any, ids: Any, offsets: Any, of: Any, sizes: Any, greatest: Any, num_weights: int, scale_grad_by_freq: bool,
    mode: int, sparse: bool, per_sample_weights: Any, padding_idx: int = -1,
) -> Any:  # fmt: skip
    """The same, of a call that says whether it is to be sparse."""
    if sparse:
        raise Unknown("a sparse gradient of a bag's rows has no rule")
    return unbagged(
        grad, ids, of, sizes, greatest, num_weights, scale_grad_by_freq, mode, per_sample_weights, padding_idx
    )


def unweighted(grad: Any, weight: Any, ids: Any, offsets: Any, of: Any, mode: int, padding_idx: int = -1) -> Any:
    """The gradient of what the rows of a sum are multiplied by."""
    found = (grad.index_select(0, of) * torch.ops.aten.embedding(weight, ids)).sum(-1)
    return found if padding_idx < 0 else found.masked_fill(ids == padding_idx, 0.0)
