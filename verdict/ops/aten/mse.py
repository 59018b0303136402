"""mse_loss: the squared difference, each, averaged or added up.

    l = (x - t)^2        reduction 0: l      1: the mean of l      2: the sum of l
    dx = 2 (x - t) dl, for the mean divided by the number of elements
"""

from fractions import Fraction
from typing import Any

import numpy as np

from verdict.graph import Shape
from verdict.ops import numbers
from verdict.ops.aten.form import Arguments, operator
from verdict.ops.rule import Array, OpRule

NONE, MEAN = 0, 1
REDUCTION = {"reduction": MEAN}


def _shape(args: Arguments) -> Shape:
    x, target = tuple(args["self"]), tuple(args["target"])
    if args["reduction"] not in {0, 1, 2}:
        raise args.misfit(f"reduction is {args['reduction']}, it must be 0 (none), 1 (mean) or 2 (sum)")
    if x != target:
        raise args.misfit(f"x of shape {x} and its target of shape {target} differ")
    return x if args["reduction"] == NONE else ()


def _forward(args: Arguments) -> Array:
    apart = args["self"] - args["target"]
    each = np.asarray(apart * apart)
    if args["reduction"] == NONE:
        return each
    total = numbers.total(each.reshape(-1), (0,))
    return np.asarray(_scaled(args, total) if args["reduction"] == MEAN else total).reshape(())


def _scaled(args: Arguments, x: Any) -> Any:
    """x over the number of elements."""
    count = args["self"].size
    return x * Fraction(1, count) if numbers.of_objects(np.asarray(x)) else x / count


def _backward_shape(args: Arguments) -> Shape:
    _shape(args)
    return tuple(args["self"])


def _backward(args: Arguments) -> Array:
    dx = 2 * (args["self"] - args["target"]) * args["grad_output"]
    return np.asarray(_scaled(args, dx) if args["reduction"] == MEAN else dx)


RULES: tuple[OpRule, ...] = (
    operator(
        "aten.mse_loss",
        "self target",
        REDUCTION,
        _shape,
        _forward,
        "the mean (reduction 1) or sum (2) of (x - t)^2",
        linear=(),
    ),
    operator(
        "aten.mse_loss_backward",
        "grad_output self target",
        REDUCTION,
        _backward_shape,
        _backward,
        "dx = 2 (x - t) dl, for the mean over the number of elements",
        linear=(0,),
    ),
)
