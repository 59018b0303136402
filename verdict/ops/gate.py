"""gate: each token's experts and their weights, the router of DeepSeek-V3.

    logits[t, e] = sum over i of x[t, i] w[e, i]        scores = sigmoid or softmax (over e) of the logits
    indices[t, k] = the expert that is chosen k-th      s[t, k] = scores[t, indices[t, k]]
    weights[t, k] = route_scale s[t, k] / (sum over j of s[t, j]) for sigmoid, route_scale s[t, k] for softmax

The choice goes by scores + bias, the greatest first. With n_groups > 1 the experts are n_groups consecutive
groups of equal size, and only those of the topk_groups best groups can be chosen; a group is as good as its
best expert, or with a bias as the sum of its two best. Of equal scores the lower index comes first here;
torch leaves that open.

With [k, e] = 1 where slot k holds expert e, s = sum over e of [k, e] scores[e], and the gradient, through s
alone (indices are not differentiable, so the bias has no gradient), is for sigmoid with S = sum over j of s[j]

    ds[k] = route_scale (dy[k] / S - (sum over j of dy[j] s[j]) / S^2)        dscores[e] = sum over k of [k, e] ds[k]

On terms [k, e] is one unknown function of the token's logits (both score functions grow with them), or of
its scores + bias. Nothing else of the choice is used: a proof holds for any number of experts, slots and
groups, so these are reduced while `topk` and the groups keep their full values as arguments of the function.
Groups that cannot matter are none: all of them are kept, or (without bias) as many as there are slots, since
the best experts then lie in the best groups.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from verdict.errors import ShapeError
from verdict.graph import Shape
from verdict.ops import numbers
from verdict.ops.casts import CAST
from verdict.ops.rule import Array, Atom, Attributes, Axes, Law, OpRule, Scale
from verdict.ops.shapes import arity, filled, is_integer, is_number, known, make_axes
from verdict.ops.softmax import softmax
from verdict.ops.types import and_positions
from verdict.outcome import Assumption

ATTRIBUTES = ("score_func", "n_groups", "topk_groups", "topk", "route_scale", "slots")
CHOICE = Assumption(
    "top-k-uninterpreted",
    "which experts a token is sent to, and the order of a row, is one unknown function of its scores, the same on both "
    "sides; equal scores are told apart in the same way by all that puts rows in order (topk, sort, median, kthvalue), "
    "which torch leaves open",
)


class _Routing(NamedTuple):
    hits: Array
    scores: Array
    found: Array


def _axes(shapes: Sequence[Shape], attrs: Attributes) -> Axes:
    known("gate", attrs, ATTRIBUTES)
    arity("gate", shapes, 2, 3)
    filled("gate", shapes)
    x, w, *bias = shapes
    if len(x) != 2 or len(w) != 2:
        raise ShapeError(f"gate: x {x} and w {w} must have two dimensions")
    if x[1] != w[1]:
        raise ShapeError(f"gate: x has {x[1]} features, w expects {w[1]}")
    if bias and bias[0] != (w[0],):
        raise ShapeError(f"gate: w scores {w[0]} experts, the bias has shape {bias[0]}")
    _check_choice(w[0], bool(bias), attrs)
    atoms = (
        Atom("t", x[0]),
        Atom("i", x[1], Law.WHOLE, 2),
        Atom("e", w[0], Law.WHOLE, 2),
        Atom("k", attrs.get("slots", attrs["topk"]), Law.WHOLE, 2),
    )
    inputs = ((("t",), ("i",)), (("e",), ("i",)), (("e",),))[: len(shapes)]
    return make_axes(atoms, inputs, ((("t",), ("k",)),) * 2)


def _check_choice(experts: int, biased: bool, attrs: Attributes) -> None:
    if attrs.get("score_func") not in {"sigmoid", "softmax"}:
        raise ShapeError(f"gate: score_func is {attrs.get('score_func')}, it must be 'sigmoid' or 'softmax'")
    if not is_number(attrs.get("route_scale", 1)):
        raise ShapeError(f"gate: route_scale is {attrs['route_scale']}, it must be a number")
    counts = {name: attrs.get(name, 1) for name in ("n_groups", "topk_groups", "slots")} | {"topk": attrs.get("topk")}
    for name, count in counts.items():
        if not is_integer(count) or count < 1:
            raise ShapeError(f"gate: {name} is {count}, it must be a number above 0")
    groups = int(counts["n_groups"])
    kept = int(counts["topk_groups"]) if groups > 1 else 1
    if experts % groups or (biased and groups > 1 and experts < 2 * groups):
        raise ShapeError(f"gate: {experts} experts do not make {groups} groups")
    if kept > groups:
        raise ShapeError(f"gate: topk_groups is {kept}, there are {groups} groups")
    if attrs["topk"] > experts // groups * kept:
        raise ShapeError(f"gate: topk is {attrs['topk']}, there are {experts // groups * kept} experts to choose from")


def _groups(biased: bool, attrs: Attributes) -> tuple[int, int]:
    """The number of groups and of those that are kept; (1, 1) where the groups cannot matter."""
    groups, kept = attrs.get("n_groups", 1), attrs.get("topk_groups", 1)
    irrelevant = groups in (1, kept) or (not biased and attrs["topk"] <= kept)
    return (1, 1) if irrelevant else (groups, kept)


def _order(rows: Array, groups: int, kept: int, best: int) -> Array:
    """Of each row the experts, first choice first, in the place of those that may not be chosen -1, behind the others.

    best: how many experts tell how good a group is. At reduced sizes a row may be shorter than its groups; then each
    expert is a group.
    """
    order = numbers.descending(rows)
    if kept == groups:
        return order
    experts = rows.shape[1]
    size = max(1, experts // groups)
    grouped = (np.sort(rows[:, start : start + size], axis=1)[:, -best:] for start in range(0, experts, size))
    good = numbers.descending(np.stack([np.sum(group, axis=1) for group in grouped], axis=1))[:, :kept]
    banned = ~(order[:, :, None] // size == good[:, None, :]).any(axis=2)
    return np.take_along_axis(np.where(banned, -1, order), np.argsort(banned, axis=1, kind="stable"), axis=1)


def _route(inputs: Sequence[Array], attrs: Attributes) -> _Routing:
    x, w, *bias = inputs
    logits = numbers.matmul(x, w.T)
    scores = numbers.sigmoid(logits) if attrs["score_func"] == "sigmoid" else softmax(logits, 1)
    judged = np.asarray(scores + bias[0]) if bias else logits
    groups, kept = _groups(bool(bias), attrs)
    best = 2 if bias else 1
    slots = attrs.get("slots", attrs["topk"])
    name = "gate_choice" if groups == 1 or not bias else "gate_choice_by_two"
    hits = numbers.chosen(judged, slots, lambda rows: _order(rows, groups, kept, best), name, (groups, kept))
    return _Routing(hits, scores, numbers.matmul(hits, scores[:, :, None])[:, :, 0])


def _forward(inputs: Sequence[Array], attrs: Attributes) -> tuple[Array, ...]:
    routing = _route(inputs, attrs)
    weights = routing.found
    if attrs["score_func"] == "sigmoid":
        weights = numbers.divide(weights, numbers.total(weights, (1,)))
    indices = numbers.matmul(routing.hits, np.arange(len(inputs[1])))
    scale = numbers.scalar(weights, attrs.get("route_scale", 1))
    return np.asarray(weights * scale), indices if numbers.of_objects(indices) else indices.astype(np.int64)


def _gradient(inputs: Sequence[Array], grads: Sequence[Array], attrs: Attributes) -> tuple[Array | None, ...]:
    x, w, *bias = inputs
    routing = _route(inputs, attrs)
    found, scores = routing.found, routing.scores
    dfound = np.asarray(grads[0] * numbers.scalar(grads[0], attrs.get("route_scale", 1)))
    sigmoid = attrs["score_func"] == "sigmoid"
    if sigmoid:
        total = numbers.total(found, (1,))
        pull = numbers.divide(numbers.total(np.asarray(dfound * found), (1,)), np.asarray(total * total))
        dfound = np.asarray(numbers.divide(dfound, total) - pull)
    dscores = numbers.matmul(dfound[:, None, :], routing.hits)[:, 0, :]
    if sigmoid:
        dlogits = np.asarray(dscores * scores * (1 - scores))
    else:
        dlogits = np.asarray(scores * (dscores - numbers.total(np.asarray(scores * dscores), (1,))))
    return numbers.matmul(dlogits, w), numbers.matmul(dlogits.T, x), *(None for _ in bias)


def _reduce(attrs: Attributes, scale: Scale) -> Attributes:
    return {**attrs, "slots": scale.sizes.get("k", 1)}


RULES = (
    OpRule(
        "gate",
        _axes,
        _forward,
        _gradient,
        reduce=_reduce,
        assumptions=(CHOICE, CAST),
        keeps=frozenset({"e", "k"}),
        attributes=ATTRIBUTES,
        formula="weights, indices of the topk best experts of each token, by sigmoid or softmax of x w^T",
        source="the Gate of DeepSeek-V3's inference code (model.py)",
        types=and_positions,
    ),
)
