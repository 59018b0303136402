"""Transposed convolutions, as others."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.nn import functional


def transposed(
    x: Any, weight: Any, bias: Any, stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int],
    transposed: bool, more: Sequence[int], groups: int,
) -> Any:  # fmt: skip
    """A transposed convolution: one with the mirrored weights, of its input with zeros between the elements.

    x: (batch, channels, sizes ...). weight: (channels, channels made / groups, sizes ...). more: what is added to the
    sizes that are made, at their ends.
    """
    dims = x.dim() - 2
    stride, padding, dilation, more = (_each(given, dims) for given in (stride, padding, dilation, more))
    around: list[int] = []
    for dim in range(dims):
        at, size = dim + 2, x.shape[dim + 2]
        if stride[dim] > 1:
            between = [0, 0] * (dims - 1 - dim) + [0, stride[dim] - 1]
            x = functional.pad(x.unsqueeze(at + 1), between).flatten(at, at + 1)
            x = x.narrow(at, 0, (size - 1) * stride[dim] + 1)
        edge = dilation[dim] * (weight.shape[at] - 1) - padding[dim]
        around = [edge, edge + more[dim], *around]
    made = weight.shape[1]
    parts = weight.flip(list(range(2, dims + 2))).unflatten(0, (groups, -1)).transpose(1, 2)
    mirrored = parts.reshape(groups * made, -1, *weight.shape[2:])
    none = [0] * dims
    return torch.ops.aten.convolution(
        functional.pad(x, around), mirrored, bias, [1] * dims, none, dilation, False, none, groups
    )


def transposed_backward(
    grad: Any, x: Any, weight: Any, biases: Any, stride: Sequence[int], padding: Sequence[int],
    dilation: Sequence[int], transposed: bool, more: Sequence[int], groups: int, asked: Sequence[bool],
) -> Any:  # fmt: skip
    """The gradients of a transposed convolution, which a convolution with the same weights is the transpose of.

    What was added to sizes at their ends may give that convolution a window more: they are made to fit.
    """
    dims = x.dim() - 2
    stride, padding, dilation, more = (_each(given, dims) for given in (stride, padding, dilation, more))
    ends = [end for dim in reversed(range(dims)) for end in (padding[dim], padding[dim] - more[dim])]
    fitted, none = functional.pad(grad, ends), [0] * dims
    how = stride, none, dilation, False, none, groups
    of_x = torch.ops.aten.convolution(fitted, weight, None, *how) if asked[0] else None
    of_weight = None
    if asked[1]:
        of_weight = torch.ops.aten.convolution_backward(x, fitted, weight, None, *how, [False, True, False])[1]
    return of_x, of_weight, grad.sum([0, *range(2, grad.dim())]) if asked[2] else None


def _each(given: Sequence[int], dims: int) -> list[int]:
    return list(given) if len(given) == dims else list(given) * dims


TAKEN_APART: Mapping[str, Callable[..., Any]] = {
    "convolution": transposed,
    "convolution_backward": transposed_backward,
}
"""What a rule has for convolutions that are none."""
