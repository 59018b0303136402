"""Opcodes that rearrange, repeat or make elements, by numbers in their attributes alone.

broadcast   y[.., i_k, ..] = x[i_0, i_1, ..], dimension k of x being dimension dims[k] of y
iota        y[i] = start + i_dim
"""

from dataclasses import replace

import numpy as np

from verdict.graph import Shape
from verdict.ops import integers
from verdict.ops.aten.form import REQUIRED, Arguments
from verdict.ops.aten.shaping import first, same
from verdict.ops.constant import listed
from verdict.ops.hlo.form import hlo, moving
from verdict.ops.rule import Array, Attributes, Axes, Scale
from verdict.ops.shapes import axis, make_axes, numbered
from verdict.ops.types import made_as
from verdict.ops.view import factor


def _sized(attrs: Attributes, scale: Scale) -> Attributes:
    return {**attrs, "size": scale.outputs[0]}


def _broadcast_axes(args: Arguments) -> Axes:
    shape, size, dims = args["self"], args["size"], args["dims"]
    if len(dims) != len(shape) or len(set(dims)) < len(dims) or any(not 0 <= k < len(size) for k in dims):
        raise args.misfit(f"dims {dims} do not say where the dimensions of {shape} are in {size}")
    if any(size[k] != length for k, length in zip(dims, shape, strict=True)):
        raise args.misfit(f"{shape} does not fit into {size} at dims {dims}")
    atoms, made = numbered("d", size)
    return make_axes(atoms, (tuple(made[k] for k in dims),), (made,))


def _broadcast(args: Arguments) -> Array:
    x, size, dims = args["self"], args["size"], args["dims"]
    order = np.argsort(dims) if dims else ()
    lengths = [1] * len(size)
    for place in order:
        lengths[dims[place]] = x.shape[place]
    moved = np.transpose(x, order) if dims else x
    return np.broadcast_to(moved.reshape(lengths), size)


def _reshape_axes(args: Arguments) -> Axes:
    shape, size = args["self"], args["size"]
    if np.prod(shape, dtype=object) != np.prod(size, dtype=object) or any(n < 0 for n in size):
        raise args.misfit(f"{shape} has other elements than {size}")
    return factor(shape, tuple(size))


def _transpose_axes(args: Arguments) -> Axes:
    shape, dims = args["self"], args["dims"]
    if sorted(dims) != list(range(len(shape))):
        raise args.misfit(f"dims {dims} is no order of the {len(shape)} dimensions")
    atoms, read = numbered("d", shape)
    return make_axes(atoms, (read,), (tuple(read[k] for k in dims),))


def _iota(args: Arguments) -> Array:
    size, dim = args["size"], args["dim"]
    lengths = [n if k == dim else 1 for k, n in enumerate(size)]
    places, dtype = np.arange(size[dim], dtype=np.int64) + args["start"], str(args["dtype"])
    return np.broadcast_to(integers.held(integers.wrapped(places, dtype), dtype).reshape(lengths), size)


def _constant_shape(args: Arguments) -> Shape:
    shape, values = args["shape"], args["values"]
    if not isinstance(values, tuple) or np.prod(shape, dtype=object) != len(values):
        raise args.misfit(f"it has not as many values as a shape of {shape} has elements")
    return tuple(shape)


def _iota_shape(args: Arguments) -> Shape:
    axis(args.name, args["dim"], len(args["size"]))
    return tuple(args["size"])


SIZE = {"size": REQUIRED}
DIMS = {"dims": REQUIRED}

RULES = (
    replace(
        moving(
            "broadcast",
            {**SIZE, **DIMS},
            _broadcast_axes,
            _broadcast,
            "y = x, repeated along the dimensions that dims does not name",
            reduce=_sized,
        ),
        made=True,
    ),
    moving(
        "reshape",
        SIZE,
        _reshape_axes,
        lambda args: args["self"].reshape(args["size"]),
        "y = x in row-major order",
        reduce=_sized,
    ),
    moving("transpose", DIMS, _transpose_axes, lambda args: np.transpose(args["self"], args["dims"]), "y = x, turned"),
    moving("copy", {}, same, first, "y = x"),
    replace(
        hlo(
            "constant",
            "",
            {"shape": REQUIRED, "values": REQUIRED, "dtype": REQUIRED},
            _constant_shape,
            lambda args: listed(args["values"], args["shape"]),
            "y = values, which are numbers of the type dtype",
            moves=True,
            types=made_as,
        ),
        made=True,
        zero=lambda attrs: all(value == 0 for value in attrs.get("values", (1,))),
    ),
    replace(
        hlo(
            "iota",
            "",
            {**SIZE, "dim": REQUIRED, "dtype": REQUIRED, "start": 0},
            _iota_shape,
            _iota,
            "y[i] = start + i_dim",
            moves=True,
            types=made_as,
        ),
        made=True,
    ),
)
