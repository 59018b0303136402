"""Convolution over any number of positions, forward and backward: a matrix product of patches with the kernel.

    convolution            y[n, o, p] = sum over c, k of x[n, c, p stride + k dilation - padding] w[o, c, k] (+ bias[o])
    convolution_backward   dx[n, c, i] = sum over o, k, p that meet in i of dy[n, o, p] w[o, c, k]
                           dw[o, c, k] = sum over n, p of dy[n, o, p] x[n, c, p stride + k dilation - padding]
                           db[o] = sum over n, p of dy[n, o, p]

x is zero outside. Channels come in `groups`: output channels of a group read the input channels of the same one. What
output_mask does not ask for is not made.
"""

from collections.abc import Iterator
from itertools import product

import numpy as np

from verdict.graph import Shape
from verdict.ops import numbers
from verdict.ops.aten.form import REQUIRED, Arguments, operator
from verdict.ops.rule import Array, Atom, Axes, Dim, Law, OpRule
from verdict.ops.shapes import make_axes


def _each(args: Arguments, name: str, count: int) -> tuple[int, ...]:
    """An attribute that speaks of every position axis, or one number for all."""
    found = tuple(args[name])
    if len(found) not in (1, count):
        raise args.misfit(f"{name} has {len(found)} numbers for {count} axes of positions")
    return found * count if len(found) == 1 else found


def _checked(args: Arguments) -> tuple[Shape, Shape, Shape]:
    """The shapes of input and kernel, and the positions of the output."""
    x, w, groups = args["input"], args["weight"], args["groups"]
    if args["transposed"]:
        raise args.unruled("a transposed convolution has no rule")
    if len(x) < 3 or len(w) != len(x) or groups < 1 or w[0] % groups or x[1] != w[1] * groups:
        raise args.misfit(f"an input of shape {x} and a kernel of shape {w} do not fit in {groups} groups")
    count = len(x) - 2
    steps = zip(*(_each(args, name, count) for name in ("stride", "padding", "dilation")), strict=True)
    found = []
    for size, kernel, (stride, padding, dilation) in zip(x[2:], w[2:], steps, strict=True):
        room = size + 2 * padding - dilation * (kernel - 1) - 1
        if room < 0 or stride < 1 or dilation < 1 or padding < 0:
            raise args.misfit(f"a kernel of shape {w} finds no place in an input of shape {x}")
        found.append(room // stride + 1)
    return x, w, tuple(found)


def _dims(args: Arguments) -> tuple[tuple[Atom, ...], tuple[Dim, ...], tuple[Dim, ...], tuple[Dim, ...]]:
    """The atoms, and the dimensions of input, kernel and output.

    Samples and, in one group, output channels are independent, input channels are summed over; positions are kept.
    """
    x, w, made = _checked(args)
    one = args["groups"] == 1
    atoms = [Atom("n", x[0]), Atom("o", w[0]) if one else Atom("o", w[0], Law.WHOLE, w[0])]
    channels = [("c", x[1]), ("d", w[1])]
    atoms += [Atom("c", x[1], Law.SUM)] if one else [Atom(name, size, Law.WHOLE, size) for name, size in channels]
    for name, sizes in (("i", x[2:]), ("k", w[2:]), ("p", made)):
        atoms += [Atom(f"{name}{place}", size, Law.WHOLE, size) for place, size in enumerate(sizes)]
    read, kernel, written = (tuple((f"{name}{place}",) for place in range(len(made))) for name in "ikp")
    of_kernel = (("o",), ("c",) if one else ("d",), *kernel)
    return tuple(atoms), (("n",), ("c",), *read), of_kernel, (("n",), ("o",), *written)


def _axes(args: Arguments) -> Axes:
    atoms, read, kernel, written = _dims(args)
    if args["bias"] is None:
        return make_axes(atoms, (read, kernel), (written,))
    if args["bias"] != args["weight"][:1]:
        raise args.misfit(f"bias has shape {args['bias']}, there are {args['weight'][0]} output channels")
    channels = tuple(Atom("c", atom.size, Law.WHOLE, atom.size) if atom.name == "c" else atom for atom in atoms)
    return make_axes(channels, (read, kernel, (("o",),)), (written,))


def _backward_axes(args: Arguments) -> Axes:
    """Row by row; the gradients of kernel and bias are summed over samples, that of the input over output channels.

    In one group, channels are independent; input channels where no gradient of a bias is asked for, which has none.
    """
    atoms, read, kernel, written = _dims(args)
    x, w, made = _checked(args)
    if args["grad_output"] != (x[0], w[0], *made):
        raise args.misfit(f"the gradient of shape {args['grad_output']} does not belong to an input of shape {x}")
    alone = args["output_mask"] is not None and not args["output_mask"][2]
    rows = {"n", *(("o",) if args["groups"] == 1 else ()), *(("c",) if args["groups"] == 1 and alone else ())}
    others = tuple(
        Atom(atom.name, atom.size, least=2) if atom.name in rows else Atom(atom.name, atom.size, Law.WHOLE, atom.size)
        for atom in atoms
    )
    return make_axes(others, (written, read, kernel), (read, kernel, (("o",),)))


def _windows(args: Arguments, x: Shape, w: Shape, made: Shape) -> Iterator[tuple[slice, ...]]:
    """For each element of the kernel, where the padded input meets it, one element for each output position."""
    count = len(made)
    stride, dilation = _each(args, "stride", count), _each(args, "dilation", count)
    for place in product(*map(range, w[2:])):
        starts = [k * step for k, step in zip(place, dilation, strict=True)]
        yield tuple(slice(a, a + (n - 1) * s + 1, s) for a, n, s in zip(starts, made, stride, strict=True))


def _padded(args: Arguments, x: Array) -> Array:
    around = _each(args, "padding", x.ndim - 2)
    wide = numbers.zeros(x, (*x.shape[:2], *(n + 2 * p for n, p in zip(x.shape[2:], around, strict=True))))
    wide[_inside(args, x.shape)] = x
    return wide


def _inside(args: Arguments, x: Shape) -> tuple[slice, ...]:
    around = _each(args, "padding", len(x) - 2)
    return (slice(None), slice(None), *(slice(p, p + n) for n, p in zip(x[2:], around, strict=True)))


def _patches(args: Arguments, x: Array, w: Shape, made: Shape) -> Array:
    """[groups, samples * positions, channels of a group * kernel]."""
    wide, groups = _padded(args, x), args["groups"]
    found = np.stack([wide[:, :, *window] for window in _windows(args, x.shape, w, made)], axis=2)
    found = found.reshape(x.shape[0], groups, w[1] * found.shape[2], -1)
    return found.transpose(1, 0, 3, 2).reshape(groups, -1, found.shape[2])


def _by_group(args: Arguments, y: Array) -> Array:
    """[samples, channels, *positions] as [groups, samples * positions, channels of a group]."""
    groups = args["groups"]
    found = y.reshape(y.shape[0], groups, y.shape[1] // groups, -1)
    return found.transpose(1, 0, 3, 2).reshape(groups, -1, found.shape[2])


def _forward(args: Arguments) -> Array:
    x, w = args["input"], args["weight"]
    made = _sizes(args)
    kernel = w.reshape(args["groups"], w.shape[0] // args["groups"], -1)
    found = numbers.matmul(_patches(args, x, w.shape, made), kernel.transpose(0, 2, 1))
    found = found.reshape(args["groups"], x.shape[0], -1, kernel.shape[1]).transpose(1, 0, 3, 2)
    y = found.reshape(x.shape[0], w.shape[0], *made)
    return y if args["bias"] is None else np.asarray(y + args["bias"].reshape(-1, *(1 for _ in made)))


def _sizes(args: Arguments) -> Shape:
    shapes = {name: args[name].shape for name in ("input", "weight")}
    return _checked(Arguments(args.name, shapes, args.attrs))[2]


def _backward(args: Arguments) -> tuple[Array | None, ...]:
    each = (_of_input, _of_kernel, _of_bias)
    asked = args["output_mask"] or (True,) * len(each)
    return tuple(gradient(args) if wanted else None for gradient, wanted in zip(each, asked, strict=True))


def _of_bias(args: Arguments) -> Array:
    dy = args["grad_output"]
    return numbers.total(dy, (0, *range(2, dy.ndim))).reshape(-1)


def _of_kernel(args: Arguments) -> Array:
    dy, x, w = args["grad_output"], args["input"], args["weight"]
    patches = _patches(args, x, w.shape, dy.shape[2:])
    return numbers.matmul(_by_group(args, dy).transpose(0, 2, 1), patches).reshape(w.shape)


def _of_input(args: Arguments) -> Array:
    dy, x, w, groups = args["grad_output"], args["input"], args["weight"], args["groups"]
    made, kernel = dy.shape[2:], w.reshape(groups, w.shape[0] // groups, -1)
    parts = numbers.matmul(_by_group(args, dy), kernel).reshape(groups, x.shape[0], *made, w.shape[1], -1)
    parts = np.moveaxis(parts, 0, 1)
    parts = np.moveaxis(parts, -2, 2).reshape(x.shape[0], x.shape[1], *made, -1)
    wide = numbers.zeros(dy, _padded(args, x).shape)
    for number, window in enumerate(_windows(args, x.shape, w.shape, made)):
        wide[:, :, *window] = wide[:, :, *window] + parts[..., number]
    return wide[_inside(args, x.shape)]


SIZES = dict.fromkeys(("stride", "padding", "dilation", "transposed", "output_padding", "groups"), REQUIRED)

RULES: tuple[OpRule, ...] = (
    operator(
        "aten.convolution",
        "input weight bias?",
        SIZES,
        _axes,
        _forward,
        "y[n, o, p] = sum of x[n, c, p stride + k dilation - padding] w[o, c, k] + bias[o]",
    ),
    operator(
        "aten.convolution_backward",
        "grad_output input weight",
        {"bias_sizes": None, **SIZES, "output_mask": None},
        _backward_axes,
        _backward,
        "dx, dw, db of y[n, o, p] = sum of x[n, c, p stride + k dilation - padding] w[o, c, k] + bias[o]",
        linear=(0,),
    ),
)
