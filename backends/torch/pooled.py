"""Means over windows of three dimensions, which are means over two of them and then over the third; and the greatest
elements of windows that share all positions evenly, window by window.
"""

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any

import torch

from verdict.backends.torch.collectives import Unknown

_AVERAGE, _BACKWARD = torch.ops.aten.avg_pool2d, torch.ops.aten.avg_pool2d_backward
_SHARED, _SHARED_BACKWARD = torch.ops.aten._adaptive_avg_pool2d, torch.ops.aten._adaptive_avg_pool2d_backward
MOST_WINDOWS = 64
"""The most windows of unlike sizes that are taken apart: each is five operators; 7 times 7 are usual."""


def averaged(
    x: Any, kernel_size: Sequence[int], stride: Sequence[int] = (), padding: Sequence[int] = (0,),
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
) -> Any:  # fmt: skip
    """The mean of each window. x: (..., depth, height, width)."""
    _require_elements(x)
    deep, flat = _both(kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    made = _AVERAGE(x.flatten(0, -4), *flat)
    return _AVERAGE(made.flatten(-2), *deep).unflatten(-1, made.shape[-2:]).reshape(*x.shape[:-3], -1, *made.shape[-2:])


def averaged_backward(
    grad: Any, x: Any, kernel_size: Sequence[int], stride: Sequence[int], padding: Sequence[int], ceil_mode: bool,
    count_include_pad: bool, divisor_override: int | None,
) -> Any:  # fmt: skip
    """The gradient of x."""
    _require_elements(x)
    deep, flat = _both(kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    whole, sizes = x.flatten(0, -4), grad.shape[-2:]
    between = x.new_zeros((*whole.shape[:-2], *sizes))
    above = _BACKWARD(grad.reshape(len(whole), -1, sizes[0] * sizes[1]), between.flatten(-2), *deep)
    return _BACKWARD(above.unflatten(-1, sizes), whole, *flat).reshape(x.shape)


def shared(x: Any, output_size: Sequence[int]) -> Any:
    """The means of windows that share all positions of three dimensions evenly."""
    _require_elements(x)
    depth, *sizes = output_size
    made = _SHARED(x.flatten(0, -4), sizes)
    made = _SHARED(made.flatten(-2), [depth, sizes[0] * sizes[1]])
    return made.unflatten(-1, sizes).reshape(*x.shape[:-3], *output_size)


def shared_backward(grad: Any, x: Any) -> Any:
    """The gradient of x."""
    _require_elements(x)
    whole, sizes = x.flatten(0, -4), grad.shape[-2:]
    between = x.new_zeros((*whole.shape[:-2], sizes[0] * sizes[1]))
    above = _SHARED_BACKWARD(grad.reshape(len(whole), -1, sizes[0] * sizes[1]), between)
    return _SHARED_BACKWARD(above.unflatten(-1, sizes), whole).reshape(x.shape)


def greatest(x: Any, output_size: Sequence[int]) -> tuple[Any, Any]:
    """The greatest element of each window of the last dimensions, and its place, which counts in them together."""
    _require_elements(x)
    sizes = x.shape[-len(output_size) :]
    if prod(output_size) > MOST_WINDOWS:
        raise Unknown(f"the greatest elements of {prod(output_size)} windows of unlike sizes are not taken apart")
    every = [
        [range(k * size // count, -(-(k + 1) * size // count)) for k in range(count)]
        for size, count in zip(sizes, output_size, strict=True)
    ]
    places = torch.arange(prod(sizes)).reshape(sizes)
    values, found = [], []
    for window in product(*every):
        part = tuple(slice(along.start, along.stop) for along in window)
        value, at = x[(..., *part)].flatten(-len(sizes)).max(-1)
        values.append(value)
        found.append(torch.ops.aten.index.Tensor(places[part].flatten(), [at]))
    return tuple(torch.stack(each, -1).unflatten(-1, list(output_size)) for each in (values, found))


def _require_elements(x: Any) -> None:
    if not x.numel():
        raise Unknown("means over windows of a tensor without elements have no rule")


def _both(
    kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int], ceil_mode: bool, counted: bool,
    divisor: int | None,
) -> Any:  # fmt: skip
    """The arguments of the mean over the depth, whose second dimension is all else, and of that over the others."""
    kernel, padding = _three(kernel), _three(padding)
    stride = _three(stride) if len(stride) else kernel
    deep = [kernel[0], 1], [stride[0], 1], [padding[0], 0], ceil_mode, counted, divisor
    flat = kernel[1:], stride[1:], padding[1:], ceil_mode, counted, None if divisor is None else 1
    return deep, flat


def _three(given: Sequence[int]) -> list[int]:
    return list(given) if len(given) == 3 else list(given) * 3
