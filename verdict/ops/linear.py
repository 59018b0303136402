"""linear: y[..., n] = sum over k of x[..., k] w[n, k] + b[n]

    dx = dy w        dw = dy^T x, summed over the leading axes        db = dy, summed over the leading axes

With a bias, the shares of a sum over k do not add up (the bias would be added by each), so k is WHOLE.
"""

from collections.abc import Sequence
from math import prod

import numpy as np

from verdict.errors import ShapeError
from verdict.graph import Shape
from verdict.ops import numbers
from verdict.ops.rule import Array, Atom, Attributes, Axes, Law, OpRule
from verdict.ops.shapes import arity, known, make_axes, numbered
from verdict.ops.types import promoted


def _axes(shapes: Sequence[Shape], attrs: Attributes) -> Axes:
    known("linear", attrs, ())
    arity("linear", shapes, 2, 3)
    x, w = shapes[0], shapes[1]
    if not x or len(w) != 2:
        raise ShapeError(f"linear: x {x} needs a last dimension, and w {w} two dimensions")
    if x[-1] != w[1]:
        raise ShapeError(f"linear: x has {x[-1]} features in its last dimension, w expects {w[1]}")
    bias = shapes[2:]
    if bias and bias[0] != (w[0],):
        raise ShapeError(f"linear: w gives {w[0]} features, the bias has shape {bias[0]}")
    batch, dims = numbered("b", x[:-1])
    contracted = Atom("k", x[-1], Law.WHOLE if bias else Law.SUM, 2)
    inputs = ((*dims, ("k",)), (("n",), ("k",)), (("n",),))[: len(shapes)]
    return make_axes((*batch, contracted, Atom("n", w[0])), inputs, ((*dims, ("n",)),))


def _forward(inputs: Sequence[Array], attrs: Attributes) -> tuple[Array, ...]:
    x, w, *bias = inputs
    y = numbers.matmul(x, w.T)
    return (np.asarray(y + bias[0]),) if bias else (y,)


def _gradient(inputs: Sequence[Array], grads: Sequence[Array], attrs: Attributes) -> tuple[Array | None, ...]:
    x, w, *bias = inputs
    (dy,) = grads
    rows = dy.reshape(prod(dy.shape[:-1]), w.shape[0])
    dx = numbers.matmul(dy, w)
    dw = numbers.matmul(rows.T, x.reshape(len(rows), w.shape[1]))
    return (dx, dw, *(numbers.total(rows, (0,)).reshape(-1) for _ in bias))


def _affine(count: int, attrs: Attributes) -> bool:
    return count == 3


RULES = (
    OpRule(
        "linear",
        _axes,
        _forward,
        _gradient,
        linear=frozenset({0, 1}),
        affine=_affine,
        formula="y[..., n] = sum over k of x[..., k] w[n, k] + b[n]",
        source="torch.nn.functional.linear",
        types=promoted,
    ),
)
