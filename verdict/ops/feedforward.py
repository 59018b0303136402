"""feedforward: y = dropout(gelu(x w1^T + b1)) w2^T, the two linear layers of a GPT block in one operator.

x (..., i), w1 (j, i), b1 (j), w2 (o, j), y (..., o). With h = x w1^T + b1 and m the factor of dropout,

    dh = (dy w2) m gelu'(h)        dx = dh w1        dw1 = dh^T x        db1 = dh        dw2 = dy^T (gelu(h) m)

the last three summed over the leading axes. Every hidden feature j is computed by itself, and y sums over them.
"""

from collections.abc import Sequence

import numpy as np

from verdict.errors import ShapeError
from verdict.graph import Shape
from verdict.ops import dropout, numbers
from verdict.ops.elementwise import ERF, gelu, gelu_slope
from verdict.ops.rule import Array, Atom, Attributes, Axes, Law, OpRule
from verdict.ops.shapes import arity, filled, known, make_axes, numbered

ATTRIBUTES = ("dropout", "is_training")


def _axes(shapes: Sequence[Shape], attrs: Attributes) -> Axes:
    known("feedforward", attrs, ATTRIBUTES)
    arity("feedforward", shapes, 4)
    filled("feedforward", shapes)
    dropout.check("feedforward", attrs.get("dropout"), attrs.get("is_training", True))
    x, w1, b1, w2 = shapes
    if not x or len(w1) != 2 or len(w2) != 2:
        raise ShapeError(f"feedforward: x {x} needs a last dimension, w1 {w1} and w2 {w2} two dimensions")
    if x[-1] != w1[1]:
        raise ShapeError(f"feedforward: x has {x[-1]} features in its last dimension, w1 expects {w1[1]}")
    if b1 != (w1[0],) or w2[1] != w1[0]:
        raise ShapeError(f"feedforward: w1 gives {w1[0]} features, b1 {b1} and w2 {w2} do not take them")
    batch, dims = numbered("b", x[:-1])
    atoms = (*batch, Atom("i", x[-1], Law.WHOLE, 2), Atom("j", w1[0], Law.SUM, 2), Atom("o", w2[0]))
    inputs = ((*dims, ("i",)), (("j",), ("i",)), (("j",),), (("o",), ("j",)))
    return make_axes(atoms, inputs, ((*dims, ("o",)),))


def _hidden(inputs: Sequence[Array], attrs: Attributes) -> tuple[Array, Array, Array]:
    """h, gelu(h) and the factor of dropout."""
    x, w1, b1, _ = inputs
    h = np.asarray(numbers.matmul(x, w1.T) + b1)
    active = gelu(h)
    return h, active, dropout.factor(active, attrs["dropout"], attrs.get("is_training", True))


def _forward(inputs: Sequence[Array], attrs: Attributes) -> tuple[Array, ...]:
    _, active, kept = _hidden(inputs, attrs)
    return (numbers.matmul(np.asarray(active * kept), inputs[3].T),)


def _gradient(inputs: Sequence[Array], grads: Sequence[Array], attrs: Attributes) -> tuple[Array | None, ...]:
    (x, w1, _, w2), (dy,) = inputs, grads
    h, active, kept = _hidden(inputs, attrs)
    dh = np.asarray(numbers.matmul(dy, w2) * kept * gelu_slope(h))
    rows = dh.reshape(-1, w1.shape[0])
    used = np.asarray(active * kept).reshape(-1, w1.shape[0])
    dw1 = numbers.matmul(rows.T, x.reshape(-1, x.shape[-1]))
    dw2 = numbers.matmul(dy.reshape(-1, w2.shape[0]).T, used)
    return numbers.matmul(dh, w1), dw1, numbers.total(rows, (0,)).reshape(-1), dw2


RULES = (
    OpRule(
        "feedforward",
        _axes,
        _forward,
        _gradient,
        linear=frozenset({3}),
        drops=lambda attrs: attrs["dropout"] if attrs.get("is_training", True) else 0,
        assumptions=(ERF, dropout.STATE),
        attributes=ATTRIBUTES,
        formula="y = dropout(gelu(x w1^T + b1)) w2^T",
        source="feedforward of nnScaler's example nlp/blocks/mlp.py",
    ),
)
