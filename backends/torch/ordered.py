"""Orders of numbers along a dimension, and what is found in them: taken apart into sorts and comparisons."""

from collections.abc import Callable, Mapping
from typing import Any

import torch

from verdict.backends.torch.collectives import Unknown


def _kth(x: Any, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """The k-th smallest along a dimension, and its place."""
    _require_elements(x)
    values, places = torch.sort(x, dim)
    found = values.select(dim, k - 1), places.select(dim, k - 1)
    return tuple(each.unsqueeze(dim) for each in found) if keepdim else found


def _require_elements(x: Any) -> None:
    if not x.dim() or not x.numel():
        raise Unknown("an order of a tensor without dimensions or elements has no rule")


def _sorted(x: Any, *, stable: bool | None = None, dim: int = -1, descending: bool = False) -> Any:
    return torch.sort(x, dim, descending)


def _median(x: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """The lower one of the two in the middle; where an element is no number, the first that is none."""
    if dim is None or not x.dim():
        found = _median(x.reshape(-1), 0)
        return found[0] if dim is None else found
    both = _kth(x, (x.shape[dim] + 1) // 2, dim, keepdim=True)
    if x.is_floating_point():
        none = x != x  # noqa: PLR0124  (what is no number)
        first, some = none.to(torch.int64).argmax(dim, keepdim=True), none.any(dim, keepdim=True)
        both = tuple(torch.where(some, *pair) for pair in zip((x.gather(dim, first), first), both, strict=True))
    return both if keepdim else tuple(each.squeeze(dim) for each in both)


def _median_of_numbers(x: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """The same of those elements that are numbers, which are sorted before all others."""
    if dim is None or not x.dim():
        found = _median_of_numbers(x.reshape(-1), 0)
        return found[0] if dim is None else found
    _require_elements(x)
    values, places = torch.sort(x, dim)
    count = x.isnan().logical_not().sum(dim, keepdim=True)
    middle = torch.div((count - 1).clamp(min=0), 2, rounding_mode="floor")
    both = values.gather(dim, middle), places.gather(dim, middle)
    return both if keepdim else tuple(each.squeeze(dim) for each in both)


def _bucketize(x: Any, bounds: Any, *, out_int32: bool = False, right: bool = False) -> Any:
    """How many bounds lie below each number; those that it is equal to among them where it is to lie to their right.
    All lie below what is no number.
    """
    above = bounds > x.unsqueeze(-1) if right else bounds >= x.unsqueeze(-1)
    return above.logical_not().sum(-1, dtype=torch.int32 if out_int32 else torch.int64)


def _searchsorted(
    bounds: Any, x: Any, *, out_int32: bool = False, right: bool = False, side: str | None = None, sorter: Any = None
) -> Any:
    if sorter is not None:
        raise Unknown("a search among numbers that another tensor sorts has no rule")
    bounds = bounds if bounds.dim() == 1 else bounds.unsqueeze(-2)
    return _bucketize(x, bounds, out_int32=out_int32, right=right or side == "right")


TAKEN_APART: Mapping[str, Callable[..., Any]] = {
    "sort": _sorted,
    "kthvalue": _kth,
    "median": _median,
    "nanmedian": _median_of_numbers,
    "bucketize": _bucketize,
    "searchsorted": _searchsorted,
}
"""By the names of operators."""
