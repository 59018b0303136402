"""Lookups by tensors of positions, and their opposites. Positions are numbers, or terms made of indices.

    gather          y[.., i, ..] = x[.., index[.., i, ..], ..]       index_select   y[.., i, ..] = x[.., index[i], ..]
    scatter         self with src (or a value) at those places       scatter_add    self + src at those places
    index           y = x[p, q, ..]                                  index_put      self with values at (p, q, ..)
    index_add       self + alpha source at the rows index

Positions of index, index_put and index_add may count from the end. A tensor of truth values among the indices is
named in the attribute `masks` by its place in the list; it chooses where it is 1, and so that the shape does not
depend on it, only index_put with one mask and a single value takes masks that are not known. What is written twice
holds the last value written, which torch leaves open; positions that are terms must not leave the tensor.
"""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from verdict.errors import ShapeError
from verdict.graph import Shape
from verdict.ops import logic, numbers
from verdict.ops.aten.form import REQUIRED, Arguments, constant, operator
from verdict.ops.rule import Array, OpRule
from verdict.ops.shapes import axis
from verdict.outcome import Assumption

DISTINCT = Assumption("written-once", "positions that a scatter or index_put writes twice get the last value written")


def _gather_shape(args: Arguments) -> Shape:
    x, index = args["self"], args["index"]
    along = axis(args.name, args["dim"], len(x))
    if len(index) != len(x) or any(k != along and n > m for k, (n, m) in enumerate(zip(index, x, strict=True))):
        raise args.misfit(f"index of shape {index} does not fit {x}")
    return tuple(index)


def _gather(args: Arguments) -> Array:
    x, index = args["self"], args["index"]
    along = args["dim"] % x.ndim
    y = np.empty(index.shape, dtype=x.dtype)
    for place in np.ndindex(*index.shape):
        row = x[(*place[:along], slice(None), *place[along + 1 :])]
        y[place] = logic.looked_up(
            row, index[(*place[:along], slice(place[along], place[along] + 1), *place[along + 1 :])], wrap=False
        )[0]
    return y


def _scatter_shape(args: Arguments) -> Shape:
    x, index, src = args["self"], args["index"], args["src"]
    along = axis(args.name, args["dim"], len(x))
    fits = len(index) == len(x) and all(n <= m for k, (n, m) in enumerate(zip(index, x, strict=True)) if k != along)
    if not fits or (src is not None and any(n > m for n, m in zip(index, src, strict=True))):
        raise args.misfit(f"index of shape {index} does not fit {x}")
    return tuple(x)


def _scatter(add: bool) -> Callable[[Arguments], Array]:
    def forward(args: Arguments) -> Array:
        x, index, src = args["self"], args["index"], args["src"]
        along = args["dim"] % x.ndim
        y: Array = x.copy() if src is None else x.astype(np.result_type(x.dtype, src.dtype))
        for place in np.ndindex(*index.shape):
            row = (*place[:along], slice(None), *place[along + 1 :])
            value = constant(y, args["value"]) if src is None else src[place]
            y[row] = written(y[row], (index[place],), value, add, wrap=False)
        return y

    return forward


def written(x: Array, position: tuple[Any, ...], value: Any, add: bool, wrap: bool) -> Array:
    """x with `value` written (or added) at one position, of one number or term for each dimension of x."""
    y = x.copy()
    settled = tuple(logic.settled(coordinate) for coordinate in position)
    if all(numbers.is_number(coordinate) for coordinate in settled):
        place = tuple(int(coordinate) for coordinate in settled)
        if any(not (-n if wrap else 0) <= k < n for k, n in zip(place, x.shape, strict=True)):
            raise IndexError(f"position {place} is outside of shape {x.shape}")
        y[place] = y[place] + value if add else value
        return y
    found = [_found(coordinate, size, wrap) for coordinate, size in zip(settled, x.shape, strict=True)]
    for place in product(*map(range, x.shape)):
        hit = 1
        for row, coordinate in zip(found, place, strict=True):
            hit = hit * row[coordinate]
        hit = logic.settled(hit)
        if add:
            y[place] = y[place] + hit * value
        else:
            y[place] = logic.where(*(np.asarray([part], dtype=object) for part in (hit, value, y[place])))[0]
    return y


def _found(coordinate: Any, size: int, wrap: bool) -> Any:
    """[coordinate = k] for each k; without a value where it is none of them."""
    one = np.empty(1, dtype=object)
    one[0] = coordinate
    table = np.eye(size, dtype=np.int64).astype(object)
    return logic.looked_up(table, one, wrap)[0]


def _places(args: Arguments) -> tuple[tuple[int, ...], Shape]:
    """The dimensions that are indexed, and the broadcast shape of the indices."""
    x, indices = args["self"], args["indices"]
    if args["masks"]:
        raise args.misfit("indexing by truth values has a rule in index_put with one value only")
    shapes = [index if isinstance(index, tuple) else index.shape for index in indices if index is not None]
    rank = len(x) if isinstance(x, tuple) else x.ndim
    if not shapes or len(indices) > rank:
        raise args.misfit(f"{len(indices)} indices do not fit {rank} dimensions")
    return tuple(k for k, index in enumerate(indices) if index is not None), np.broadcast_shapes(*shapes)


def _front(dims: tuple[int, ...]) -> int:
    """Before which of the other dimensions those of the indices stand: in place where they are next to each other."""
    return dims[0] if dims == tuple(range(dims[0], dims[-1] + 1)) else 0


def _index_shape(args: Arguments) -> Shape:
    x = tuple(args["self"])
    dims, shape = _places(args)
    rest = tuple(size for k, size in enumerate(x) if k not in dims)
    front = _front(dims)
    return (*rest[:front], *shape, *rest[front:])


def _index(args: Arguments) -> Array:
    x, indices = args["self"], args["indices"]
    dims, shape = _places(args)
    rows = np.moveaxis(x, dims, range(len(dims)))
    spread = [np.broadcast_to(indices[k], shape) for k in dims]
    y = _joint(rows, spread)
    front = _front(dims)
    return np.asarray(np.moveaxis(y, range(len(shape)), range(front, front + len(shape))))


def _joint(rows: Array, indices: list[Array]) -> Array:
    """rows[indices[0], indices[1], ..]: one position of each index for every element."""
    shape = indices[0].shape
    y = np.empty((*shape, *rows.shape[len(indices) :]), dtype=rows.dtype)
    for place in np.ndindex(*shape):
        part = rows
        for index in indices:
            one = np.asarray([index[place]], dtype=index.dtype)
            part = logic.looked_up(part, one, wrap=True)[0]
        y[place] = part
    return y


def _put_shape(args: Arguments) -> Shape:
    x, values = args["self"], args["values"]
    if args["masks"]:
        mask = next(index for index in args["indices"] if index is not None)
        if args["masks"] != (0,) or len(args["indices"]) != 1 or x[: len(mask)] != mask:
            raise args.misfit("truth values as indices have a rule where they are the only index")
        if int(np.prod(values)) != 1:
            raise ShapeError(f"{args.name}: values of shape {values} at a mask: a single value has a rule")
        return tuple(x)
    dims, shape = _places(args)
    rest = tuple(size for k, size in enumerate(x) if k not in dims)
    front = _front(dims)
    full = (*rest[:front], *shape, *rest[front:])
    if np.broadcast_shapes(full, values) != full:
        raise args.misfit(f"values of shape {values} do not fit {full}")
    return tuple(x)


def _put(args: Arguments) -> Array:
    x, values, indices = args["self"], args["values"], args["indices"]
    add = bool(args["accumulate"])
    if args["masks"]:
        mask = indices[0].reshape(indices[0].shape + (1,) * (x.ndim - indices[0].ndim))
        value = values.reshape(1)
        return logic.where(mask, np.asarray(x + value) if add else value, x)
    dims, shape = _places(args)
    rows = np.moveaxis(x.astype(np.result_type(x.dtype, values.dtype)), dims, range(len(dims)))
    spread = [np.broadcast_to(indices[k], shape) for k in dims]
    others, front = rows.shape[len(dims) :], _front(dims)
    given = np.broadcast_to(values, (*others[:front], *shape, *others[front:]))
    source = np.moveaxis(given, range(front, front + len(shape)), range(len(shape)))
    for place in np.ndindex(*shape):
        position = tuple(index[place] for index in spread)
        for rest in np.ndindex(*others):
            where = (*(slice(None) for _ in dims), *rest)
            rows[where] = written(rows[where], position, source[(*place, *rest)], add, wrap=True)
    return np.asarray(np.moveaxis(rows, range(len(dims)), dims))


def _rows_shape(args: Arguments) -> Shape:
    x, index = args["self"], args["index"]
    along = axis(args.name, args["dim"], len(x))
    if len(index) > 1:
        raise args.misfit(f"index has shape {index}, it must have one dimension")
    return (*x[:along], index[0] if index else 1, *x[along + 1 :])


def _select(args: Arguments) -> Array:
    x, along = args["self"], args["dim"]
    return np.asarray(
        np.moveaxis(logic.looked_up(np.moveaxis(x, along, 0), args["index"].reshape(-1), wrap=False), 0, along)
    )


def _added_shape(args: Arguments) -> Shape:
    if _rows_shape(args) != args["source"]:
        raise args.misfit(f"a source of shape {args['source']} does not fit {args['self']}")
    return tuple(args["self"])


def _added(args: Arguments) -> Array:
    x, along, source = args["self"], args["dim"], np.moveaxis(args["source"], args["dim"], 0)
    index, rows = args["index"].reshape(-1), np.moveaxis(x, along, 0)
    hits = logic.looked_up(np.eye(len(rows), dtype=np.int64).astype(rows.dtype), index, wrap=False)
    added = np.tensordot(hits, source, axes=(0, 0))
    return np.asarray(np.moveaxis(rows + constant(x, args["alpha"]) * added, 0, along))


DIM = {"dim": REQUIRED}
PUT = {"accumulate": False, "masks": ()}

RULES: tuple[OpRule, ...] = (
    operator(
        "aten.gather",
        "self index",
        {**DIM, "sparse_grad": False},
        _gather_shape,
        _gather,
        "y = x[index], along dim",
        linear=(0,),
    ),
    operator(
        "aten.scatter.src",
        "self index src",
        DIM,
        _scatter_shape,
        _scatter(False),
        "y = self, src at index along dim",
        assumptions=(DISTINCT,),
    ),
    operator(
        "aten.scatter.value",
        "self index",
        {**DIM, "value": REQUIRED},
        _scatter_shape,
        _scatter(False),
        "y = self, value at index along dim",
        assumptions=(DISTINCT,),
    ),
    operator(
        "aten.scatter_add", "self index src", DIM, _scatter_shape, _scatter(True), "y = self + src at index along dim"
    ),
    operator("aten.index.Tensor", "self indices*", {"masks": ()}, _index_shape, _index, "y = x[indices]", linear=(0,)),
    operator(
        "aten.index_put",
        "self indices* values",
        PUT,
        _put_shape,
        _put,
        "y = self, values at indices",
        assumptions=(DISTINCT,),
    ),
    operator("aten.index_select", "self index", DIM, _rows_shape, _select, "y = x[index], rows along dim", linear=(0,)),
    operator(
        "aten.index_add",
        "self index source",
        {**DIM, "alpha": 1},
        _added_shape,
        _added,
        "y = self + alpha source at index",
    ),
)
