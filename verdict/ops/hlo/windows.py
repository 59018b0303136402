"""Slices of which the starts are data: dynamic_slice reads one, dynamic_update_slice writes one.

A start is clamped, so that the slice lies inside: max(0, min(start, size - length)). One that is no number chooses
among all places, each with the indicator that it is the one. Along a dimension that slices have whole, whose starts are
clamped to 0, both work index by index.
"""

from collections.abc import Callable, Sequence
from itertools import product
from operator import add
from typing import Any

import numpy as np
import numpy.typing as npt

from verdict.graph import Shape
from verdict.ops import elements, logic, numbers
from verdict.ops.aten.form import REQUIRED, Arguments
from verdict.ops.hlo.form import hlo
from verdict.ops.hlo.parts import beside
from verdict.ops.rule import Array, Attributes, Axes, Scale
from verdict.ops.types import like_first

Join = Callable[[Array, Array], Array]
"""What a window holds behind an update, of what it held before and the update: their sum, the update, or an extreme,
which stays the same where what the window held at first is joined to it again."""


def clamped(positions: Array, spans: Sequence[int]) -> Array:
    """Starts (one row each) brought to 0 .. span - 1, column by column."""
    most = np.broadcast_to(np.asarray(spans, dtype=np.int64) - 1, positions.shape)
    if positions.dtype.kind == "i":
        return np.asarray(np.minimum(np.maximum(positions, 0), most))
    return logic.pointwise("clamp", lambda start, last: min(max(int(start), 0), int(last)), positions, most)


def _known(positions: Array) -> npt.NDArray[np.int64] | None:
    """Rows of starts that are numbers; None where one is none."""
    if positions.dtype.kind == "i":
        return np.asarray(positions, dtype=np.int64)
    rows = [tuple(map(logic.settled, row)) for row in positions]
    if not all(elements.is_number(start) for row in rows for start in row):
        return None
    return np.asarray([tuple(map(int, row)) for row in rows], dtype=np.int64).reshape(positions.shape)


def taken(x: Array, positions: Array, dims: Sequence[int], sizes: Shape) -> Array:
    """For each row of clamped positions along `dims` the window of `sizes` that begins there."""
    known = _known(positions)
    if known is not None and dims and all(sizes[dim] == 1 for dim in dims):
        return np.asarray(np.moveaxis(x, dims, range(len(dims)))[tuple(known.T)].reshape((len(known), *sizes)))
    if known is not None:
        return _stacked(x, list(map(tuple, known.tolist())), dims, sizes)
    rows = [tuple(map(logic.settled, row)) for row in positions]
    places = list(product(*(range(x.shape[dim] - sizes[dim] + 1) for dim in dims)))
    table = _stacked(x, places, dims, sizes)
    hits = np.empty((len(rows), len(places)), dtype=object)
    for number, row in enumerate(rows):
        hits[number] = [hit(row, place) for place in places]
    return numbers.picked(hits, table.reshape(len(places), -1)).reshape((len(rows), *sizes))


def written(_: Array, update: Array) -> Array:
    """What a window holds where an update is written there."""
    return update


def placed(x: Array, positions: Array, dims: Sequence[int], updates: Array, join: Join = written) -> Array:
    """x with each update joined to what is at its row of positions along `dims`; what does not fit is dropped."""
    y = x.astype(np.result_type(x.dtype, updates.dtype))
    sizes = updates.shape[1:]
    known = _known(positions)
    if known is not None:
        spans = np.asarray([x.shape[dim] - sizes[dim] + 1 for dim in dims], dtype=np.int64)
        fits = ((known >= 0) & (known < spans)).all(axis=1)
        _joined(y, known[fits], dims, updates[fits], join)
        return y
    rows = [tuple(map(logic.settled, row)) for row in positions]
    places = list(product(*(range(x.shape[dim] - sizes[dim] + 1) for dim in dims)))
    windows = {place: _window(place, dims, sizes) for place in places}
    hits = np.empty((len(rows), len(places)), dtype=object)
    for number, row in enumerate(rows):
        hits[number] = [hit(row, place) for place in places]
    if join is add:
        totals = numbers.picked(hits.T, updates.reshape(len(rows), -1)).reshape((len(places), *sizes))
        for place, total in zip(places, totals, strict=True):
            y[windows[place]] = y[windows[place]] + total
        return y
    for found, update in zip(hits, updates, strict=True):
        for place, chosen in zip(places, found, strict=True):
            window = windows[place]
            otherwise = y[window] if join is written else x[window]
            chosen_here = logic.where(np.full(sizes, chosen, dtype=object), update, otherwise)
            y[window] = join(y[window], chosen_here)
    return y


def _joined(
    y: Array, places: npt.NDArray[np.int64], dims: Sequence[int], updates: Array, join: Join
) -> None:  # fmt: skip
    """Join each update to the window of y at its place, one after the other."""
    sizes = updates.shape[1:]
    if join is add and dims and all(sizes[dim] == 1 for dim in dims):
        rows = np.moveaxis(y, dims, range(len(dims)))
        np.add.at(rows, tuple(places.T), updates.reshape((len(places), *rows.shape[len(dims) :])))
        return
    for place, update in zip(places.tolist(), updates, strict=True):
        window = _window(place, dims, sizes)
        y[window] = join(y[window], update)


def hit(starts: Sequence[Any], place: Sequence[int]) -> Any:
    """1 where all starts are those of the place, else 0."""
    found: Any = 1
    for start, known in zip(starts, place, strict=True):
        found = found * elements.indicator(start, known)
    return logic.settled(found)


def _stacked(x: Array, places: Sequence[tuple[int, ...]], dims: Sequence[int], sizes: Shape) -> Array:
    windows = [x[_window(place, dims, sizes)] for place in places]
    return np.stack(windows) if windows else np.empty((0, *sizes), dtype=x.dtype)


def _window(place: Sequence[int], dims: Sequence[int], sizes: Shape) -> tuple[slice, ...]:
    starts = dict(zip(dims, place, strict=True))
    return tuple(slice(starts.get(dim, 0), starts.get(dim, 0) + size) for dim, size in enumerate(sizes))


def _starts(args: Arguments, shape: Shape, sizes: Shape) -> Array:
    row = np.empty((1, len(shape)), dtype=object)
    row[0] = [start.reshape(-1)[0] for start in args["starts"]]
    return clamped(row, [size - length + 1 for size, length in zip(shape, sizes, strict=True)])


def _fits(args: Arguments, shape: Shape, sizes: Shape) -> None:
    inside = len(sizes) == len(shape) and all(0 <= length <= size for length, size in zip(sizes, shape, strict=True))
    if not inside or len(args["starts"]) != len(shape) or any(start != () for start in args["starts"]):
        raise args.misfit(f"a slice of shape {sizes} and {len(args['starts'])} starts do not fit {shape}")


def _slice_axes(args: Arguments) -> Axes:
    x, sizes = args["self"], tuple(args["sizes"])
    _fits(args, x, sizes)
    return beside(args.given, sizes, [k for k, size in enumerate(x) if sizes[k] != size])


def sizes_kept(attrs: Attributes, scale: Scale) -> Attributes:
    """The sizes of windows at reduced shapes: of dimensions that they have whole, what is left of these."""
    return {**attrs, "sizes": tuple(scale.sizes.get(f"d{k}", size) for k, size in enumerate(attrs["sizes"]))}


def _slice(args: Arguments) -> Array:
    x, sizes = args["self"], tuple(args["sizes"])
    return np.asarray(taken(x, _starts(args, x.shape, sizes), range(x.ndim), sizes)[0], dtype=x.dtype)


def _update_axes(args: Arguments) -> Axes:
    x, sizes = args["self"], args["update"]
    _fits(args, x, sizes)
    return beside(args.given, x, [k for k, size in enumerate(x) if sizes[k] != size])


def _update(args: Arguments) -> Array:
    x, update = args["self"], args["update"]
    return placed(x, _starts(args, x.shape, update.shape), range(x.ndim), update[None])


RULES = (
    hlo(
        "dynamic_slice",
        "self starts*",
        {"sizes": REQUIRED},
        _slice_axes,
        _slice,
        "y = x[starts : starts + sizes], the starts clamped so that it lies inside",
        linear=(0,),
        reduce=sizes_kept,
        types=like_first,
    ),
    hlo(
        "dynamic_update_slice",
        "self update starts*",
        {},
        _update_axes,
        _update,
        "y = x with update from starts on, clamped so that it lies inside",
        types=like_first,
    ),
)
