"""Extremes and products of what comes one after the other along a dimension: taken apart step by step."""

from collections.abc import Callable, Mapping
from typing import Any

import torch

from verdict.backends.torch.collectives import Unknown

MOST_STEPS = 256
"""The most elements along the dimension."""
_REDUCING: Mapping[str, Callable[[Any, Any], Any]] = {
    "amax": torch.maximum,
    "amin": torch.minimum,
    "prod": torch.mul,
}


def greatest(x: Any, dim: int) -> tuple[Any, Any]:
    """The greatest up to each element, and the last place that it is at; that of what is no number, where one is."""
    return _running(x, dim, torch.maximum, torch.ge)


def smallest(x: Any, dim: int) -> tuple[Any, Any]:
    """The smallest up to each element, and the last place that it is at."""
    return _running(x, dim, torch.minimum, torch.le)


def _running(x: Any, dim: int, best: Any, beats: Any) -> tuple[Any, Any]:
    if not x.dim() or not x.numel() or x.shape[dim] > MOST_STEPS:
        raise Unknown(f"an extreme up to each of {x.shape[dim] if x.dim() else 0} elements is not taken apart")
    values, places = [x.select(dim, 0)], [torch.zeros(x.select(dim, 0).shape, dtype=torch.int64)]
    for place in range(1, x.shape[dim]):
        new = x.select(dim, place)
        none = new != new  # noqa: PLR0124  (what is no number)
        places.append(torch.where(beats(new, values[-1]) | none, place, places[-1]))
        values.append(best(new, values[-1]))
    return torch.stack(values, dim), torch.stack(places, dim)


def scattered(x: Any, dim: int, index: Any, source: Any, reduce: str, include_self: bool = True) -> Any:
    """x, each element reduced with those of `source` that the index sends there; without itself, if it is not included
    and something is sent.
    """
    if reduce not in _REDUCING or x.dim() == 0:
        raise Unknown(f"a scatter that reduces by {reduce} to a tensor without dimensions has no rule")
    source = source[tuple(map(slice, index.shape))]
    if _beside(x, dim) != _beside(index, dim):
        return _to_part(x, dim, index, source, reduce, include_self)
    if index.shape[dim] > MOST_STEPS:
        raise Unknown(f"a scatter of {index.shape[dim]} elements along a dimension is not taken apart")
    rows = torch.arange(x.shape[dim]).reshape(-1, *(1 for _ in x.shape[dim % x.dim() + 1 :]))
    seen = None if include_self else torch.zeros(x.shape, dtype=torch.bool)
    for place in range(index.shape[dim]):
        hit, new = rows == index.narrow(dim, place, 1), source.narrow(dim, place, 1)
        both = _REDUCING[reduce](x, new)
        if seen is not None:
            both, seen = torch.where(seen, both, new), seen | hit
        x = torch.where(hit, both, x)
    return x


def _to_part(x: Any, dim: int, index: Any, source: Any, reduce: str, include_self: bool) -> Any:
    """The same where fewer rows than there are of x are sent something: the first ones."""
    part = tuple(slice(None) if k == dim % x.dim() else slice(size) for k, size in enumerate(index.shape))
    made = x.clone()
    made[part] = scattered(x[part], dim, index, source, reduce, include_self)
    return made


def _beside(x: Any, dim: int) -> list[int]:
    """The sizes of all dimensions but one."""
    sizes = list(x.shape)
    sizes.pop(dim)
    return sizes
