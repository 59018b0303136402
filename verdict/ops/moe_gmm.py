"""moe_gmm: the experts of a mixture-of-experts layer, those that this node holds.

    y[t] = sum over e, k of [indices[t, k] = e] weights[t, k] expert_e(x[t])
    expert_e(x) = w2[e] (silu(w1[e] x) * (w3[e] x))        silu(g) = g sigmoid(g)

x (t, i), indices and weights (t, k), w1 and w3 (e, d, i), w2 (e, o, d), y (t, o). The weights hold the
experts local_expert_start <= e < local_expert_end of n_routed_experts; slots that name any other expert add
nothing here. Indices are arbitrary and may repeat: where they are terms, [id = e] is an indicator. With
c = sum over k of [indices = e] weights, g = w1 x, u = w3 x, a = silu(g) u and da = c w2^T dy,

    dx = w1^T (da u silu'(g)) + w3^T (da silu(g)), summed over e        dweights[t, k] = [.. = e] dy expert_e(x)
    dw1 = (da u silu'(g)) x^T        dw3 = (da silu(g)) x^T        dw2 = c dy a^T        each summed over t

The sums over experts, slots and hidden features d are plain sums, so each can be cut and reduced; the
experts that attributes name are cut points, and no two of them fall together.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from verdict.errors import ShapeError
from verdict.graph import Interval, Shape
from verdict.ops import numbers
from verdict.ops.casts import CAST
from verdict.ops.rule import Array, Atom, Attributes, Axes, Law, OpRule, Scale
from verdict.ops.shapes import arity, filled, is_integer, known, make_axes
from verdict.ops.types import like_first

START, END, COUNT = "local_expert_start", "local_expert_end", "n_routed_experts"
ATTRIBUTES = (COUNT, START, END)


class _Experts(NamedTuple):
    """hits (e, t, k), share (e, t, 1), gate, sigmoid, up, hidden (e, t, d), made (e, t, o)."""

    hits: Array
    share: Array
    gate: Array
    sigmoid: Array
    up: Array
    hidden: Array
    made: Array


def _axes(shapes: Sequence[Shape], attrs: Attributes) -> Axes:
    known("moe_gmm", attrs, ATTRIBUTES)
    arity("moe_gmm", shapes, 6)
    filled("moe_gmm", shapes)
    x, indices, weights, w1, w3, w2 = shapes
    if any(len(shape) != 2 for shape in shapes[:3]) or any(len(shape) != 3 for shape in shapes[3:]):
        raise ShapeError("moe_gmm: x, indices and weights must have two dimensions, w1, w3 and w2 three")
    if indices != weights or indices[0] != x[0]:
        raise ShapeError(f"moe_gmm: indices {indices} and weights {weights} do not fit {x[0]} tokens")
    if w1 != w3 or w1[2] != x[1]:
        raise ShapeError(f"moe_gmm: w1 {w1} and w3 {w3} do not fit tokens of {x[1]} features")
    experts, hidden, features = w1
    if (w2[0], w2[2]) != (experts, hidden):
        raise ShapeError(f"moe_gmm: w2 {w2} does not fit {experts} experts of {hidden} hidden features")
    start, end, count = (attrs.get(name) for name in (START, END, COUNT))
    if not (is_integer(start) and is_integer(end) and is_integer(count)):
        raise ShapeError(f"moe_gmm: {START}, {END} and {COUNT} must be integers, they are {start}, {end}, {count}")
    if not 0 <= int(start or 0) < int(end or 0) <= int(count or 0) or int(end or 0) - int(start or 0) != experts:
        raise ShapeError(f"moe_gmm: {experts} experts are held, {START} and {END} are {start} and {end} of {count}")
    atoms = (
        Atom("t", x[0]),
        Atom("k", indices[1], Law.SUM, 2),
        Atom("e", experts, Law.SUM, 2),
        Atom("d", hidden, Law.SUM, 2),
        Atom("i", features, Law.WHOLE, 2),
        Atom("o", w2[1]),
    )
    slots, inner = (("t",), ("k",)), (("e",), ("d",), ("i",))
    inputs = ((("t",), ("i",)), slots, slots, inner, inner, (("e",), ("o",), ("d",)))
    return make_axes(atoms, inputs, ((("t",), ("o",)),), keep=("e",))


def _run(inputs: Sequence[Array], attrs: Attributes) -> _Experts:
    x, indices, weights, w1, w3, w2 = inputs
    hits = np.stack([numbers.indicator(indices, attrs[START] + row) for row in range(len(w1))])
    gate = numbers.matmul(x, np.swapaxes(w1, 1, 2))
    up = numbers.matmul(x, np.swapaxes(w3, 1, 2))
    sigmoid = numbers.sigmoid(gate)
    hidden = np.asarray(gate * sigmoid * up)
    share = numbers.total(np.asarray(hits * weights), (2,))
    return _Experts(hits, share, gate, sigmoid, up, hidden, numbers.matmul(hidden, np.swapaxes(w2, 1, 2)))


def _forward(inputs: Sequence[Array], attrs: Attributes) -> tuple[Array, ...]:
    run = _run(inputs, attrs)
    return (numbers.total(np.asarray(run.share * run.made), (0,))[0],)


def _gradient(inputs: Sequence[Array], grads: Sequence[Array], attrs: Attributes) -> tuple[Array | None, ...]:
    (x, _, _, w1, w3, w2), (dy,) = inputs, grads
    run = _run(inputs, attrs)
    dmade = np.asarray(run.share * dy)
    dhidden = numbers.matmul(dmade, w2)
    slope = np.asarray(run.sigmoid * (1 + run.gate * (1 - run.sigmoid)))
    dgate = np.asarray(dhidden * run.up * slope)
    dup = np.asarray(dhidden * run.gate * run.sigmoid)
    dx = numbers.total(np.asarray(numbers.matmul(dgate, w1) + numbers.matmul(dup, w3)), (0,))[0]
    worth = numbers.total(np.asarray(run.made * dy), (2,))
    dweights = numbers.total(np.asarray(run.hits * worth), (0,))[0]
    dw1, dw3, dw2 = (
        numbers.matmul(np.swapaxes(left, 1, 2), right)
        for left, right in ((dgate, x), (dup, x), (dmade, run.hidden))
    )
    return dx, None, dweights, dw1, dw3, dw2


def _cuts(attrs: Attributes) -> Mapping[str, tuple[int, ...]]:
    return {"e": (attrs[START], attrs[END])}


def _reduce(attrs: Attributes, scale: Scale) -> Attributes:
    points = scale.points["e"]
    for expert in _cuts(attrs)["e"]:
        if expert not in points:
            raise ShapeError(f"moe_gmm: expert {expert} is none of the experts of the single-device node")
    return {**attrs, START: points[attrs[START]], END: points[attrs[END]]}


def _narrow(attrs: Attributes, atom: str, interval: Interval) -> Attributes:
    if atom != "e":
        return attrs
    return {**attrs, START: attrs[START] + interval[0], END: attrs[START] + interval[1]}


RULES = (
    OpRule(
        "moe_gmm",
        _axes,
        _forward,
        _gradient,
        reduce=_reduce,
        cuts=_cuts,
        narrow=_narrow,
        indices={1: "e"},
        linear=frozenset({2, 4, 5}),
        assumptions=(CAST,),
        rows=("local_expert_start", "local_expert_end"),
        local=frozenset({"local_expert_start", "local_expert_end"}),
        attributes=ATTRIBUTES,
        formula="y[t] = sum over e, k of [indices[t, k] = e] weights[t, k] w2[e] (silu(w1[e] x[t]) * (w3[e] x[t]))",
        source="nnscaler_moe_gmm of nnScaler's example deepseek_coder_v2_lite",
        types=like_first,
    ),
)
