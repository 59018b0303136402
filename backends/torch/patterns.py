"""Tensors whose numbers follow from sizes alone: a diagonal of ones, the places of a triangle."""

from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from verdict.backends.torch.collectives import Unknown


def diagonal(rows: int, columns: int | None = None, *, dtype: Any = None, layout: Any = None, **_: Any) -> Any:
    """Ones where row and column are the same. torch itself counts both in the narrowest integers that hold them, which
    from 256 on are of a type that the CPU has no range of.
    """
    if layout not in (None, torch.strided):
        raise Unknown("a diagonal in a sparse layout has no rule")
    row, column = torch.arange(rows), torch.arange(rows if columns is None else columns)
    return (row.unsqueeze(-1) == column).to(torch.get_default_dtype() if dtype is None else dtype)


def triangle(lower: bool, rows: int, columns: int, offset: int = 0, *, dtype: Any = None, **_: Any) -> Any:
    """The rows and the columns of the elements on one side of a diagonal."""
    with _disable_current_modes():
        listed = (torch.tril_indices if lower else torch.triu_indices)(rows, columns, offset).tolist()
    return torch.tensor(listed, dtype=torch.int64 if dtype is None else dtype).reshape(2, -1)
