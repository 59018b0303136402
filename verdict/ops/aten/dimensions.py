"""Operators that exchange dimensions, or add and drop dimensions of size one."""

import numpy as np

from verdict.ops.aten.form import REQUIRED, Arguments
from verdict.ops.aten.shaping import moving
from verdict.ops.rule import Array, Atom, Axes, Law, OpRule
from verdict.ops.shapes import axis, make_axes, numbered


def rearranged(args: Arguments, order: tuple[int, ...]) -> Axes:
    """The axes of a permutation of dimensions."""
    atoms, dims = numbered("d", args["self"])
    return make_axes(atoms, (dims,), (tuple(dims[place] for place in order),))


def _permutation(args: Arguments) -> tuple[int, ...]:
    rank = len(args["self"])
    order = tuple(axis(args.name, dim, rank) for dim in args["dims"])
    if sorted(order) != list(range(rank)):
        raise args.misfit(f"dims {args['dims']} is no order of {rank} dimensions")
    return order


def _swapped(args: Arguments) -> tuple[int, ...]:
    rank = len(args["self"])
    if rank == 0:
        return ()
    one, two = (axis(args.name, args[key], rank) for key in ("dim0", "dim1"))
    order = list(range(rank))
    order[one], order[two] = two, one
    return tuple(order)


def _transposed(args: Arguments) -> tuple[int, ...]:
    rank = len(args["self"])
    if rank > 2:
        raise args.misfit(f"a tensor of {rank} dimensions cannot be transposed without saying which")
    return tuple(reversed(range(rank)))


def _transpose(args: Arguments) -> Array:
    x = args["self"]
    return np.asarray(x if x.ndim == 0 else np.swapaxes(x, args["dim0"], args["dim1"]))


def _named(args: Arguments, rank: int) -> set[int]:
    """The dimensions that vanish if they have size one."""
    dims = args["dim"]
    chosen = range(rank) if dims is None else dims if isinstance(dims, tuple) else (dims,)
    return {axis(args.name, dim, rank) for dim in chosen} if rank else set()


def _squeeze_axes(args: Arguments) -> Axes:
    """What is named and stays is never cut, since it would vanish with one element left."""
    shape = args["self"]
    named = _named(args, len(shape))
    atoms, dims = numbered("d", shape)
    atoms = tuple(Atom(a.name, a.size, Law.WHOLE, a.size) if k in named else a for k, a in enumerate(atoms))
    kept = tuple(dim for k, dim in enumerate(dims) if k not in named or shape[k] != 1)
    return make_axes(atoms, (dims,), (kept,))


def _squeeze(args: Arguments) -> Array:
    x = args["self"]
    named = _named(args, x.ndim)
    return np.asarray(x.reshape(tuple(size for k, size in enumerate(x.shape) if k not in named or size != 1)))


def _unsqueeze_axes(args: Arguments) -> Axes:
    shape = args["self"]
    atoms, dims = numbered("d", shape)
    place = axis(args.name, args["dim"], len(shape) + 1)
    return make_axes(atoms, (dims,), ((*dims[:place], (), *dims[place:]),))


DIM = {"dim": REQUIRED}

RULES: tuple[OpRule, ...] = (
    moving(
        "aten.t", "self", {}, lambda args: rearranged(args, _transposed(args)), lambda args: args["self"].T, "y = x^T"
    ),
    moving(
        "aten.transpose.int",
        "self",
        {"dim0": REQUIRED, "dim1": REQUIRED},
        lambda args: rearranged(args, _swapped(args)),
        _transpose,
        "y = x with two dimensions exchanged",
    ),
    moving(
        "aten.permute",
        "self",
        {"dims": REQUIRED},
        lambda args: rearranged(args, _permutation(args)),
        lambda args: np.transpose(args["self"], args["dims"]),
        "y = x with its dimensions in another order",
    ),
    moving("aten.squeeze", "self", {"dim": None}, _squeeze_axes, _squeeze, "y = x without dimensions of size one"),
    moving("aten.squeeze.dim", "self", DIM, _squeeze_axes, _squeeze, "y = x without this dimension, if of size one"),
    moving("aten.squeeze.dims", "self", DIM, _squeeze_axes, _squeeze, "y = x without these dimensions, if of size one"),
    moving(
        "aten.unsqueeze",
        "self",
        DIM,
        _unsqueeze_axes,
        lambda args: np.expand_dims(args["self"], args["dim"]),
        "y = x with a further dimension of size one",
    ),
)
