"""Numbers beside tensors of narrow integers."""

from collections.abc import Hashable, Mapping
from typing import Any

import torch

from backends.torch.arguments import tensors_in
from verdict.ops.types import NUMBERS

_NARROW = frozenset({torch.uint8, torch.int8, torch.int16, torch.uint16, torch.int32, torch.uint32})
"""Types of integers that wrap around."""


def modulo(attrs: Mapping[str, Hashable], read: Any, made: Any) -> dict[str, Hashable]:
    """Attributes with numbers that meet tensors of narrow integers as torch takes them: modulo the width.

    read, made: the arguments and the results of a call, with the tensors in them.
    """
    dtypes = {tensor.dtype for tensor in tensors_in(read)} - {torch.bool}
    if len(dtypes) != 1 or not dtypes <= _NARROW or any(tensor.is_floating_point() for tensor in tensors_in(made)):
        return dict(attrs)
    info = torch.iinfo(dtypes.pop())
    return {name: _within(value, info) if name in NUMBERS else value for name, value in attrs.items()}


def _within(value: Hashable, info: torch.iinfo) -> Hashable:
    if not isinstance(value, int) or isinstance(value, bool):
        return value
    low, width = int(info.min), int(info.bits)
    return (value - low) % (1 << width) + low
