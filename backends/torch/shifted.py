"""Bits of integers that are shifted, and numbers rounded to decimals: taken apart into products and quotients."""

from collections.abc import Callable, Mapping
from typing import Any

import torch

from verdict.backends.torch.collectives import Unknown

HIGHEST = 62
"""The highest power of two that is an integer of int64."""


def _left(x: Any, count: Any) -> Any:
    """x times a power of two, of which as many bits are kept as the type has; nothing of it where it is shifted by as
    many or more, or by fewer than none. Of an integer of 64 bits that is shifted by 63 its last bit is left, the sign.
    """
    x, dtype = _tensor(x, count)
    if dtype.is_floating_point:
        return x * torch.pow(2.0, count)
    inside = _within(count, min(_bits(dtype) - 1, HIGHEST))
    x = x.to(torch.int64)
    product = x * _power(count, inside)
    found = _where(inside, product, torch.zeros_like(product))
    if _bits(dtype) > HIGHEST + 1:
        found = _where(count == HIGHEST + 1, x.remainder(2) * -(1 << HIGHEST) * 2, found)
    return found.to(dtype)


def _right(x: Any, count: Any) -> Any:
    """x divided by a power of two and rounded down; its sign is left where it is shifted by more bits than it has."""
    x, dtype = _tensor(x, count)
    if dtype.is_floating_point:
        return x / torch.pow(2.0, count)
    inside, x = _within(count, HIGHEST), x.to(torch.int64)
    quotient = torch.div(x, _power(count, inside), rounding_mode="floor")
    return _where(inside, quotient, -(x < 0).to(torch.int64)).to(dtype)


def _tensor(x: Any, count: Any) -> tuple[Any, Any]:
    """A number as a tensor beside the other, and the type of the result."""
    x = x if isinstance(x, torch.Tensor) else torch.full((), x, dtype=count.dtype)
    return x, torch.result_type(x, count)


def _bits(dtype: Any) -> int:
    if dtype is torch.bool:
        raise Unknown("truth values that are shifted have no rule")
    return int(torch.iinfo(dtype).bits)


def _within(count: Any, most: int) -> Any:
    """Whether so many bits are a power of two."""
    return (count >= 0) & (count <= most) if isinstance(count, torch.Tensor) else 0 <= count <= most


def _power(count: Any, inside: Any) -> Any:
    if not isinstance(count, torch.Tensor):
        return 1 << count if inside else 1
    powers = torch.tensor([1 << bit for bit in range(HIGHEST + 1)])
    return torch.ops.aten.index.Tensor(powers, [count.to(torch.int64).clamp(0, HIGHEST)])


def _where(inside: Any, x: Any, y: Any) -> Any:
    if not isinstance(inside, torch.Tensor):
        return x if inside else y
    return torch.where(inside, x, y)


def _rounded(x: Any, *, decimals: int) -> Any:
    """The number nearest to x that has so many decimals, half to even; fewer than none are tens, hundreds."""
    if not decimals:
        return x.round()
    unit = 10 ** abs(decimals)
    return (x * unit).round() / unit if decimals > 0 else (x / unit).round() * unit


TAKEN_APART: Mapping[str, Callable[..., Any]] = {
    "bitwise_left_shift": _left,
    "bitwise_right_shift": _right,
    "__lshift__": _left,
    "__rshift__": _right,
    "round": _rounded,
}
"""By the names of operators."""
