"""Diagonals and strided views, of the elements of x in row-major order.

    as_strided     y[i, j, ..] = x[offset + stride_0 i + stride_1 j + ..]

as_strided is right where x is all of its storage in row-major order; the recorder sees to that.
"""

from math import prod

import numpy as np

from verdict.errors import ShapeError
from verdict.graph import Shape
from verdict.ops import numbers
from verdict.ops.aten.form import REQUIRED, Arguments, operator
from verdict.ops.aten.shaping import moving
from verdict.ops.aten.slicing import replaced
from verdict.ops.rule import Array, OpRule
from verdict.ops.shapes import axis


def _places(args: Arguments, elements: int) -> Array:
    """For every element of a strided view, its place in row-major order."""
    size, stride = args["size"], args["stride"]
    if len(size) != len(stride) or any(length < 0 for length in size):
        raise args.misfit(f"size {size} and stride {stride} do not fit")
    if 0 in size:
        return np.empty(size, dtype=np.int64)
    offset = args["storage_offset"] or 0
    last = offset + sum((length - 1) * step for length, step in zip(size, stride, strict=True))
    if offset < 0 or last >= elements or any(step < 0 for step in stride):
        raise args.misfit(f"size {size}, stride {stride} and offset {offset} leave the {elements} elements")
    places = np.full(size, offset, dtype=np.int64)
    for along, (length, step) in enumerate(zip(size, stride, strict=True)):
        places += (np.arange(length) * step).reshape((length,) + (1,) * (len(size) - 1 - along))
    return places


def _diagonal_places(args: Arguments, shape: Shape) -> Array:
    return np.diagonal(np.arange(prod(shape)).reshape(shape), args["offset"], args["dim1"], args["dim2"])


def _diagonal(args: Arguments) -> Array:
    x = args["self"]
    return np.asarray(x.reshape(-1)[_diagonal_places(args, x.shape)], dtype=x.dtype)


def _diagonal_shape(args: Arguments) -> Shape:
    shape = args["self"]
    if len(shape) < 2:
        raise args.misfit(f"{shape} has no diagonal")
    if axis(args.name, args["dim1"], len(shape)) == axis(args.name, args["dim2"], len(shape)):
        raise args.misfit(f"dim1 and dim2 are {args['dim1']} and {args['dim2']}, which are one dimension")
    return _diagonal_places(args, shape).shape


def _diagonal_scatter_shape(args: Arguments) -> Shape:
    if _diagonal_shape(args) != args["src"]:
        raise args.misfit(f"src of shape {args['src']} is no diagonal of {args['self']}")
    return tuple(args["self"])


def _diagonal_scatter(args: Arguments) -> Array:
    x, src = args.given
    return replaced(x.reshape(-1), _diagonal_places(args, x.shape), src).reshape(x.shape)


def _diagonal_pulled(args: Arguments) -> Array:
    dy, size = args["grad_output"], tuple(args["input_sizes"])
    dx = numbers.zeros(dy, (prod(size),))
    dx[_diagonal_places(args, size)] = dy
    return dx.reshape(size)


def _strided_shape(args: Arguments) -> Shape:
    _places(args, prod(args["self"]))
    return tuple(args["size"])


def _strided(args: Arguments) -> Array:
    x = args["self"].reshape(-1)
    return np.asarray(x[_places(args, len(x))], dtype=x.dtype)


def _strided_scatter_shape(args: Arguments) -> Shape:
    shape, src = args.given
    _places(args, prod(shape))
    if tuple(args["size"]) != src:
        raise ShapeError(f"{args.name}: src has shape {src}, the part {args['size']}")
    return tuple(shape)


def _strided_scatter(args: Arguments) -> Array:
    x, src = args.given
    return replaced(x.reshape(-1), _places(args, x.size), src).reshape(x.shape)


DIAGONAL = {"offset": 0, "dim1": 0, "dim2": 1}
STRIDED = {"size": REQUIRED, "stride": REQUIRED, "storage_offset": None}

RULES: tuple[OpRule, ...] = (
    moving("aten.diagonal", "self", DIAGONAL, _diagonal_shape, _diagonal, "y = the diagonal of x"),
    moving(
        "aten.diagonal_scatter",
        "self src",
        DIAGONAL,
        _diagonal_scatter_shape,
        _diagonal_scatter,
        "y = self with src as its diagonal",
    ),
    operator(
        "aten.diagonal_backward",
        "grad_output",
        {"input_sizes": REQUIRED, **dict.fromkeys(DIAGONAL, REQUIRED)},
        lambda args: tuple(args["input_sizes"]),
        _diagonal_pulled,
        "dx = dy on the diagonal of zeros",
        linear=(0,),
    ),
    moving("aten.as_strided", "self", STRIDED, _strided_shape, _strided, "y[i, j] = x[offset + stride . (i, j)]"),
    moving(
        "aten.as_strided_scatter",
        "self src",
        STRIDED,
        _strided_scatter_shape,
        _strided_scatter,
        "y = self with src at offset + stride . (i, j)",
    ),
)
