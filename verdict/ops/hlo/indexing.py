"""gather reads windows at positions that are data, and clamps these; scatter joins windows in, and drops those that do
not lie inside. Their dimension numbers are those of HLO, without "dims" and "dim".

Along a dimension that windows have whole, and that no position names, both work index by index; so they do along the
dimensions of a batch, and gather along those of the positions.
"""

from collections.abc import Iterator, Mapping
from operator import add

import numpy as np

from verdict.graph import Shape
from verdict.ops import numbers
from verdict.ops.aten.elementwise import minimum
from verdict.ops.aten.form import REQUIRED, Arguments
from verdict.ops.aten.indexing import FEWEST
from verdict.ops.aten.written import DISTINCT
from verdict.ops.hlo.form import hlo
from verdict.ops.hlo.windows import Join, clamped, placed, sizes_kept, taken, written
from verdict.ops.lookup import FEWEST_ROWS
from verdict.ops.rule import Array, Atom, Axes, Dim, Law
from verdict.ops.shapes import make_axes
from verdict.ops.types import like_first

SHARED = {"index_vector": REQUIRED, "batching": (), "index_batching": ()}
GATHER = {"offset": REQUIRED, "collapsed": REQUIRED, "start_map": REQUIRED, "sizes": REQUIRED, **SHARED}
SCATTER = {"window": REQUIRED, "inserted": REQUIRED, "start_map": REQUIRED, **SHARED}

GREATEST = 2.0**62
"""Positions beyond this are no integers of 64 bits when something is added to them."""

JOINS: Mapping[str, Join] = {"add": add, "maximum": numbers.maximum, "minimum": minimum}
"""How a scatter of this name joins an update to what is there."""


def _batch(args: Arguments, index: Shape) -> Shape:
    """The dimensions of the indices, but that of the index vector."""
    vector = args["index_vector"]
    return tuple(size for k, size in enumerate(index) if k != vector)


def _checked(args: Arguments, x: Shape, index: Shape, sizes: Shape, dropped: tuple[int, ...]) -> None:
    """Refuse dimension numbers that do not fit. dropped: dimensions of the windows that are of size one."""
    starts, batching, vector = args["start_map"], args["batching"], args["index_vector"]
    length = index[vector] if 0 <= vector < len(index) else 1
    named = (*starts, *batching)
    fits = (
        0 <= vector <= len(index)
        and length == len(starts)
        and len(set(named)) == len(named)
        and len(set(dropped)) == len(dropped)
        and all(0 <= k < len(x) for k in (*named, *dropped))
        and len(sizes) == len(x)
        and all(0 <= size <= whole for size, whole in zip(sizes, x, strict=True))
        and all(sizes[k] == 1 for k in dropped)
        and len(batching) == len(args["index_batching"])
        and all(0 <= k < len(index) and k != vector for k in args["index_batching"])
        and all(x[k] == index[n] for k, n in zip(batching, args["index_batching"], strict=True))
    )
    if not fits:
        raise args.misfit(f"its dimension numbers do not fit {x}, indices of shape {index} and windows of {sizes}")


def _positions(args: Arguments, index: Array) -> Array:
    """One row for each window: the start of each dimension in start_map, then the place in each batch dimension."""
    vector = args["index_vector"]
    batch = _batch(args, index.shape)
    last = np.moveaxis(index, vector, -1) if vector < index.ndim else index[..., None]
    rows = last.reshape(-1, last.shape[-1])
    places = np.indices(batch, dtype=np.int64).reshape(len(batch), len(rows))
    columns = [places[n - (n > vector)] for n in args["index_batching"]]
    whole = rows.dtype.kind in "iuf" and bool((np.abs(rows) < GREATEST).all())
    made = np.empty((len(rows), rows.shape[1] + len(columns)), dtype=np.int64 if whole else object)
    made[:, : rows.shape[1]] = rows
    for number, column in enumerate(columns, rows.shape[1]):
        made[:, number] = column.tolist()
    return made


def _gather_shape(args: Arguments) -> Shape:
    x, index = args.given
    sizes, offset = tuple(args["sizes"]), tuple(args["offset"])
    dropped = (*args["collapsed"], *args["batching"])
    _checked(args, x, index, sizes, dropped)
    batch, kept = _batch(args, index), [size for k, size in enumerate(sizes) if k not in dropped]
    rank = len(batch) + len(kept)
    if len(offset) != len(kept) or list(offset) != sorted(set(offset)) or any(not 0 <= k < rank for k in offset):
        raise args.misfit(f"offset dimensions {offset} do not fit windows of {sizes}")
    rest, inner = iter(batch), iter(kept)
    return tuple(next(inner) if k in offset else next(rest) for k in range(rank))


def _dims(args: Arguments, x: Shape, index: Shape, sizes: Shape, at: Atom) -> tuple[list[Atom], list[Dim], list[Dim]]:
    """The atoms of a node, the dimensions of the tensor and of the positions. sizes: of windows, of which those of one
    element name rows. at: as what each dimension of the positions is read.
    """
    batch = dict(zip(args["batching"], args["index_batching"], strict=True))
    atoms, own, asked = list[Atom](), list[Dim](), list[Dim]()
    for k, size in enumerate(x):
        whole = sizes[k] == size and k not in args["start_map"]
        name = f"b{batch[k]}" if k in batch else f"d{k}" if whole else f"x{k}"
        least = min(size, FEWEST_ROWS) if sizes[k] == 1 else size
        atoms.append(Atom(name, size) if k in batch or whole else Atom(name, size, Law.WHOLE, least))
        own.append((name,))
    for n, size in enumerate(index):
        name = f"b{n}" if n in batch.values() else f"i{n}"
        if n == args["index_vector"]:
            atoms.append(Atom(name, size, Law.WHOLE, size))
        elif n not in batch.values():
            atoms.append(Atom(name, size, at.law, at.least))
        asked.append((name,))
    return atoms, own, asked


def _inner(args: Arguments, own: list[Dim], sizes: Shape, dropped: tuple[int, ...]) -> Iterator[tuple[Dim, list[Atom]]]:
    """The dimensions of one window, but for those that are dropped, each with the atom that is its own, if one is."""
    for k, size in enumerate(sizes):
        if k not in dropped:
            is_part = own[k] == (f"x{k}",)
            yield ((f"w{k}",), [Atom(f"w{k}", size, Law.WHOLE, size)]) if is_part else (own[k], [])


def _gather_axes(args: Arguments) -> Axes:
    x, index = args.given
    made = _gather_shape(args)
    sizes = tuple(args["sizes"])
    atoms, own, asked = _dims(args, x, index, sizes, Atom("i", 1))
    inner = list(_inner(args, own, sizes, (*args["collapsed"], *args["batching"])))
    windows = iter([dim for dim, _ in inner])
    rest = iter([dim for n, dim in enumerate(asked) if n != args["index_vector"]])
    written = tuple(next(windows) if k in args["offset"] else next(rest) for k in range(len(made)))
    return make_axes((*atoms, *(atom for _, apart in inner for atom in apart)), (own, asked), (written,))


def _gather(args: Arguments) -> Array:
    x, index = args.given
    sizes, offset = tuple(args["sizes"]), tuple(args["offset"])
    dims = (*args["start_map"], *args["batching"])
    starts = clamped(_positions(args, index), [x.shape[k] - sizes[k] + 1 for k in dims])
    dropped = (*args["collapsed"], *args["batching"])
    kept = tuple(size for k, size in enumerate(sizes) if k not in dropped)
    batch = _batch(args, index.shape)
    made = taken(x, starts, dims, sizes).reshape((*batch, *kept))
    return np.moveaxis(made, range(len(batch), made.ndim), offset) if offset else made


def _windows(args: Arguments, x: Shape, index: Shape, updates: Shape) -> Shape:
    """The sizes of the windows that the updates are made of."""
    window = tuple(args["window"])
    dropped = (*args["inserted"], *args["batching"])
    batch = tuple(size for k, size in enumerate(updates) if k not in window)
    if (
        list(window) != sorted(set(window))
        or any(not 0 <= k < len(updates) for k in window)
        or len(window) + len({*dropped} & {*range(len(x))}) != len(x)
        or batch != _batch(args, index)
    ):
        raise args.misfit(f"updates of shape {updates} do not fit {x} and indices of shape {index}")
    inner = iter([updates[k] for k in window])
    return tuple(1 if k in dropped else next(inner) for k in range(len(x)))


def _scatter_shape(args: Arguments) -> Shape:
    x, index, updates = args.given
    _checked(args, x, index, _windows(args, x, index, updates), (*args["inserted"], *args["batching"]))
    return tuple(x)


def _scatter_axes(args: Arguments) -> Axes:
    x, index, updates = args.given
    _scatter_shape(args)
    sizes = _windows(args, x, index, updates)
    atoms, own, asked = _dims(args, x, index, sizes, Atom("i", 1, Law.WHOLE, FEWEST))
    inner = list(_inner(args, own, sizes, (*args["inserted"], *args["batching"])))
    windows = iter([dim for dim, _ in inner])
    rest = iter([dim for n, dim in enumerate(asked) if n != args["index_vector"]])
    joined = tuple(next(windows) if k in args["window"] else next(rest) for k in range(len(updates)))
    return make_axes((*atoms, *(atom for _, apart in inner for atom in apart)), (own, asked, joined), (own,))


def _scatter(args: Arguments) -> Array:
    x, index, updates = args.given
    sizes = _windows(args, x.shape, index.shape, updates.shape)
    window = tuple(args["window"])
    last = np.moveaxis(updates, window, range(updates.ndim - len(window), updates.ndim)) if window else updates
    rows = _positions(args, index)
    dims = (*args["start_map"], *args["batching"])
    return placed(x, rows, dims, last.reshape((len(rows), *sizes)), JOINS.get(args.name.rpartition("_")[2], written))


RULES = (
    hlo(
        "gather",
        "self indices",
        GATHER,
        _gather_axes,
        _gather,
        "y = the windows of x that begin at the indices, which are clamped",
        linear=(0,),
        reduce=sizes_kept,
        types=like_first,
    ),
    *(
        hlo(
            f"scatter_{how}",
            "self indices updates",
            SCATTER,
            _scatter_axes,
            _scatter,
            f"y = {told} at the indices; windows that do not lie inside are dropped",
            types=like_first,
        )
        for how, told in (
            ("add", "x + updates"), ("maximum", "max(x, updates)"), ("minimum", "min(x, updates)"),
        )
    ),
    hlo(
        "scatter",
        "self indices updates",
        SCATTER,
        _scatter_axes,
        _scatter,
        "y = x with updates at the indices; windows that do not lie inside are dropped",
        types=like_first,
        assumptions=(DISTINCT,),
    ),
)
