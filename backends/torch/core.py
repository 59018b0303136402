"""Which operators torch itself takes apart into others of ATen (torch._decomp)."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from torch._decomp import _core_aten_decompositions_post_autograd, decomposition_table
from torch._export.utils import _is_preservable_cia_op
from torch.export.decomp_utils import PRESERVED_ATEN_CIA_OPS

_DECOMPOSITIONS = "torch._decomp.decompositions"
"""The module whose functions are written in operators of ATen; others, of torch._refs, may be in torch's primitives."""


@cache
def by_torch(func: Any) -> Callable[..., Any] | None:
    """What computes the same as an operator by operators of ATen, as torch has it; None where it has nothing."""
    found = inner = decomposition_table.get(func)
    while hasattr(inner, "__wrapped__"):
        inner = inner.__wrapped__
    return found if found and (getattr(inner, "__module__", "") == _DECOMPOSITIONS or is_core(func)) else None


def is_core(func: Any) -> bool:
    """Whether torch's table of what is not core ATen (`core_aten_decompositions`) has an operator. To make that table
    takes a tenth of a second in each copy of a process, as it looks at all operators; this looks at one.
    """
    return func in named() or (func not in PRESERVED_ATEN_CIA_OPS and _is_preservable_cia_op(func))


@cache
def named() -> Mapping[Any, Any]:
    """The operators that the table lists."""
    return _core_aten_decompositions_post_autograd()  # type: ignore[no-any-return]
