"""Group normalisation, forward and backward: channels in groups, each group normalised with all its positions.

    native_group_norm   m, r of all of a group     y = (x - m) r weight + bias, weight and bias by channel
    with h = (x - m) r, a = dy weight:    dx = r (a - mean of a - h mean of a h)   dweight = dy h    dbias = dy

m and r have shape [N, groups]; r = (variance + eps)^(-1/2). dweight and dbias are summed over all but the channels.
Groups are independent of each other, so that ranks may have some of them. A mean divides by the number of elements of a
group, or by `count`, which at reduced shapes is that number at full ones.
"""

from dataclasses import replace
from fractions import Fraction
from math import prod

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


CHANNELS, MOMENTS = (("g", "c"),), (("n",), ("g",))
FEWEST = 2
"""The fewest channels of a group, and positions along an axis, at reduced shapes: of one, sum and mean are the same."""


def _layout(args: Arguments, least: int) -> tuple[tuple[Atom, ...], tuple[Dim, ...]]:
    """The atoms, and the dimensions of the input. least: the fewest samples that a reduced shape leaves."""
    count, channels, *positions = _checked(args)
    spots = tuple(Atom(f"p{place}", size, Law.WHOLE, FEWEST) for place, size in enumerate(positions))
    along = (Atom("g", args["group"]), Atom("c", channels // args["group"], Law.WHOLE, FEWEST))
    return (Atom("n", count, least=least), *along, *spots), (("n",), *CHANNELS, *((spot.name,) for spot in spots))


def _axes(args: Arguments) -> Axes:
    """Sample by sample, and group by group."""
    atoms, rows = _layout(args, 1)
    by_channel = tuple(CHANNELS for name in ("weight", "bias") if args[name] is not None)
    return make_axes(atoms, (rows, *by_channel), (rows, MOMENTS, MOMENTS))


def _backward_axes(args: Arguments) -> Axes:
    """Sample by sample, and group by group; the gradients of weight and bias are summed over the samples."""
    atoms, rows = _layout(args, 2)
    x, moments = args["input"], (args["N"], args["group"])
    if args["grad_out"] != x or args["mean"] != moments or args["rstd"] != moments:
        raise args.misfit(f"gradient, mean and rstd do not belong to an input of shape {x}")
    by_channel = (CHANNELS,) if args["weight"] is not None else ()
    return make_axes(atoms, (rows, rows, MOMENTS, MOMENTS, *by_channel), (rows, CHANNELS, CHANNELS))


def _reduce(attrs: Attributes, scale: Scale) -> Attributes:
    count, channels, *positions = scale.inputs[0]
    sizes = {"N": count, "C": channels, "HxW": prod(positions), "group": scale.sizes.get("g", 1)}
    return {"count": attrs["C"] // attrs["group"] * attrs["HxW"], **attrs, **sizes}


def _grouped(args: Arguments, x: Array) -> Array:
    """[N, groups, elements]."""
    return x.reshape(len(x), args["group"], -1)


def _mean(args: Arguments, x: Array) -> Array:
    """Over the elements of each group, which stay with size one."""
    return numbers.divide(numbers.total(x, (2,)), args["count"] or x.shape[2])


def _by_channel(values: Array, like: Array) -> Array:
    return values.reshape(1, -1, *(1 for _ in like.shape[2:]))


def _forward(args: Arguments) -> tuple[Array, Array, Array]:
    x = args["input"]
    groups = _grouped(args, x)
    mean = _mean(args, groups)
    centred = np.asarray(groups - mean)
    variance = _mean(args, np.asarray(centred * centred))
    rate = numbers.power(np.asarray(variance + constant(x, args["eps"])), Fraction(-1, 2))
    y = np.asarray(centred * rate).reshape(x.shape)
    y = y if args["weight"] is None else np.asarray(y * _by_channel(args["weight"], x))
    y = y if args["bias"] is None else np.asarray(y + _by_channel(args["bias"], x))
    return y, mean[:, :, 0], rate[:, :, 0]


def _backward(args: Arguments) -> tuple[Array, Array, Array]:
    x, dy = args["input"], args["grad_out"]
    mean, rate = args["mean"][:, :, None], args["rstd"][:, :, None]
    h = np.asarray((_grouped(args, x) - mean) * rate)
    a = _grouped(args, dy if args["weight"] is None else np.asarray(dy * _by_channel(args["weight"], x)))
    dx = np.asarray(rate * (a - _mean(args, a) - h * _mean(args, np.asarray(a * h)))).reshape(x.shape)
    others = (0, *range(2, x.ndim))
    by_channel = [numbers.total(part, others).reshape(-1) for part in (np.asarray(dy * h.reshape(x.shape)), dy)]
    return dx, by_channel[0], by_channel[1]


SIZES = {**dict.fromkeys(("N", "C", "HxW", "group"), REQUIRED), "count": None}

_RULES = (
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
RULES: tuple[OpRule, ...] = tuple(replace(rule, local=frozenset({"N", "C", "HxW"})) for rule in _RULES)
