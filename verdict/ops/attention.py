"""self_attention: multi-head attention of a sequence to itself, in one operator.

    q, k, v of head h at position l = the components c = 0, 1, 2 of x[l, n] w[h, d, c]^T + b[h, d, c]
    a[n, h, l, m] = softmax over m of scale (q[l] . k[m]); with `mask`, scale (q[l] . k[m]) is -10000 for m > l
    y[l, n] = sum over h, d of u[n, h, l, d] out[o, (h, d)]        u = (sum over m of dropout(a)[l, m] v[m])

x (l, n, i), w ((h, d, c), i), b ((h, d, c)), out (o, (h, d)), y (l, n, o); h is the number of heads that the
weights hold. With r the factor of dropout (always in training) and t = a r, the gradient is

    du = dy out    dv = t^T du    da = (du v^T) r    ds = a (da - sum over m of a da) scale, 0 where masked
    dq = ds k      dk = ds^T q    dx = (dq, dk, dv) w    dw = (dq, dk, dv)^T x    db = (dq, dk, dv)    dout = dy^T u

The sequence l is computed along, with `mask` at four positions at least (at two, causal is a sliding window).
Heads only add up. A node whose h is not the number of heads that its weights hold computes something else; at
reduced sizes it gets as many heads too many or too few as fit, at least one wrong number of them.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from verdict.errors import ShapeError
from verdict.graph import Interval, Shape
from verdict.ops import dropout, numbers
from verdict.ops.mask import LEAST
from verdict.ops.rule import Array, Atom, Attributes, Axes, Law, OpRule, Scale
from verdict.ops.shapes import arity, filled, is_integer, is_number, known, make_axes
from verdict.ops.softmax import softmax

ATTRIBUTES = ("h", "scale", "dropout_p", "mask")
HIDDEN = -10000


class _Heads(NamedTuple):
    """q, k, v (n, h, l, d); weights a, the factor of dropout, t (n, h, l, m); joined u (l, n, (h, d))."""

    q: Array
    k: Array
    v: Array
    weights: Array
    kept: Array
    used: Array
    joined: Array


def _axes(shapes: Sequence[Shape], attrs: Attributes) -> Axes:
    known("self_attention", attrs, ATTRIBUTES)
    arity("self_attention", shapes, 4)
    filled("self_attention", shapes)
    dropout.check("self_attention", attrs.get("dropout_p"), True)
    x, w, b, out = shapes
    if len(x) != 3 or len(w) != 2 or len(out) != 2:
        raise ShapeError(f"self_attention: x {x} must have three dimensions, w {w} and out {out} two")
    if x[2] != w[1]:
        raise ShapeError(f"self_attention: x has {x[2]} features, w expects {w[1]}")
    heads = attrs.get("h")
    if not is_integer(heads) or int(heads or 0) < 1 or w[0] % (3 * int(heads or 0)):
        raise ShapeError(f"self_attention: the {w[0]} rows of w are not q, k and v of {heads} heads")
    if b != (w[0],) or 3 * out[1] != w[0]:
        raise ShapeError(f"self_attention: w gives {w[0]} features, b {b} and out {out} do not fit them")
    if not is_number(attrs.get("scale")) or not isinstance(attrs.get("mask", False), bool):
        raise ShapeError("self_attention: scale must be a number, and mask True or False")
    atoms = (
        Atom("l", x[0], Law.WHOLE, LEAST if attrs.get("mask", False) else 2),
        Atom("n", x[1]),
        Atom("i", x[2], Law.WHOLE, 2),
        Atom("h", int(heads or 0), Law.SUM),
        Atom("d", w[0] // (3 * int(heads or 0)), Law.WHOLE, 2),
        Atom("c", 3, Law.WHOLE, 3),
        Atom("o", out[0]),
    )
    rows = ("h", "d", "c")
    inputs = ((("l",), ("n",), ("i",)), (rows, ("i",)), (rows,), (("o",), ("h", "d")))
    return make_axes(atoms, inputs, ((("l",), ("n",), ("o",)),))


def _attend(inputs: Sequence[Array], attrs: Attributes) -> _Heads:
    x, w, b, _ = inputs
    length, batch = x.shape[:2]
    rows = np.asarray(numbers.matmul(x, w.T) + b).reshape(length, batch, attrs["h"], -1, 3)
    q, k, v = (rows[..., c].transpose(1, 2, 0, 3) for c in range(3))
    scores = np.asarray(numbers.matmul(q, np.swapaxes(k, 2, 3)) * numbers.scalar(x, attrs["scale"]))
    if attrs.get("mask", False):
        later = _later(length)
        scores[..., later] = scores[..., later] * 0 + numbers.scalar(x, HIDDEN)
    weights = softmax(scores, 3)
    kept = dropout.factor(weights, attrs["dropout_p"], True)
    used = np.asarray(weights * kept)
    joined = numbers.matmul(used, v).transpose(2, 0, 1, 3).reshape(length, batch, -1)
    return _Heads(q, k, v, weights, kept, used, joined)


def _later(length: int) -> Array:
    """Whether position m is later than l, (l, m)."""
    return np.triu(np.ones((length, length), dtype=bool), 1)


def _forward(inputs: Sequence[Array], attrs: Attributes) -> tuple[Array, ...]:
    return (numbers.matmul(_attend(inputs, attrs).joined, inputs[3].T),)


def _gradient(inputs: Sequence[Array], grads: Sequence[Array], attrs: Attributes) -> tuple[Array | None, ...]:
    (x, w, _, out), (dy,) = inputs, grads
    heads = _attend(inputs, attrs)
    length, batch = x.shape[:2]
    djoined = numbers.matmul(dy, out).reshape(length, batch, attrs["h"], -1).transpose(1, 2, 0, 3)
    dweights = np.asarray(numbers.matmul(djoined, np.swapaxes(heads.v, 2, 3)) * heads.kept)
    pull = numbers.total(np.asarray(heads.weights * dweights), (3,))
    dscores = np.asarray(heads.weights * (dweights - pull) * numbers.scalar(x, attrs["scale"]))
    if attrs.get("mask", False):
        dscores[..., _later(length)] = 0
    dq = numbers.matmul(dscores, heads.k)
    dk = numbers.matmul(np.swapaxes(dscores, 2, 3), heads.q)
    dv = numbers.matmul(np.swapaxes(heads.used, 2, 3), djoined)
    drows = np.stack([dq, dk, dv], axis=-1).transpose(2, 0, 1, 3, 4).reshape(length * batch, -1)
    dx = numbers.matmul(drows, w).reshape(x.shape)
    dw = numbers.matmul(drows.T, x.reshape(length * batch, -1))
    dout = numbers.matmul(dy.reshape(length * batch, -1).T, heads.joined.reshape(length * batch, -1))
    return dx, dw, numbers.total(drows, (0,)).reshape(-1), dout


def _cuts(attrs: Attributes) -> Mapping[str, tuple[int, ...]]:
    return {"h": attrs["share"]} if "share" in attrs else {}


def _narrow(attrs: Attributes, atom: str, interval: Interval) -> Attributes:
    return {**attrs, "h": interval[1] - interval[0], "share": interval} if atom == "h" else attrs


def _reduce(attrs: Attributes, scale: Scale) -> Attributes:
    if "share" in attrs:
        first, last = (scale.points["h"][head] for head in attrs["share"])
        return {name: value for name, value in attrs.items() if name != "share"} | {"h": last - first}
    start, stop = scale.bounds.get("h", (0, 1))
    heads, columns = scale.sizes.get("h", 1), scale.inputs[3][1]
    if attrs["h"] == stop - start:
        return {**attrs, "h": heads}
    wrong = Fraction(heads * attrs["h"], stop - start)
    if wrong.denominator > 1 or columns % wrong.numerator:
        wrong = Fraction(1 if heads > 1 else columns)
    return {**attrs, "h": int(wrong)}


RULES = (
    OpRule(
        "self_attention",
        _axes,
        _forward,
        _gradient,
        reduce=_reduce,
        cuts=_cuts,
        narrow=_narrow,
        linear=frozenset({3}),
        drops=lambda attrs: attrs["dropout_p"],
        assumptions=(dropout.STATE,),
        local=frozenset({"h", "share"}),
        attributes=ATTRIBUTES,
        formula="y = (dropout(softmax(scale q k^T)) v) out^T, for each head; q, k, v from x w^T + b",
        source="self_attention of nnScaler's example nlp/blocks/attention.py",
    ),
)
