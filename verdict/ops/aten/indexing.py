"""Lookups by several tensors of positions, and their opposite. Positions are numbers, or terms made of indices.

    index           y = x[p, q, ..]                                  index_put      self with values at (p, q, ..)

Positions may count from the end. A tensor of truth values among the indices is named in the attribute `masks` by its
place in the list; it chooses where it is 1, and so that the shape does not depend on it, only index_put with one mask
and a single value takes masks that are not known. What is written twice holds the last value written, which torch
leaves open; positions that are terms must not leave the tensor.
"""

from collections.abc import Mapping

import numpy as np

from verdict.graph import Shape
from verdict.ops import logic
from verdict.ops.aten.form import Arguments, operator
from verdict.ops.aten.written import DISTINCT, written, written_at
from verdict.ops.domain import Integers
from verdict.ops.lookup import FEWEST_ROWS
from verdict.ops.rule import Array, Atom, Axes, Dim, Law, OpRule
from verdict.ops.shapes import make_axes, numbered, together
from verdict.ops.types import like_first


def _places(args: Arguments) -> tuple[tuple[int, ...], Shape]:
    """The dimensions that are indexed, and the broadcast shape of the indices."""
    x, indices = args["self"], args["indices"]
    if args["masks"]:
        raise args.unruled("indexing by truth values has a rule in index_put with one value only")
    shapes = [index if isinstance(index, tuple) else index.shape for index in indices if index is not None]
    rank = len(x) if isinstance(x, tuple) else x.ndim
    if not shapes or len(indices) > rank:
        raise args.misfit(f"{len(indices)} indices do not fit {rank} dimensions")
    return tuple(k for k, index in enumerate(indices) if index is not None), together(args.name, *shapes)


def _front(dims: tuple[int, ...]) -> int:
    """Before which of the other dimensions those of the indices stand: in place where they are next to each other."""
    return dims[0] if dims == tuple(range(dims[0], dims[-1] + 1)) else 0


def _index_axes(args: Arguments) -> Axes:
    """Position by position; along the dimensions that are indexed, the whole is read."""
    x = tuple(args["self"])
    dims, shape = _places(args)
    sizes = {f"x{k}" if k in dims else f"d{k}": size for k, size in enumerate(x)}
    rest = tuple((f"d{k}",) for k in range(len(x)) if k not in dims)
    asked, each = numbered("i", shape)
    atoms = [Atom(name, n, Law.WHOLE, FEWEST_ROWS) if name[0] == "x" else Atom(name, n) for name, n in sizes.items()]
    read = [
        tuple(() if size == 1 else dim for size, dim in zip(own, each[len(shape) - len(own) :], strict=True))
        for own in args.given[1:]
    ]
    own, front = tuple((name,) for name in sizes), _front(dims)
    return make_axes((*atoms, *asked), (own, *read), ((*rest[:front], *each, *rest[front:]),))


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
    known = _placed(rows, indices)
    if known is not None:
        return np.asarray(rows[known])
    shape = indices[0].shape
    y = np.empty((*shape, *rows.shape[len(indices) :]), dtype=rows.dtype)
    for place in np.ndindex(*shape):
        part = rows
        for index in indices:
            one = np.asarray([index[place]], dtype=index.dtype)
            part = logic.looked_up(part, one, wrap=True)[0]
        y[place] = part
    return y


def _placed(rows: Array, indices: list[Array]) -> tuple[Array, ...] | None:
    """The positions along the first dimensions of `rows`; None where one of them is a term."""
    found = [logic.placed(index, size, wrap=True) for index, size in zip(indices, rows.shape, strict=False)]
    known = tuple(each for each in found if each is not None)
    return known if len(known) == len(found) else None


FEWEST = 2
"""The fewest positions that are left where many are written: of one, a sum of values and the last of them are the same.
"""


def _put_axes(args: Arguments) -> Axes:
    """Element by element where a mask chooses; along the dimensions that are not indexed, else."""
    x, values = tuple(args["self"]), args["values"]
    atoms, own = numbered("d", x)
    if args["masks"]:
        mask = next(index for index in args["indices"] if index is not None)
        if args["masks"] != (0,) or len(args["indices"]) != 1 or x[: len(mask)] != mask:
            raise args.unruled("truth values as indices have a rule where they are the only index")
        if int(np.prod(values)) != 1:
            raise args.unruled(f"values of shape {values} at a mask: a single value has a rule")
        return make_axes(atoms, (own, own[: len(mask)], ((),) * len(values)), (own,))
    dims, shape = _places(args)
    rest = tuple(k for k in range(len(x)) if k not in dims)
    front = _front(dims)
    full = (*(x[k] for k in rest[:front]), *shape, *(x[k] for k in rest[front:]))
    if together(args.name, full, values) != full:
        raise args.misfit(f"values of shape {values} do not fit {full}")
    every = [atom if k in rest else Atom(f"d{k}", atom.size, Law.WHOLE, FEWEST_ROWS) for k, atom in enumerate(atoms)]
    asked = [Atom(f"i{k}", size, Law.WHOLE, FEWEST) for k, size in enumerate(shape)]
    each = tuple((atom.name,) for atom in asked)
    given = (*(own[k] for k in rest[:front]), *each, *(own[k] for k in rest[front:]))

    def broadcast(shape: Shape, dims: tuple[Dim, ...]) -> tuple[Dim, ...]:
        return tuple(() if n == 1 else dim for n, dim in zip(shape, dims[len(dims) - len(shape) :], strict=True))

    read = [broadcast(index, each) for index in args.given[1:-1]]
    return make_axes((*every, *asked), (own, *read, broadcast(values, given)), (own,))


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
    known = _placed(rows, spread)
    if known is not None:
        written_at(rows, known, source, add)
        return np.asarray(np.moveaxis(rows, range(len(dims)), dims))
    for place in np.ndindex(*shape):
        position = tuple(index[place] for index in spread)
        for rest in np.ndindex(*others):
            where = (*(slice(None) for _ in dims), *rest)
            rows[where] = written(rows[where], position, source[(*place, *rest)], add, wrap=True)
    return np.asarray(np.moveaxis(rows, range(len(dims)), dims))


def _rows(args: Arguments) -> Mapping[int, Integers]:
    """Positions may count from the end. Truth values have no bounds."""
    if args["masks"]:
        return {}
    named = [k for k, index in enumerate(args["indices"]) if index is not None]
    return {place: Integers(-args["self"][k], args["self"][k] - 1) for place, k in enumerate(named, 1)}


PUT = {"accumulate": False, "masks": ()}

RULES: tuple[OpRule, ...] = (
    operator(
        "aten.index.Tensor",
        "self indices*",
        {"masks": ()},
        _index_axes,
        _index,
        "y = x[indices]",
        linear=(0,),
        domain=_rows,
        types=like_first,
    ),
    operator(
        "aten.index_put",
        "self indices* values",
        PUT,
        _put_axes,
        _put,
        "y = self, values at indices",
        together=(0, -1),
        domain=_rows,
        types=like_first,
        assumptions=(DISTINCT,),
    ),
)
