"""Numbers that training rounds as integers of a few bits would hold them (fake quantization): taken apart.

q = round(x / scale) + zero_point; y = (q within its bounds - zero_point) scale. A gradient goes on where q
is within them.
"""

from collections.abc import Callable, Mapping
from typing import Any

import torch


def _whole(x: Any, scale: Any, zero: Any, least: int, most: int) -> tuple[Any, Any]:
    """What is rounded, and where it was within the bounds."""
    found = torch.round(x / scale) + zero
    return (torch.clamp(found, least, most) - zero) * scale, (found >= least) & (found <= most)


def _by_channel(x: Any, scale: Any, zero: Any, axis: int, least: int, most: int) -> tuple[Any, Any]:
    """The same, each place along an axis with a scale of its own."""
    shape = [-1 if dim == axis % x.dim() else 1 for dim in range(x.dim())]
    return _whole(x, scale.reshape(shape), zero.reshape(shape), least, most)


def _switched(x: Any, scale: Any, zero: Any, enabled: Any, least: int, most: int) -> tuple[Any, Any]:
    """The same where `enabled` is 1, of a scale and a zero that are tensors of one element; else x as it is."""
    made, within = _whole(x, scale, zero, least, most)
    on = enabled == 1
    return torch.where(on, made, x), torch.where(on, within, torch.ones_like(within))


TAKEN_APART: Mapping[str, Callable[..., Any]] = {
    "fake_quantize_per_tensor_affine_cachemask": _whole,
    "fake_quantize_per_channel_affine_cachemask": _by_channel,
    "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams": _switched,
}
"""By the names of operators."""
