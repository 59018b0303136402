"""Layer and root-mean-square normalisation over the last dimensions, forward and backward.

    native_layer_norm   m = mean of x     r = (mean of (x - m)^2 + eps)^(-1/2)     y = (x - m) r weight + bias
    with h = (x - m) r, a = dy weight:    dx = r (a - mean of a - h mean of a h)   dweight = dy h    dbias = dy
    _fused_rms_norm     r = (mean of x^2 + eps)^(-1/2)     y = x r weight          dx = r (a - h mean of a h), h = x r

dweight and dbias are summed over the leading dimensions; y, m, r and the gradients are outputs in this order. What
output_mask does not ask for is an output all the same, which the plan leaves ABSENT. A mean divides by the number of
elements, or by `count`, which at reduced shapes is that number at full ones.
"""

from dataclasses import replace
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np

from verdict.graph import Shape
from verdict.ops import numbers
from verdict.ops.aten.form import REQUIRED, Arguments, constant, operator
from verdict.ops.casts import CAST
from verdict.ops.rule import Array, Atom, Axes, Dim, Law, OpRule
from verdict.ops.shapes import make_axes, numbered, unbroadcast

MACHINE_EPS = 2.0**-23
"""The eps of rms_norm where it names none: that of float32."""


def _layout(args: Arguments, x: Shape) -> tuple[tuple[Atom, ...], tuple[Dim, ...], tuple[Dim, ...]]:
    """The atoms, the leading dimensions and the normalised ones."""
    normalised = tuple(args["normalized_shape"])
    if not normalised or x[-len(normalised) :] != normalised:
        raise args.misfit(f"x of shape {x} does not end in normalized_shape {normalised}")
    for name in ("weight", "bias"):
        if args[name] is not None and args[name] != normalised:
            raise args.misfit(f"{name} has shape {args[name]}, normalized_shape is {normalised}")
    batch, dims = numbered("b", x[: -len(normalised)])
    along = tuple(Atom(f"n{place}", size, Law.WHOLE, size) for place, size in enumerate(normalised))
    return (*batch, *along), dims, tuple((atom.name,) for atom in along)


def _axes(args: Arguments) -> Axes:
    x = args["input"]
    atoms, lead, last = _layout(args, x)
    moments = (*lead, *(() for _ in last))
    inputs = tuple((*lead, *last) if shape == x and k == 0 else last for k, shape in enumerate(args.given))
    outputs = ((*lead, *last), moments) if "rms" in args.name else ((*lead, *last), moments, moments)
    return make_axes(atoms, inputs, outputs)


def _along(args: Arguments, x: Array) -> tuple[int, ...]:
    return tuple(range(x.ndim - len(args["normalized_shape"]), x.ndim))


def _mean(args: Arguments, x: Any) -> Array:
    x = np.asarray(x)
    along = _along(args, x)
    return numbers.divide(numbers.total(x, along), args["count"] or prod(x.shape[place] for place in along))


def _layer_norm(args: Arguments) -> tuple[Array, ...]:
    x = args["input"]
    mean = _mean(args, x)
    centred = np.asarray(x - mean)
    rate = numbers.power(np.asarray(_mean(args, centred * centred) + constant(x, args["eps"])), Fraction(-1, 2))
    return _affine(args, np.asarray(centred * rate)), mean, rate


def _affine(args: Arguments, y: Array) -> Array:
    y = y if args["weight"] is None else np.asarray(y * args["weight"])
    return y if args["bias"] is None else np.asarray(y + args["bias"])


def _rms_norm(args: Arguments) -> tuple[Array, ...]:
    x = args["input"]
    eps = MACHINE_EPS if args["eps"] is None else args["eps"]
    rate = numbers.power(np.asarray(_mean(args, x * x) + constant(x, eps)), Fraction(-1, 2))
    return _affine(args, np.asarray(x * rate)), rate


def _backward_axes(args: Arguments) -> Axes:
    """Row by row; the gradients of weight and bias are summed over the rows."""
    x = args["input"]
    found, lead, last = _layout(args, x)
    atoms = tuple(replace(atom, least=2) if atom.law is Law.EACH else atom for atom in found)
    if args["grad_out"] != x:
        raise args.misfit(f"the gradient of shape {args['grad_out']} does not belong to x of shape {x}")
    moments = (*x[: len(lead)], *(1 for _ in last))
    for name in ("mean", "rstd"):
        if args[name] is not None and args[name] != moments:
            raise args.misfit(f"{name} of shape {args[name]} does not belong to x of shape {x}")
    rows, of_row = (*lead, *last), (*lead, *(() for _ in last))
    dims = {"grad_out": rows, "input": rows, "mean": of_row, "rstd": of_row, "weight": last, "bias": last}
    inputs = tuple(found for name, found in dims.items() if args[name] is not None)
    return make_axes(atoms, inputs, (rows, last) if "rms" in args.name else (rows, last, last))


def _normalised(args: Arguments) -> tuple[Array, Array, Array]:
    """h, the gradient of h and dweight before it is summed."""
    x, dy = args["input"], args["grad_out"]
    centred = x if args["mean"] is None else np.asarray(x - args["mean"])
    h = np.asarray(centred * args["rstd"])
    return h, dy if args["weight"] is None else np.asarray(dy * args["weight"]), np.asarray(dy * h)


def _layer_norm_backward(args: Arguments) -> tuple[Array, ...]:
    h, a, dweight = _normalised(args)
    shape = tuple(args["normalized_shape"])
    dx = np.asarray(args["rstd"] * (a - _mean(args, a) - h * _mean(args, a * h)))
    return dx, unbroadcast(dweight, shape), unbroadcast(args["grad_out"], shape)


def _rms_norm_backward(args: Arguments) -> tuple[Array, ...]:
    h, a, dweight = _normalised(args)
    dx = np.asarray(args["rstd"] * (a - h * _mean(args, a * h)))
    return dx, unbroadcast(dweight, tuple(args["normalized_shape"]))


SHAPE = {"normalized_shape": REQUIRED, "count": None}
BACKWARD = {**SHAPE, "output_mask": None}

RULES: tuple[OpRule, ...] = (
    operator(
        "aten.native_layer_norm",
        "input weight? bias?",
        {**SHAPE, "eps": REQUIRED},
        _axes,
        _layer_norm,
        "y = (x - mean) r weight + bias, mean, r = (variance + eps)^(-1/2)",
        assumptions=(CAST,),
    ),
    operator(
        "aten.native_layer_norm_backward",
        "grad_out input mean rstd weight? bias?",
        BACKWARD,
        _backward_axes,
        _layer_norm_backward,
        "dx = r (a - mean of a - h mean of a h), dweight = dy h, dbias = dy",
        linear=(0,),
        assumptions=(CAST,),
    ),
    operator(
        "aten._fused_rms_norm",
        "input weight?",
        {**SHAPE, "eps": REQUIRED},
        _axes,
        _rms_norm,
        "y = x r weight, r = (mean of x^2 + eps)^(-1/2)",
        assumptions=(CAST,),
    ),
    operator(
        "aten._fused_rms_norm_backward",
        "grad_out input rstd weight?",
        BACKWARD,
        _backward_axes,
        _rms_norm_backward,
        "dx = r (a - h mean of a h), dweight = dy h",
        linear=(0,),
        assumptions=(CAST,),
    ),
)
