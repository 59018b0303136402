"""Nodes of the plan format's own operators: shapes, types and attributes that fit each other, drawn at random."""

import math
import random
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

Shape = tuple[int, ...]
UNARY = (
    *("float", "to", "identity", "contiguous", "neg", "exp", "log", "abs", "sqrt", "rsqrt"),
    *("sigmoid", "tanh", "silu", "relu", "gelu"),
)
MOVES = (*("view", "transpose", "multiref", "concatenate", "split", "narrow", "pad", "select_blocks", "accumulate"),)
FLOAT, IDS, COMPLEX = "float32", "int64", "complex64"


class Case(NamedTuple):
    """One node. inputs: (shape, type) of each."""

    op: str
    inputs: tuple[tuple[Shape, str], ...]
    attrs: Mapping[str, Any]


def _floats(*shapes: Shape) -> tuple[tuple[Shape, str], ...]:
    return tuple((shape, FLOAT) for shape in shapes)


def _shape(draw: random.Random, low: int = 1, high: int = 3) -> Shape:
    return tuple(draw.choice((1, 2, 3, 4, 6)) for _ in range(draw.randint(low, high)))


def _unary(draw: random.Random) -> Case:
    op = draw.choice(UNARY)
    return Case(op, _floats(_shape(draw, 0)), {})


def _pow(draw: random.Random) -> Case:
    return Case("pow", _floats(_shape(draw)), {"exponent": draw.choice((2, 3, 0.5, -1, 1, 0, 2.5))})


def _binary(draw: random.Random) -> Case:
    op, shape = draw.choice(["add", "sub", "mul", "div"]), _shape(draw)
    attrs: dict[str, Any] = {}
    if draw.random() < 0.5:
        other = draw.choice((shape, shape[-1:], tuple(draw.choice((n, 1)) for n in shape), (1,)))
        inputs = _floats(shape, other)
    else:
        inputs = _floats(shape)
        attrs = {"other": draw.choice((2, 0.5, -3, 1, 1e-5))}
        if draw.random() < 0.4:
            attrs["reflected"] = True
    if op in ("add", "sub") and draw.random() < 0.5:
        attrs["alpha"] = draw.choice((2, -1, 0.5))
    return Case(op, inputs, attrs)


def _reduction(draw: random.Random) -> Case:
    op, shape = draw.choice(["sum", "mean", "amax", "logsumexp", "softmax", "log_softmax"]), _shape(draw)
    dim = draw.randrange(-len(shape), len(shape))
    if op in ("softmax", "log_softmax"):
        return Case(op, _floats(shape), {"dim": dim})
    attrs: dict[str, Any] = {"dim": (dim,) if op != "logsumexp" else dim}
    if op != "logsumexp" and draw.random() < 0.3:
        attrs["dim"] = None
    if draw.random() < 0.5:
        attrs["keepdim"] = True
    if op == "mean" and draw.random() < 0.4:
        attrs["count"] = draw.choice((1, 2, 12, math.prod(shape)))
    return Case(op, _floats(shape), attrs)


def _contraction(draw: random.Random) -> Case:
    b, m, k, n = (draw.choice((1, 2, 3, 4)) for _ in range(4))
    if draw.random() < 0.5:
        bias = ((n,),) if draw.random() < 0.5 else ()
        return Case("linear", _floats((b, m, k), (n, k), *bias), {})
    return Case("matmul", _floats(*draw.choice((((b, m, k), (b, k, n)), ((m, k), (k, n)), ((b, m, k), (k, n))))), {})


def _moved(draw: random.Random) -> Case:
    shape = _shape(draw, 2, 3)
    dim = draw.randrange(len(shape))
    size = shape[dim]
    op = draw.choice(MOVES)
    match op:
        case "view":
            return Case(
                op, _floats(shape), {"size": draw.choice(((-1,), (math.prod(shape),), (*shape, 1), shape[::-1]))}
            )
        case "transpose":
            return Case(op, _floats(shape), {"dim0": dim, "dim1": draw.randrange(-len(shape), len(shape))})
        case "multiref":
            return Case(op, _floats(shape), {"times": draw.choice((1, 2, 3))})
        case "concatenate" | "accumulate":
            count = draw.choice((1, 2, 3))
            return Case(op, _floats(*(shape,) * count), {"dim": dim} if op == "concatenate" else {})
        case "split":
            first = draw.randint(1, size)
            return Case(op, _floats(shape), {"dim": dim, "sizes": (first, size - first) if first < size else (size,)})
        case "narrow":
            start = draw.randrange(size)
            return Case(op, _floats(shape), {"dim": dim, "start": start, "length": draw.randint(1, size - start)})
        case "pad":
            return Case(op, _floats(shape), {"dim": dim, "before": draw.randint(0, 3), "after": draw.randint(0, 3)})
        case _:
            blocks = draw.choice([n for n in (1, 2, 3, size) if size % n == 0])
            index = tuple(draw.randrange(blocks) for _ in range(draw.choice((1, 2, blocks))))
            return Case("select_blocks", _floats(shape), {"dim": dim, "blocks": blocks, "index": index})


def _bounded(draw: random.Random) -> Case:
    shape = _shape(draw)
    if draw.random() < 0.4:
        return Case(draw.choice(("maximum", "minimum")), _floats(shape, draw.choice((shape, shape[-1:]))), {})
    bounds = draw.choice(({"min": -0.5}, {"max": 0.25}, {"min": -0.5, "max": 0.25}, {"min": 0, "max": 1}))
    return Case("clamp", _floats(shape), bounds)


def _lookup(draw: random.Random) -> Case:
    ids, rows = _shape(draw, 1, 2), draw.choice((2, 4, 6))
    start = draw.choice((0, 0, 2, 6))
    span = {"start": start, "stop": start + rows} if start or draw.random() < 0.3 else {}
    match draw.choice(("embedding", "one_hot", "take_ids")):
        case "embedding":
            more = {"padding_idx": draw.randrange(rows)} if draw.random() < 0.4 else {}
            return Case("embedding", ((ids, IDS), ((rows, 3), FLOAT)), {**span, **more})
        case "one_hot":
            return Case("one_hot", ((ids, IDS),), {"start": start, "stop": start + rows})
        case _:
            return Case("take_ids", (((*ids, rows), FLOAT), (ids, IDS)), span)


def _mask(draw: random.Random) -> Case:
    size = draw.choice((2, 4, 6))
    if draw.random() < 0.5:
        attrs = {"start_pos": draw.randrange(3)} if draw.random() < 0.6 else {}
        return Case("create_mask", (((2, size), IDS), ((2, size, 3), FLOAT)), attrs)
    return Case("apply_mask", _floats((2, 3, size, size), (1, 1, size, size)), {})


def _cross_entropy(draw: random.Random) -> Case:
    ids, classes = _shape(draw, 1, 2), draw.choice((2, 4, 6))
    attrs: dict[str, Any] = {"reduction": draw.choice(("none", "sum", "mean"))}
    if draw.random() < 0.5:
        attrs["label_smoothing"] = draw.choice((0.1, 0.5))
    if draw.random() < 0.5:
        attrs["ignore_index"] = draw.choice((0, 1, -100))
    return Case("cross_entropy", (((*ids, classes), FLOAT), (ids, IDS)), attrs)


def _normalised(draw: random.Random) -> Case:
    shape = _shape(draw, 2, 3)
    last = draw.choice((1, len(shape) - 1))
    along = shape[-last:]
    more: dict[str, Any] = {"eps": draw.choice((1e-5, 1e-3, 0.1))} if draw.random() < 0.7 else {}
    if draw.random() < 0.2:
        more["count"] = math.prod(along) * 2
    return Case("layernorm", _floats(shape, along, along), {"normalized_shape": along, **more})


def _large(draw: random.Random) -> Case:
    """Operators that are several in one."""
    t, i, o, h = (draw.choice((2, 3, 4)) for _ in range(4))
    match draw.choice(("rotary", "gate", "moe", "attention", "feedforward")):
        case "rotary":
            inputs = (((2, t, h, 2 * i), FLOAT), ((2, t, 1, 2 * i), FLOAT), ((t, i), COMPLEX))
            return Case("apply_rotary_emb", inputs, {})
        case "gate":
            biased = draw.random() < 0.4
            attrs = {"score_func": draw.choice(("sigmoid", "softmax")), "topk": draw.choice((1, 2, 3))}
            if draw.random() < 0.6:
                attrs |= {"n_groups": 4, "topk_groups": draw.choice((2, 3))}
            if draw.random() < 0.5:
                attrs["route_scale"] = 2.5
            return Case("gate", _floats((t, i), (8, i), *(((8,),) if biased else ())), attrs)
        case "moe":
            slots, start, count = draw.choice((1, 2)), draw.choice((0, 2)), draw.choice((2, 4))
            attrs = {"n_routed_experts": 8, "local_expert_start": start, "local_expert_end": start + count}
            weights = _floats((t, slots), (count, h, i), (count, h, i), (count, o, h))
            return Case("moe_gmm", (((t, i), FLOAT), ((t, slots), IDS), *weights), attrs)
        case "attention":
            d = draw.choice((1, 2))
            attrs = {
                "h": h,
                "scale": draw.choice((0.5, 1)),
                "dropout_p": draw.choice((0, 0.25)),
                "mask": draw.random() < 0.5,
            }
            return Case("self_attention", _floats((t, 2, i), (3 * h * d, i), (3 * h * d,), (o, h * d)), attrs)
        case _:
            attrs = {"dropout": draw.choice((0, 0.25)), "is_training": draw.random() < 0.7}
            return Case("feedforward", _floats((2, t, i), (h, i), (h,), (o, h)), attrs)


def _dropped(draw: random.Random) -> Case:
    shape = _shape(draw, 1, 2)
    if draw.random() < 0.4:
        return Case("dropout", _floats(shape), {"p": draw.choice((0.1, 0.5)), "training": draw.random() < 0.7})
    offset = tuple(draw.randrange(4) for _ in shape)
    return Case("keyed_dropout", _floats(shape), {"p": 0.25, "key": draw.randrange(5), "offset": offset})


def _updated(draw: random.Random) -> Case:
    shape = _shape(draw, 1, 2)
    if draw.random() < 0.4:
        momentum = draw.random() < 0.6
        attrs: dict[str, Any] = {"lr": 0.1, "weight_decay": draw.choice((0, 0.01))}
        if momentum:
            attrs |= {"momentum": 0.9, "dampening": draw.choice((0, 0.5)), "nesterov": draw.random() < 0.4}
        return Case("sgd", _floats(*(shape,) * (3 if momentum else 2)), attrs)
    attrs = {"lr": 0.01, "step": draw.choice((1, 2, 10)), "weight_decay": draw.choice((0, 0.1))}
    if draw.random() < 0.5:
        attrs |= {"beta1": 0.8, "beta2": 0.99, "eps": draw.choice((1e-8, 1e-3))}
    return Case(draw.choice(("adam", "adamw")), _floats(*(shape,) * 4), attrs)


MAKERS: tuple[Callable[[random.Random], Case], ...] = (
    _unary, _pow, _binary, _binary, _reduction, _reduction, _contraction, _moved, _moved, _bounded, _lookup, _mask,
    _cross_entropy, _normalised, _large, _large, _dropped, _updated,
)  # fmt: skip


def own_case(draw: random.Random) -> Case:
    """A node of an own operator."""
    return draw.choice(MAKERS)(draw)
