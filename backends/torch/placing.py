"""What is put at places of a tensor, or taken from them, by lists of places or by masks: taken apart into lookups."""

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import torch

from verdict.backends.torch import running
from verdict.backends.torch.collectives import Unknown

SMALLEST_NORM = 1e-7
"""What is added to a norm before a row of a table is divided by it, as torch does."""


def _taken(x: Any, index: Any) -> Any:
    """The elements at places that count over all dimensions together."""
    return torch.ops.aten.index.Tensor(x.reshape(-1), [index])


def _put(x: Any, index: Any, source: Any, accumulate: bool = False) -> Any:
    flat = torch.ops.aten.index_put(x.reshape(-1), [index.reshape(-1)], source.reshape(-1), accumulate)
    return flat.reshape(x.shape)


def _masked(x: Any, mask: Any, source: Any) -> Any:
    """x with the first elements of `source`, one after the other, where the mask is true."""
    x, mask = torch.broadcast_tensors(x, mask)
    if not source.numel():
        raise Unknown("a scatter by a mask of a source without elements has no rule")
    found = source.reshape(-1).index_select(0, _counted(mask)).reshape(x.shape)
    return torch.where(mask, found, x)


def _masked_backward(grad: Any, mask: Any, sizes: Sequence[int]) -> Any:
    """The gradient of the source: what is not put anywhere has none."""
    grad, mask = torch.broadcast_tensors(grad, mask)
    if not prod(sizes):
        return grad.new_zeros(sizes)
    hit = torch.where(mask, grad, 0.0)
    return grad.new_zeros([prod(sizes)]).index_add(0, _counted(mask), hit.reshape(-1)).reshape(sizes)


def _counted(mask: Any) -> Any:
    """Of each element of a mask how many before it are true: the place in the source where it is true itself."""
    return (mask.reshape(-1).to(torch.int64).cumsum(0) - 1).clamp(min=0)


def _rows_reduced(x: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True) -> Any:
    """x, each of its rows along a dimension reduced with those of `source` that the index sends there."""
    if not x.dim() or not source.dim():
        raise Unknown("rows of a tensor without dimensions have no rule")
    rows = index.reshape(-1, *(1 for _ in source.shape[dim % x.dim() + 1 :])).expand(source.shape)
    return _scattered(x, dim, rows, source, reduce, include_self=include_self)


def _renormed(weight: Any, indices: Any, most: float, order: float) -> Any:
    """A table of which the rows that are named have a norm of `most` at most."""
    named = (torch.arange(len(weight))[:, None] == indices.reshape(-1)).any(1)[:, None]
    norms = torch.linalg.vector_norm(weight, order, 1, True)
    return torch.where(named & (norms > most), weight * (most / (norms + SMALLEST_NORM)), weight)


def _scattered(x: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True) -> Any:
    """x, each element reduced with those of `source` that the index sends there."""
    if reduce not in ("sum", "mean"):
        return running.scattered(x, dim, index, source, reduce, include_self)
    total = (x if include_self else x.scatter(dim, index, 0.0)).scatter_add(dim, index, source)
    if reduce == "sum":
        return total
    one = torch.ones_like(x)
    count = (one if include_self else one.scatter(dim, index, 0.0)).scatter_add(dim, index, torch.ones_like(source))
    count = count.clamp(min=1)
    return total / count if total.is_floating_point() else torch.div(total, count, rounding_mode="floor")


TAKEN_APART: Mapping[str, Callable[..., Any]] = {
    "take": _taken,
    "put": _put,
    "masked_scatter": _masked,
    "masked_scatter_backward": _masked_backward,
    "scatter_reduce": _scattered,
    "index_reduce": _rows_reduced,
    "embedding_renorm": _renormed,
}
"""By the names of operators."""
