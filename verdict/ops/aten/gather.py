"""Lookups along one dimension by a tensor of positions, and their opposites. Positions are numbers or terms.

    gather          y[.., i, ..] = x[.., index[.., i, ..], ..]       index_select   y[.., i, ..] = x[.., index[i], ..]
    scatter         self with src (or a value) at those places       scatter_add    self + src at those places
    index_add       self + alpha source at the rows index

What is written twice holds the last value written, which torch leaves open; positions that are terms must not leave
the tensor. They name elements of the atom ROW.
"""

from collections.abc import Callable, Mapping, Sequence
from math import prod

import numpy as np

from verdict.graph import Shape
from verdict.ops import logic, numbers
from verdict.ops.aten.form import REQUIRED, Arguments, constant, operator
from verdict.ops.aten.written import DISTINCT, written, written_at
from verdict.ops.domain import Integers
from verdict.ops.lookup import FEWEST_ROWS
from verdict.ops.rule import Array, Atom, Axes, Dim, Law, OpRule
from verdict.ops.shapes import axis, make_axes
from verdict.ops.types import like_first

ROW = "row"


def _gather_axes(args: Arguments) -> Axes:
    """Position by position along dim; along another dimension of which not all is asked for, the whole is read."""
    x, index = args["self"], args["index"]
    along = axis(args.name, args["dim"], len(x))
    if len(index) != len(x) or any(k != along and n > m for k, (n, m) in enumerate(zip(index, x, strict=True))):
        raise args.misfit(f"index of shape {index} does not fit {x}")
    atoms, (read, asked) = _named(along, (x, index), each=1)
    return make_axes(atoms, (read, asked), (asked,))


def _named(along: int, shapes: Sequence[Shape], each: int = 0) -> tuple[list[Atom], list[tuple[Dim, ...]]]:
    """The atoms of some tensors, and the dimensions of each: of those in which all are alike, one for all tensors.

    Along the others it is computed, as along `along`, which in the first tensor is called ROW; there the tensor at the
    place `each`, if it is not the first, is read position by position, and no row is written, so that few are left.
    """
    atoms: dict[str, Atom] = {}
    dims: list[tuple[Dim, ...]] = []
    rank = len(shapes[0])
    alike = {k for k in range(rank) if k != along and len({shape[k] for shape in shapes}) == 1}
    for place, shape in enumerate(shapes):
        row = {along: ROW} if place == 0 else {}
        own = [f"d{k}" if k in alike else row.get(k, f"x{place}_{k}") for k in range(len(shape))]
        for k, (name, size) in enumerate(zip(own, shape, strict=True)):
            by_position = k in alike or (k == along and 0 < place == each)
            least = FEWEST_ROWS if name == ROW and each else size
            atoms[name] = Atom(name, size) if by_position else Atom(name, size, Law.WHOLE, least)
        dims.append(tuple((name,) for name in own))
    return list(atoms.values()), dims


def _gather(args: Arguments) -> Array:
    x, index = args["self"], args["index"]
    along = args["dim"] % x.ndim
    known = logic.placed(index, x.shape[along], wrap=False)
    if known is not None:
        return np.asarray(x[_at(known, along)])
    y = np.empty(index.shape, dtype=x.dtype)
    for place in np.ndindex(*index.shape):
        row = x[(*place[:along], slice(None), *place[along + 1 :])]
        y[place] = logic.looked_up(
            row, index[(*place[:along], slice(place[along], place[along] + 1), *place[along + 1 :])], wrap=False
        )[0]
    return y


def _at(known: Array, along: int) -> tuple[Array, ...]:
    """The places of the elements at some positions along one dimension, each in its own row."""
    places = np.indices(known.shape)
    return tuple(known if k == along else np.asarray(place) for k, place in enumerate(places))


def _rows(args: Arguments) -> Mapping[int, Integers]:
    shape = args["self"]
    return {1: Integers(0, shape[args["dim"] % len(shape)] - 1 if shape else 0)}


def _scatter_axes(args: Arguments) -> Axes:
    x, index, src = args["self"], args["index"], args["src"]
    along = axis(args.name, args["dim"], len(x))
    fits = len(index) == len(x) and all(n <= m for k, (n, m) in enumerate(zip(index, x, strict=True)) if k != along)
    if src is not None:
        fits = fits and len(src) == len(x) and all(n <= m for n, m in zip(index, src, strict=True))
    if not fits:
        raise args.misfit(f"index of shape {index} does not fit {x}")
    atoms, (*read, made) = _named(along, (*args.given, x))
    return make_axes(atoms, read, (made,))


def _scatter(add: bool) -> Callable[[Arguments], Array]:
    def forward(args: Arguments) -> Array:
        x, index, src = args["self"], args["index"], args["src"]
        along = args["dim"] % x.ndim
        y: Array = x.copy() if src is None else x.astype(np.result_type(x.dtype, src.dtype))
        known = logic.placed(index, x.shape[along], wrap=False)
        if known is not None:
            values = constant(y, args["value"]) if src is None else src[tuple(map(slice, index.shape))]
            written_at(y, _at(known, along), np.asarray(values), add)
            return y
        for place in np.ndindex(*index.shape):
            row = (*place[:along], slice(None), *place[along + 1 :])
            value = constant(y, args["value"]) if src is None else src[place]
            y[row] = written(y[row], (index[place],), value, add, wrap=False)
        return y

    return forward


def _row_shape(args: Arguments, along: int) -> Shape:
    x, index = args["self"], args["index"]
    if len(index) > 1:
        raise args.misfit(f"index has shape {index}, it must have one dimension")
    return (*x[:along], index[0] if index else 1, *x[along + 1 :])


def _rows_axes(args: Arguments) -> Axes:
    """Row by row."""
    x, along = args["self"], axis(args.name, args["dim"], len(args["self"]))
    atoms, (read, made) = _named(along, (x, _row_shape(args, along)), each=1)
    return make_axes(atoms, (read, tuple(made[along] for _ in args["index"])), (made,))


def _select(args: Arguments) -> Array:
    x, along = args["self"], args["dim"]
    return np.asarray(
        np.moveaxis(logic.looked_up(np.moveaxis(x, along, 0), args["index"].reshape(-1), wrap=False), 0, along)
    )


def _added_axes(args: Arguments) -> Axes:
    x, along = args["self"], axis(args.name, args["dim"], len(args["self"]))
    if _row_shape(args, along) != args["source"]:
        raise args.misfit(f"a source of shape {args['source']} does not fit {args['self']}")
    atoms, (read, source, made) = _named(along, (x, args["source"], x))
    return make_axes(atoms, (read, tuple(source[along] for _ in args["index"]), source), (made,))


def _added(args: Arguments) -> Array:
    x, along, source = args["self"], args["dim"], np.moveaxis(args["source"], args["dim"], 0)
    index, rows = args["index"].reshape(-1), np.moveaxis(x, along, 0)
    hits = logic.one_hot(index, len(rows)).astype(rows.dtype)
    if numbers.of_objects(hits) or numbers.of_objects(source):
        added = numbers.picked(hits.T, source.reshape(len(source), prod(rows.shape[1:]))).reshape(rows.shape)
    else:
        added = np.tensordot(hits, source, axes=(0, 0))
    return np.asarray(np.moveaxis(rows + constant(x, args["alpha"]) * added, 0, along))


DIM = {"dim": REQUIRED}

RULES: tuple[OpRule, ...] = (
    operator(
        "aten.gather",
        "self index",
        {**DIM, "sparse_grad": False},
        _gather_axes,
        _gather,
        "y = x[index], along dim",
        linear=(0,),
        indices={1: ROW},
        domain=_rows,
        types=like_first,
    ),
    operator(
        "aten.scatter.src",
        "self index src",
        DIM,
        _scatter_axes,
        _scatter(False),
        "y = self, src at index along dim",
        indices={1: ROW},
        together=(0, -1),
        domain=_rows,
        types=like_first,
        assumptions=(DISTINCT,),
    ),
    operator(
        "aten.scatter.value",
        "self index",
        {**DIM, "value": REQUIRED},
        _scatter_axes,
        _scatter(False),
        "y = self, value at index along dim",
        indices={1: ROW},
        domain=_rows,
        types=like_first,
        assumptions=(DISTINCT,),
    ),
    operator(
        "aten.scatter_add",
        "self index src",
        DIM,
        _scatter_axes,
        _scatter(True),
        "y = self + src at index along dim",
        indices={1: ROW},
        together=(0, -1),
        domain=_rows,
        types=like_first,
    ),
    operator(
        "aten.index_select",
        "self index",
        DIM,
        _rows_axes,
        _select,
        "y = x[index], rows along dim",
        linear=(0,),
        indices={1: ROW},
        domain=_rows,
        types=like_first,
    ),
    operator(
        "aten.index_add",
        "self index source",
        {**DIM, "alpha": 1},
        _added_axes,
        _added,
        "y = self + alpha source at index",
        together=(0, -1),
        domain=_rows,
    ),
)
