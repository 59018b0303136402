"""Opcodes that rearrange, repeat, drop or make elements, by numbers in their attributes alone.

broadcast   y[.., i_k, ..] = x[i_0, i_1, ..], dimension k of x being dimension dims[k] of y
pad         x between, around and among elements of one value; low and high may be negative
iota        y[i] = i_dim
"""

from dataclasses import replace

import numpy as np

from verdict.graph import Shape
from verdict.ops import integers
from verdict.ops.aten.form import REQUIRED, Arguments
from verdict.ops.aten.shaping import first, same
from verdict.ops.aten.slicing import replaced
from verdict.ops.constant import listed
from verdict.ops.hlo.form import hlo, moving
from verdict.ops.rule import Array, Attributes, Axes, Scale
from verdict.ops.shapes import axis, make_axes, numbered
from verdict.ops.types import like_first, made_as, promoted
from verdict.ops.view import factor


def columns(args: Arguments, *names: str) -> tuple[tuple[int, ...], ...]:
    """What attributes of one number for each dimension say of each dimension."""
    lists = [args[name] for name in names]
    if len({len(values) for values in lists}) > 1:
        raise args.misfit(f"{' and '.join(names)} are not of one length")
    return tuple(zip(*lists, strict=True))


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


def _slice_shape(args: Arguments) -> Shape:
    shape, cuts = args["self"], columns(args, "starts", "limits", "strides")
    if len(cuts) != len(shape) or any(
        not 0 <= start <= limit <= size or step < 1 for (start, limit, step), size in zip(cuts, shape, strict=True)
    ):
        raise args.misfit(f"starts {args['starts']} and limits {args['limits']} do not fit {shape}")
    return tuple(-(-(limit - start) // step) for start, limit, step in cuts)


def _slice(args: Arguments) -> Array:
    return np.asarray(args["self"][tuple(map(slice, args["starts"], args["limits"], args["strides"]))])


def _updated_shape(args: Arguments) -> Shape:
    shape, update = args.given
    starts = args["starts"]
    if not len(starts) == len(shape) == len(update) or any(
        not 0 <= start <= start + length <= size for start, length, size in zip(starts, update, shape, strict=True)
    ):
        raise args.misfit(f"an update of shape {update} does not fit into {shape} at {starts}")
    return tuple(shape)


def _updated(args: Arguments) -> Array:
    x, update = args.given
    part = tuple(slice(start, start + size) for start, size in zip(args["starts"], update.shape, strict=True))
    return replaced(x, part, update)


def _joined_shape(args: Arguments) -> Shape:
    shapes = args["tensors"]
    along = axis(args.name, args["dim"], len(shapes[0]))
    if len({(len(shape), *shape[:along], *shape[along + 1 :]) for shape in shapes}) > 1:
        raise args.misfit(f"shapes {' and '.join(map(str, shapes))} differ in more than dimension {along}")
    return (*shapes[0][:along], sum(shape[along] for shape in shapes), *shapes[0][along + 1 :])


def _reversed_shape(args: Arguments) -> Shape:
    for dim in args["dims"]:
        axis(args.name, dim, len(args["self"]))
    return tuple(args["self"])


def _iota(args: Arguments) -> Array:
    size, dim = args["size"], args["dim"]
    lengths = [n if k == dim else 1 for k, n in enumerate(size)]
    places, dtype = np.arange(size[dim], dtype=np.int64), str(args["dtype"])
    return np.broadcast_to(integers.held(integers.wrapped(places, dtype), dtype).reshape(lengths), size)


def _constant_shape(args: Arguments) -> Shape:
    shape, values = args["shape"], args["values"]
    if not isinstance(values, tuple) or np.prod(shape, dtype=object) != len(values):
        raise args.misfit(f"it has not as many values as a shape of {shape} has elements")
    return tuple(shape)


def _iota_shape(args: Arguments) -> Shape:
    axis(args.name, args["dim"], len(args["size"]))
    return tuple(args["size"])


def _pad_shape(args: Arguments) -> Shape:
    shape, value = args.given
    widths = columns(args, "low", "high", "interior")
    if value != () or len(widths) != len(shape) or any(among < 0 for _, _, among in widths):
        raise args.misfit(f"padding {widths} and a value of shape {value} do not fit {shape}")
    made = tuple(
        low + size + max(size - 1, 0) * among + high for size, (low, high, among) in zip(shape, widths, strict=True)
    )
    if any(size < 0 for size in made):
        raise args.misfit(f"padding {widths} takes more off {shape} than there is")
    return made


def _pad(args: Arguments) -> Array:
    x, value = args.given
    size = _pad_shape(Arguments(args.name, {"self": x.shape, "value": ()}, args.attrs))
    made = np.empty(size, np.result_type(x, value))
    made[...] = value
    target, source = [], []
    for size, whole, (low, _, among) in zip(x.shape, made.shape, columns(args, "low", "high", "interior"), strict=True):
        places = [low + k * (among + 1) for k in range(size)]
        kept = [k for k, place in enumerate(places) if 0 <= place < whole]
        target.append([places[k] for k in kept])
        source.append(kept)
    made[np.ix_(*target)] = x[np.ix_(*source)]
    return made


SIZE = {"size": REQUIRED}
DIMS = {"dims": REQUIRED}
CUTS = {"starts": REQUIRED, "limits": REQUIRED, "strides": REQUIRED}
WIDTHS = {"low": REQUIRED, "high": REQUIRED, "interior": REQUIRED}

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
    moving("slice", CUTS, _slice_shape, _slice, "y = x[starts:limits:strides]"),
    moving(
        "reverse",
        DIMS,
        _reversed_shape,
        lambda args: np.flip(args["self"], args["dims"]) if args["dims"] else args["self"],
        "y = x backwards along dims",
    ),
    moving("copy", {}, same, first, "y = x"),
    hlo(
        "update_slice",
        "self update",
        {"starts": REQUIRED},
        _updated_shape,
        _updated,
        "y = x with update from starts on, which are known and inside",
        moves=True,
        types=like_first,
    ),
    hlo(
        "concatenate",
        "tensors*",
        {"dim": REQUIRED},
        _joined_shape,
        lambda args: np.concatenate(args["tensors"], axis=args["dim"]),
        "y = x_1, ..., x_n, joined along dim",
        moves=True,
    ),
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
    ),
    replace(
        hlo(
            "iota",
            "",
            {**SIZE, "dim": REQUIRED, "dtype": REQUIRED},
            _iota_shape,
            _iota,
            "y[i] = i_dim",
            moves=True,
            types=made_as,
        ),
        made=True,
    ),
    hlo(
        "pad",
        "self value",
        WIDTHS,
        _pad_shape,
        _pad,
        "y = x among elements of one value",
        moves=True,
        types=promoted,
    ),
)
