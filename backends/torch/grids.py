"""Samples of an image at the points of a grid, and their gradients: taken apart into weighted lookups.

Along each dimension a point has some taps: places of the image, by which weight each counts, and how that weight
changes with the point. A sample is the sum over one tap of each dimension of the image there times all their weights.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any, NamedTuple

import torch

BILINEAR, NEAREST, BICUBIC = 0, 1, 2
ZEROS, BORDER, REFLECTION = 0, 1, 2
"""As torch numbers its ways to interpolate, and to look beyond the border."""
BEND = -0.75
"""The parameter of torch's cubic convolution."""


class _Tap(NamedTuple):
    """place: integers; inside: whether there is such a place, as a factor; slope: of the weight along the point."""

    place: Any
    inside: Any
    weight: Any
    slope: Any


def _taps(grid: Any, size: int, how: int, padding: int, aligned: bool) -> list[_Tap]:
    """The taps of points along a dimension of so many places; -1 and 1 are its ends."""
    scale = (size - 1) / 2 if aligned else size / 2
    point = (grid + 1) * scale - (0 if aligned else 0.5)
    if how == BICUBIC:
        first = point.floor()
        found = zip(range(-1, 3), *_cubic(point - first), strict=True)
        beyond = [(_beyond(first + at, size, padding, aligned)[0], weight, slope) for at, weight, slope in found]
        return [_tap(place, size, weight, slope * scale) for place, weight, slope in beyond]
    point, slope = _beyond(point, size, padding, aligned)
    if how == NEAREST:
        return [_tap(point.round(), size, torch.ones_like(point), torch.zeros_like(point))]
    first, slope = point.floor(), slope * scale
    part = point - first
    return [_tap(first, size, 1 - part, -slope), _tap(first + 1, size, part, slope)]


def _tap(place: Any, size: int, weight: Any, slope: Any) -> _Tap:
    inside = ((place >= 0) & (place <= size - 1)).to(weight.dtype)
    return _Tap(place.clamp(0, size - 1).to(torch.int64), inside, weight, slope)


def _beyond(point: Any, size: int, padding: int, aligned: bool) -> tuple[Any, Any]:
    """Where a point beyond the border looks, and how that changes with the point."""
    slope = torch.ones_like(point)
    if padding == ZEROS:
        return point, slope
    if padding == REFLECTION:
        low, span = (0.0, size - 1) if aligned else (-0.5, size)
        if not span:
            return torch.zeros_like(point), torch.zeros_like(point)
        away = point - low
        slope = torch.where(away < 0, -slope, slope)
        away = away.abs()
        turns = torch.div(away, span, rounding_mode="floor")
        rest, odd = away - turns * span, turns - 2 * torch.div(turns, 2, rounding_mode="floor") > 0.5
        point, slope = torch.where(odd, span - rest, rest) + low, torch.where(odd, -slope, slope)
    between = (point > 0) & (point < size - 1)
    return point.clamp(0, size - 1), torch.where(between, slope, 0.0)


def _cubic(part: Any) -> tuple[list[Any], list[Any]]:
    """The weights of the four places around a point, and their slopes."""

    def near(x: Any) -> tuple[Any, Any]:
        return ((BEND + 2) * x - (BEND + 3)) * x * x + 1, (3 * (BEND + 2) * x - 2 * (BEND + 3)) * x

    def far(x: Any) -> tuple[Any, Any]:
        return ((BEND * x - 5 * BEND) * x + 8 * BEND) * x - 4 * BEND, (3 * BEND * x - 10 * BEND) * x + 8 * BEND

    (a, da), (b, db), (c, dc), (d, dd) = far(part + 1), near(part), near(1 - part), far(2 - part)
    return [a, b, c, d], [da, db, -dc, -dd]


def _corners(x: Any, grid: Any, how: int, padding: int, aligned: bool) -> Iterator[tuple[list[Any], Any, list[Any]]]:
    """Of each choice of taps: the places in an image whose channels are last, the weight, and its slope along each
    number of a point, which begins with the last dimension.
    """
    sizes = x.shape[2:]
    every = [_taps(grid[..., -1 - k], size, how, padding, aligned) for k, size in enumerate(sizes)]
    samples = torch.arange(len(x)).reshape(-1, *(1 for _ in sizes)).expand(grid.shape[:-1])
    for taps in product(*every):
        inside = prod(tap.inside for tap in taps[1:]) * taps[0].inside
        weights = [tap.weight for tap in taps]
        slopes = [prod([*weights[:k], *weights[k + 1 :]]) * tap.slope * inside for k, tap in enumerate(taps)]
        yield [samples, *(tap.place for tap in taps)], prod(weights) * inside, slopes[::-1]


def _sampled(x: Any, grid: Any, how: int, padding: int, aligned: bool) -> Any:
    """The samples, (n, channels, ..) of an image (n, channels, ..) at points (n, .., dimensions)."""
    image = x.movedim(1, -1)
    corners = _corners(x, grid, how, padding, aligned)
    parts = [torch.ops.aten.index.Tensor(image, places) * weight.unsqueeze(-1) for places, weight, _ in corners]
    return torch.stack(parts).sum(0).movedim(-1, 1)


def _backward(
    grad: Any, x: Any, grid: Any, how: int, padding: int, aligned: bool, asked: Sequence[bool]
) -> tuple[Any, Any]:
    """The gradients of the image, and of the points."""
    grad, image = grad.movedim(1, -1), x.movedim(1, -1)
    of_image, of_points = torch.zeros_like(image), 0
    for places, weight, slopes in _corners(x, grid, how, padding, aligned):
        if asked[0]:
            of_image = torch.ops.aten.index_put(of_image, places, grad * weight.unsqueeze(-1), True)
        along = (torch.ops.aten.index.Tensor(image, places) * grad).sum(-1)
        of_points = of_points + torch.stack([along * slope for slope in slopes], -1)
    return of_image.movedim(-1, 1) if asked[0] else None, of_points


TAKEN_APART: Mapping[str, Callable[..., Any]] = {
    "grid_sampler_3d": _sampled,
    **dict.fromkeys(("grid_sampler_2d_backward", "grid_sampler_3d_backward"), _backward),
}
"""By the names of operators."""
