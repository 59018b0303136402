"""softmax and log_softmax along one dimension, and their gradients from the output.

    _softmax       y = exp(x) / sum of exp(x)          dx = y (dy - sum of y dy)
    _log_softmax   y = x - log(sum of exp(x))          dx = dy - exp(y) sum of dy

Numbers are shifted by their greatest first, terms are not. `_safe_softmax` is 0 where all of a row is minus
infinity; where that is not known it is softmax.
"""

import numpy as np

from verdict.graph import Shape
from verdict.ops import numbers
from verdict.ops.aten.form import REQUIRED, Arguments, operator
from verdict.ops.casts import CAST
from verdict.ops.elements import MINUS_INFINITY
from verdict.ops.logsoftmax import logsumexp
from verdict.ops.rule import Array, Atom, Axes, Law, OpRule
from verdict.ops.shapes import axis, make_axes
from verdict.ops.softmax import softmax


def _axes(args: Arguments) -> Axes:
    shapes = args.given
    if len(set(shapes)) > 1:
        raise args.misfit(f"shapes {' and '.join(map(str, shapes))} differ")
    along = _along(args, shapes[0])
    atoms = tuple(
        Atom("k", size, Law.WHOLE, 2) if place == along else Atom(f"b{place}", size)
        for place, size in enumerate(shapes[0])
    )
    dims = tuple((atom.name,) for atom in atoms)
    return make_axes(atoms, (dims,) * len(shapes), (dims,))


def _along(args: Arguments, shape: Shape) -> int:
    if not shape:
        raise args.unruled("a tensor without dimensions has no rule")
    return axis(args.name, args["dim"], len(shape))


def _softmax(args: Arguments) -> Array:
    x = args["self"]
    return softmax(x, _along(args, x.shape))


def _log_softmax(args: Arguments) -> Array:
    x = args["self"]
    return np.asarray(x - logsumexp(x, (_along(args, x.shape),)))


def _safe_softmax(args: Arguments) -> Array:
    x = args["self"]
    along = _along(args, x.shape)
    rows = np.moveaxis(x, along, -1)
    if not x.size:
        return np.asarray(x)
    made = [np.zeros_like(row) if _empty(row) else softmax(row, 0) for row in rows.reshape(-1, rows.shape[-1])]
    return np.moveaxis(np.stack(made).reshape(rows.shape), -1, along)


def _empty(row: Array) -> bool:
    return not numbers.has_terms(row) and all(value == MINUS_INFINITY for value in row)


def _softmax_backward(args: Arguments) -> Array:
    dy, y = args.given
    weighted = numbers.total(np.asarray(y * dy), (_along(args, y.shape),))
    return np.asarray(y * (dy - weighted))


def _log_softmax_backward(args: Arguments) -> Array:
    dy, y = args.given
    return np.asarray(dy - numbers.exp(y) * numbers.total(dy, (_along(args, y.shape),)))


FORWARD = {"dim": REQUIRED, "half_to_float": False}
BACKWARD = {"dim": REQUIRED, "input_dtype": None}
SAFE = {"dim": REQUIRED, "dtype": None}
PAIR = "grad_output output"

RULES: tuple[OpRule, ...] = (
    operator("aten._softmax", "self", FORWARD, _axes, _softmax, "y = exp(x) / sum of exp(x)", assumptions=(CAST,)),
    operator(
        "aten._log_softmax", "self", FORWARD, _axes, _log_softmax, "y = x - log sum of exp(x)", assumptions=(CAST,)
    ),
    operator(
        "aten._safe_softmax", "self", SAFE, _axes, _safe_softmax, "softmax; 0 in a row of -inf", assumptions=(CAST,)
    ),
    operator(
        "aten._softmax_backward_data",
        PAIR,
        BACKWARD,
        _axes,
        _softmax_backward,
        "dx = y (dy - sum of y dy)",
        linear=(0,),
        assumptions=(CAST,),
    ),
    operator(
        "aten._log_softmax_backward_data",
        PAIR,
        BACKWARD,
        _axes,
        _log_softmax_backward,
        "dx = dy - exp(y) sum of dy",
        linear=(0,),
        assumptions=(CAST,),
    ),
)
