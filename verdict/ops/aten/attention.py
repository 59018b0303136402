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
from verdict.ops.rule import Array, Atom, Axes, Dim, Law, OpRule
from verdict.ops.shapes import make_axes, together

FEWEST = 2
"""How many positions, and features of values, a reduced shape keeps: of one there is no sum."""
POSITIONS = 4
"""How many positions it keeps under a causal mask."""


def _check(args: Arguments) -> tuple[Shape, Shape]:
    q, k, v = args["query"], args["key"], args["value"]
    if args["dropout_p"]:
        raise args.unruled("dropout within attention has no rule")
    if len(q) != 4 or len(k) != 4 or q[0] != k[0] or not k[1] or q[1] % k[1] or k[:3] != v[:3] or q[3] != k[3]:
        raise args.misfit(f"query {q}, key {k} and value {v} do not fit")
    mask = args["attn_mask"]
    if mask is not None and together(args.name, (*q[:3], k[2]), mask) != (*q[:3], k[2]):
        raise args.misfit(f"attn_mask {mask} does not fit query {q} and key {k}")
    return (*q[:3], v[3]), q[:3]


def _axes(args: Arguments) -> Axes:
    """Row by row of the batch, and head by head of the keys with those of the queries that meet it."""
    out, rows = _check(args)
    q, k, v, mask = args["query"], args["key"], args["value"], args["attn_mask"]
    positions = POSITIONS if args["is_causal"] else FEWEST
    atoms = (
        Atom("b", q[0]), Atom("h", k[1]), Atom("r", q[1] // k[1]), Atom("i", q[2], Law.WHOLE, positions),
        Atom("j", k[2], Law.WHOLE, positions), Atom("e", q[3], Law.WHOLE, q[3]), Atom("f", v[3], Law.WHOLE, FEWEST),
    )  # fmt: skip
    keys, values = (tuple((name,) for name in names) for names in ("bhje", "bhjf"))
    lse: tuple[Dim, ...] = (("b",), ("h", "r"), ("i",))
    queries, y = (*lse, ("e",)), (*lse, ("f",))
    dims = {
        "grad_out": y, "query": queries, "key": keys, "value": values, "out": y, "logsumexp": lse,
    }  # fmt: skip
    shapes = {"grad_out": out, "out": out, "logsumexp": rows}
    if any(args[name] is not None and args[name] != shape for name, shape in shapes.items()):
        found = ", ".join(f"{name} {args[name]}" for name in shapes)
        raise args.misfit(f"{found} do not fit query {q} and value {v}")
    read = [dims[name] for name in dims if args[name] is not None]
    if mask is not None:
        full = list(zip((*lse, ("j",)), (*rows, k[2]), strict=True))[4 - len(mask) :]
        read.append(tuple(dim if size == of else () for size, (dim, of) in zip(mask, full, strict=True)))
    return make_axes(atoms, read, (y, lse) if args["grad_out"] is None else (queries, keys, values))


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
        _axes,
        _forward,
        "y = softmax(scale q k^T + mask) v, and the logarithms of the sums",
        assumptions=(CAST,),
    ),
    operator(
        "aten._scaled_dot_product_flash_attention_for_cpu_backward",
        "grad_out query key value out logsumexp attn_mask?",
        {**KIND, "dropout_p": REQUIRED, "is_causal": REQUIRED},
        _axes,
        _backward,
        "ds = p (dy v^T - sum of dy y); dq = scale ds k, dk = scale ds^T q, dv = p^T dy",
        linear=(0,),
        assumptions=(CAST,),
    ),
)
