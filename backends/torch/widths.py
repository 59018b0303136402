"""Numbers beside tensors of narrow integers."""

from collections.abc import Hashable
from typing import Any

import numpy as np

from verdict.backends.torch.arguments import tensors_in
from verdict.ops.integers import wrapped
from verdict.ops.types import NUMBERS, is_whole


def modulo(attrs: dict[str, Hashable], read: Any, made: Any) -> dict[str, Hashable]:
    """Attributes with numbers that meet tensors of narrow integers as torch takes them: modulo the width.

    read, made: the arguments and the results of a call, with the tensors in them.
    """
    if attrs.keys().isdisjoint(NUMBERS):
        return attrs
    dtypes = {str(tensor.dtype) for tensor in tensors_in(read)} - {"torch.bool"}
    if len(dtypes) != 1 or not all(map(is_whole, dtypes)) or any(t.is_floating_point() for t in tensors_in(made)):
        return attrs
    (dtype,) = dtypes
    return {name: _within(value, dtype) if name in NUMBERS else value for name, value in attrs.items()}


def _within(value: Hashable, dtype: str) -> Hashable:
    if not isinstance(value, int) or isinstance(value, bool):
        return value
    return int(wrapped(np.asarray(value), dtype))
