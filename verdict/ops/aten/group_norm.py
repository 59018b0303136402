"""Group normalisation, forward and backward: channels in groups, each group normalised with all its positions.

    native_group_norm   m, r of all of a group     y = (x - m) r weight + bias, weight and bias by channel
    with h = (x - m) r, a = dy weight:    dx = r (a - mean of a - h mean of a h)   dweight = dy h    dbias = dy

m and r have shape [N, groups]; r = (variance + eps)^(-1/2). dweight and dbias are summed over all but the channels.
"""

from fractions import Fraction

import numpy as np

from verdict.graph import Shape
from verdict.ops import numbers
from verdict.ops.aten.form import REQUIRED, Arguments, constant, operator
from verdict.ops.casts import CAST
from verdict.ops.rule import Array, Atom, Attributes, Axes, Dim, Law, OpRule, Scale
from verdict.ops.shapes import make_axes


def _checked(args: Arguments) -> Shape:
    """The shape of the input. Raises ShapeError where the numbers of the attributes are not its own."""
    x: Shape = args["input"]
    count, channels, positions, group = (args[name] for name in ("N", "C", "HxW", "group"))
    if len(x) < 2 or x[:2] != (count, channels) or int(np.prod(x[2:], dtype=np.int64)) != positions:
        raise args.misfit(f"an input of shape {x} has not {count} samples, {channels} channels, {positions} positions")
    if group < 1 or channels % group:
        raise args.misfit(f"{channels} channels cannot be cut into {group} groups")
    for name in ("weight", "bias"):
        if args[name] is not None and args[name] != (channels,):
            raise args.misfit(f"{name} has shape {args[name]}, there are {channels} channels")
    return x


CHANNELS, MOMENTS = (("c",),), (("n",), ("g",))


def _layout(args: Arguments, least: int) -> tuple[tuple[Atom, ...], tuple[Dim, ...]]:
    """The atoms, and the dimensions of the input. least: the fewest samples that a reduced shape leaves."""
    count, channels, *positions = _checked(args)
    spots = tuple(Atom(f"p{place}", size, Law.WHOLE, size) for place, size in enumerate(positions))
    along = (("c", channels), ("g", args["group"]))
    atoms = (Atom("n", count, least=least), *(Atom(name, size, Law.WHOLE, size) for name, size in along), *spots)
    return atoms, (("n",), ("c",), *((spot.name,) for spot in spots))


def _axes(args: Arguments) -> Axes:
    """Sample by sample."""
    atoms, rows = _layout(args, 1)
    by_channel = tuple(CHANNELS for name in ("weight", "bias") if args[name] is not None)
    return make_axes(atoms, (rows, *by_channel), (rows, MOMENTS, MOMENTS))


def _backward_axes(args: Arguments) -> Axes:
    """Sample by sample; the gradients of weight and bias are summed over the samples."""
    atoms, rows = _layout(args, 2)
    x, moments = args["input"], (args["N"], args["group"])
    if args["grad_out"] != x or args["mean"] != moments or args["rstd"] != moments:
        raise args.misfit(f"gradient, mean and rstd do not belong to an input of shape {x}")
    by_channel = (CHANNELS,) if args["weight"] is not None else ()
    return make_axes(atoms, (rows, rows, MOMENTS, MOMENTS, *by_channel), (rows, CHANNELS, CHANNELS))


def _reduce(attrs: Attributes, scale: Scale) -> Attributes:
    return {**attrs, "N": scale.inputs[0][0]}


def _grouped(args: Arguments, x: Array) -> Array:
    """[N, groups, elements]."""
    return x.reshape(len(x), args["group"], -1)


def _mean(x: Array) -> Array:
    """Over the elements of each group, which stay with size one."""
    return numbers.divide(numbers.total(x, (2,)), x.shape[2])


def _by_channel(values: Array, like: Array) -> Array:
    return values.reshape(1, -1, *(1 for _ in like.shape[2:]))


def _forward(args: Arguments) -> tuple[Array, Array, Array]:
    x = args["input"]
    groups = _grouped(args, x)
    mean = _mean(groups)
    centred = np.asarray(groups - mean)
    rate = numbers.power(np.asarray(_mean(np.asarray(centred * centred)) + constant(x, args["eps"])), Fraction(-1, 2))
    y = np.asarray(centred * rate).reshape(x.shape)
    y = y if args["weight"] is None else np.asarray(y * _by_channel(args["weight"], x))
    y = y if args["bias"] is None else np.asarray(y + _by_channel(args["bias"], x))
    return y, mean[:, :, 0], rate[:, :, 0]


def _backward(args: Arguments) -> tuple[Array, Array, Array]:
    x, dy = args["input"], args["grad_out"]
    mean, rate = args["mean"][:, :, None], args["rstd"][:, :, None]
    h = np.asarray((_grouped(args, x) - mean) * rate)
    a = _grouped(args, dy if args["weight"] is None else np.asarray(dy * _by_channel(args["weight"], x)))
    dx = np.asarray(rate * (a - _mean(a) - h * _mean(np.asarray(a * h)))).reshape(x.shape)
    others = (0, *range(2, x.ndim))
    by_channel = [numbers.total(part, others).reshape(-1) for part in (np.asarray(dy * h.reshape(x.shape)), dy)]
    return dx, by_channel[0], by_channel[1]


SIZES = dict.fromkeys(("N", "C", "HxW", "group"), REQUIRED)

RULES: tuple[OpRule, ...] = (
    operator(
        "aten.native_group_norm",
        "input weight? bias?",
        {**SIZES, "eps": REQUIRED},
        _axes,
        _forward,
        "y = (x - mean) r weight + bias in groups of channels, mean, r = (variance + eps)^(-1/2)",
        reduce=_reduce,
        assumptions=(CAST,),
    ),
    operator(
        "aten.native_group_norm_backward",
        "grad_out input mean rstd weight?",
        {**SIZES, "output_mask": None},
        _backward_axes,
        _backward,
        "dx = r (a - mean of a - h mean of a h), dweight = dy h, dbias = dy, in groups of channels",
        linear=(0,),
        reduce=_reduce,
        assumptions=(CAST,),
    ),
)
