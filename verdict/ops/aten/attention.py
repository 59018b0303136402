"""Scaled dot-product attention, as torch computes it on a CPU, and its gradient from the outputs.

    s[i, j] = scale q[i] . k[j] + mask[i, j], minus infinity for j > i with is_causal       l[i] = log sum of exp(s[i])
    y[i] = sum over j of p[i, j] v[j], p = exp(s - l)
    dv = p^T dy     ds = p (dy v^T - sum of dy y)     dq = scale ds k     dk = scale ds^T q

A row of nothing but minus infinity has l = 0, and hence y = 0. q, k, v are (batch, head, position, feature); the scale
is 1 / sqrt(features) where none is given. Where q has n times as many heads, each head of k and v is that of n heads of
q, one after the other. Dropout has no rule.
"""

import math
from typing import Any

import numpy as np

from verdict.graph import Shape
from verdict.ops import numbers
from verdict.ops.aten.form import REQUIRED, Arguments, constant, operator
from verdict.ops.casts import CAST
from verdict.ops.elements import MINUS_INFINITY
from verdict.ops.logsoftmax import logsumexp
from verdict.ops.rule import Array, Atom, Attributes, Axes, Dim, Law, OpRule, Scale
from verdict.ops.shapes import make_axes, together

LEAST = 4
"""Of so many positions a causal mask hides none, some and all but one."""
BATCH, HEADS, QUERIES, KEYS, FEATURES, VALUES = ("b",), ("h", "g"), ("i",), ("j",), ("d",), ("e",)


def _checked(args: Arguments) -> tuple[Shape, Shape]:
    """The shapes of the output and of the logarithms of the sums."""
    q, k, v = args["query"], args["key"], args["value"]
    if args["dropout_p"]:
        raise args.unruled("dropout within attention has no rule")
    if len(q) != 4 or len(k) != 4 or q[0] != k[0] or not k[1] or q[1] % k[1] or k[:3] != v[:3] or q[3] != k[3]:
        raise args.misfit(f"query {q}, key {k} and value {v} do not fit")
    mask = args["attn_mask"]
    if mask is not None and together(args.name, (*q[:3], k[2]), mask) != (*q[:3], k[2]):
        raise args.misfit(f"attn_mask {mask} does not fit query {q} and key {k}")
    return (*q[:3], v[3]), q[:3]


def _forward_axes(args: Arguments) -> Axes:
    """Each sample, head and query by itself; along keys and features it is computed."""
    _checked(args)
    atoms = _atoms(args, keys=Law.WHOLE, values=Law.WHOLE)
    q, k, v, mask = _dims(args)
    return make_axes(atoms, (q, k, v, *mask), ((*q[:3], VALUES), q[:3]))


def _backward_axes(args: Arguments) -> Axes:
    """Each key by itself, too, as the sums are given: what is due to a query is a sum over keys."""
    out, rows = _checked(args)
    if args["grad_out"] != out or args["out"] != out or args["logsumexp"] != rows:
        raise args.misfit(
            f"gradient {args['grad_out']}, out {args['out']} and logsumexp {args['logsumexp']} do not fit"
        )
    q, k, v, mask = _dims(args)
    made = (*q[:3], VALUES)
    atoms = _atoms(args, keys=Law.EACH, values=Law.EACH)
    return make_axes(atoms, (made, q, k, v, made, q[:3], *mask), (q, k, v))


def _atoms(args: Arguments, keys: Law, values: Law) -> tuple[Atom, ...]:
    """Index axes: what a causal mask hides depends on both positions, so that none is by itself."""
    q, k, v = args["query"], args["key"], args["value"]
    if args["is_causal"]:
        apart = Atom("i", q[2], Law.WHOLE, q[2]), Atom("j", k[2], Law.WHOLE, k[2])
        positions = apart if q[2] != k[2] else (Atom("i", q[2], Law.WHOLE, LEAST),)
    else:
        positions = Atom("i", q[2]), Atom("j", k[2], keys, 2 if keys is Law.WHOLE else 1)
    heads = Atom("b", q[0]), Atom("h", k[1]), Atom("g", q[1] // k[1])
    return (*heads, *positions, Atom("d", q[3], Law.WHOLE, 2), Atom("e", v[3], values))


def _dims(args: Arguments) -> tuple[tuple[Dim, ...], tuple[Dim, ...], tuple[Dim, ...], tuple[tuple[Dim, ...], ...]]:
    """The dimensions of queries, keys, values, and of the mask where there is one."""
    q, k = args["query"], args["key"]
    keys = QUERIES if args["is_causal"] and q[2] == k[2] else KEYS
    scores = (BATCH, HEADS, QUERIES, keys)
    masks = []
    if args["attn_mask"] is not None:
        mask = args["attn_mask"]
        last = scores[len(scores) - len(mask) :]
        masks.append(tuple(() if size == 1 else dim for size, dim in zip(mask, last, strict=True)))
    return (
        (BATCH, HEADS, QUERIES, FEATURES),
        (BATCH, HEADS[:1], keys, FEATURES),
        (BATCH, HEADS[:1], keys, VALUES),
        tuple(masks),
    )


def _reduced(attrs: Attributes, scale: Scale) -> Attributes:
    """With fewer features the scale stays what it is."""
    if attrs.get("scale") is not None or "d" not in scale.bounds:
        return attrs
    start, stop = scale.bounds["d"]
    return {**attrs, "scale": 1 / math.sqrt(stop - start)} if scale.sizes["d"] != stop - start else attrs


def _scale(args: Arguments) -> Any:
    q = args["query"]
    return constant(q, 1 / math.sqrt(q.shape[-1]) if args["scale"] is None else args["scale"])


def _shared(args: Arguments, name: str) -> Array:
    """The keys or values that each head of the queries meets."""
    x = args[name]
    return np.repeat(x, args["query"].shape[1] // x.shape[1], axis=1)


def _added(args: Arguments, gradient: Array) -> Array:
    """The gradient of keys or values from those of all heads of the queries that met them."""
    batch, heads, *rest = gradient.shape
    kept = args["key"].shape[1]
    if heads == kept:
        return gradient
    return numbers.total(gradient.reshape(batch, kept, heads // kept, *rest), (2,))[:, :, 0]


def _scores(args: Arguments) -> Array:
    q, k = args["query"], _shared(args, "key")
    scores = np.asarray(_scale(args) * numbers.matmul(q, np.swapaxes(k, -1, -2)))
    if args["attn_mask"] is not None:
        scores = np.asarray(scores + args["attn_mask"])
    if args["is_causal"]:
        row, column = np.indices(scores.shape[-2:])
        scores = np.where(column > row, MINUS_INFINITY, scores)
    return scores


def _forward(args: Arguments) -> tuple[Array, Array]:
    scores = _scores(args)
    rows = numbers.finite(logsumexp(scores, (scores.ndim - 1,)))
    weights = numbers.exp(np.asarray(scores - rows))
    return numbers.matmul(weights, _shared(args, "value")), rows[..., 0]


def _backward(args: Arguments) -> tuple[Array, ...]:
    dy, v = args["grad_out"], _shared(args, "value")
    weights = numbers.exp(np.asarray(_scores(args) - args["logsumexp"][..., None]))
    pull = numbers.total(np.asarray(dy * args["out"]), (dy.ndim - 1,))
    ds = np.asarray(_scale(args) * (weights * (numbers.matmul(dy, np.swapaxes(v, -1, -2)) - pull)))
    dq = numbers.matmul(ds, _shared(args, "key"))
    dk = numbers.matmul(np.swapaxes(ds, -1, -2), args["query"])
    return dq, _added(args, dk), _added(args, numbers.matmul(np.swapaxes(weights, -1, -2), dy))


KIND = {"dropout_p": 0.0, "is_causal": False, "scale": None}

RULES: tuple[OpRule, ...] = (
    operator(
        "aten._scaled_dot_product_flash_attention_for_cpu",
        "query key value attn_mask?",
        KIND,
        _forward_axes,
        _forward,
        "y = softmax(scale q k^T + mask) v, and the logarithms of the sums",
        reduce=_reduced,
        assumptions=(CAST,),
    ),
    operator(
        "aten._scaled_dot_product_flash_attention_for_cpu_backward",
        "grad_out query key value out logsumexp attn_mask?",
        {**KIND, "dropout_p": REQUIRED, "is_causal": REQUIRED},
        _backward_axes,
        _backward,
        "ds = p (dy v^T - sum of dy y); dq = scale ds k, dk = scale ds^T q, dv = p^T dy",
        linear=(0,),
        reduce=_reduced,
        assumptions=(CAST,),
    ),
)
