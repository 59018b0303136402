"""glu: the first half along a dimension, times the sigmoid of the second; and its gradient.

    y = a sigmoid(b)      da = dy sigmoid(b)      db = dy a sigmoid(b) (1 - sigmoid(b))
"""

import numpy as np

from verdict.graph import Shape
from verdict.ops import numbers
from verdict.ops.aten.form import REQUIRED, Arguments, operator
from verdict.ops.rule import Array, OpRule
from verdict.ops.shapes import axis


def _halved(args: Arguments) -> Shape:
    x: Shape = args["self"]
    along = axis(args.name, args["dim"], len(x))
    if x[along] % 2:
        raise args.misfit(f"{x[along]} elements along dimension {along} have no halves")
    return (*x[:along], x[along] // 2, *x[along + 1 :])


def _forward(args: Arguments) -> Array:
    first, second = np.split(args["self"], 2, axis=args["dim"])
    return np.asarray(first * numbers.sigmoid(second))


def _backward_shape(args: Arguments) -> Shape:
    if args["grad_output"] != _halved(args):
        raise args.misfit(f"a gradient of shape {args['grad_output']} does not belong to {args['self']}")
    x: Shape = args["self"]
    return x


def _backward(args: Arguments) -> Array:
    dy = args["grad_output"]
    first, second = np.split(args["self"], 2, axis=args["dim"])
    share = numbers.sigmoid(second)
    return np.concatenate([np.asarray(dy * share), np.asarray(dy * first * share * (1 - share))], axis=args["dim"])


RULES: tuple[OpRule, ...] = (
    operator("aten.glu", "self", {"dim": -1}, _halved, _forward, "y = a sigmoid(b), of the halves a, b of x along dim"),
    operator(
        "aten.glu_backward",
        "grad_output self",
        {"dim": REQUIRED},
        _backward_shape,
        _backward,
        "da = dy sigmoid(b), db = dy a sigmoid'(b)",
        linear=(0,),
    ),
)
