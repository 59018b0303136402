"""Dropout and the operators that contain it, cut in every way that their index axes allow."""

import pytest

from tests.builders import BACKWARD, Builder, answer, ask, codes, declare, rewrite_where, with_attrs
from tests.sampled import sampled
from verdict.graph import ABSENT, ACCUMULATOR, GRADIENT, INPUT, WEIGHT

pytestmark = pytest.mark.usefixtures("shared_proofs")


def dropped(ranks=1, dp=1, nm=1, axis=1, p=0.25):
    """loss = sum(dropout(x * w) * w), cut along the batch or the features."""
    b, rows = Builder(ranks, dp, nm), 8 // (dp * nm)
    for d in range(ranks):
        full = ((0, rows), (0, 6))
        size = full[axis][1]
        cut = (d * size // ranks, (d + 1) * size // ranks)
        region = (cut, full[1]) if axis == 0 else (full[0], cut)
        column = region[1]
        x, w = b.tensor("x", (rows, 6), INPUT, region), b.tensor("w", (6,), WEIGHT, (column,))
        b.op(d, "dataloader", [], [x])
        scaled = b.op(d, "mul", [x, w], [b.tensor("scaled", (rows, 6), region=region)])
        y = b.op(d, "dropout", [scaled], [b.tensor("y", (rows, 6), region=region)], p=p, training=True)
        z = b.op(d, "mul", [y, w], [b.tensor("z", (rows, 6), region=region)])
        loss = b.op(d, "sum", [z], [b.tensor("loss", (1,))])
        group = tuple(range(ranks))
        if ranks > 1:
            loss = b.op(d, "all_reduce", [loss], [b.tensor("loss", (1,))], ranks=group, reduce="sum")
        b.loss(d, loss)
        grads = [b.tensor(name, (rows, 6), GRADIENT, region) for name in ("z.grad", "y.grad", "scaled.grad")]
        b.op(d, "sum.grad", [b.seed(), z], [grads[0]], BACKWARD)
        parts = [b.tensor(f"w.grad.{k}", (6,), GRADIENT, (column,)) for k in (1, 2)]
        b.op(d, "mul.grad", [grads[0], y, w], [grads[1], parts[0]], BACKWARD)
        b.op(d, "dropout.grad", [grads[1], scaled], [grads[2]], BACKWARD, p=p, training=True)
        b.op(d, "mul.grad", [grads[2], x, w], [ABSENT, parts[1]], BACKWARD)
        made = b.op(d, "accumulate", parts, [b.tensor("w.grad", (6,), ACCUMULATOR, (column,))], BACKWARD)
        if ranks > 1 and axis == 0:
            whole = b.tensor("w.grad.whole", (6,), GRADIENT)
            made = b.op(d, "all_reduce", [made], [whole], "once", ranks=group, reduce="sum")
        declare(b, d, w, made)
    return b.plan()


def composite(op, attrs, shapes, places=(), ranks=1, dp=1, nm=1):
    """loss = sum(op(x * scale, weights)), the weights cut along `places`, one for each (None: not cut)."""
    b = Builder(ranks, dp, nm)
    batch = 1 if op == "self_attention" else 0
    x_shape = tuple(n // (dp * nm) if k == batch else n for k, n in enumerate(shapes[0]))
    out = (*x_shape[:-1], shapes[-1][0])
    group = tuple(range(ranks))

    def cut(shape, place, rank):
        bounds = [(0, n) for n in shape]
        if place is not None:
            bounds[place] = (rank * shape[place] // ranks, (rank + 1) * shape[place] // ranks)
        return tuple(bounds)

    for d in range(ranks):
        x, scale = b.tensor("x", x_shape, INPUT), b.tensor("scale", x_shape[-1:], WEIGHT)
        regions = [cut(s, place, d) for s, place in zip(shapes[1:], places or [None] * 3, strict=True)]
        ws = [b.tensor(f"w{k}", s, WEIGHT, r) for k, (s, r) in enumerate(zip(shapes[1:], regions, strict=True))]
        b.op(d, "dataloader", [], [x])
        xs = b.op(d, "mul", [x, scale], [b.tensor("xs", x_shape)])
        y = b.op(d, op, [xs, *ws], [b.tensor("y", out)], **attrs)
        if ranks > 1:
            y = b.op(d, "all_reduce", [y], [b.tensor("y", out)], ranks=group, reduce="sum")
        b.loss(d, b.op(d, "sum", [y], [b.tensor("loss", (1,))]))
        dy = b.op(d, "sum.grad", [b.seed(), y], [b.tensor("y.grad", out, GRADIENT)], BACKWARD)
        cuts = enumerate(zip(shapes[1:], regions, strict=True))
        local = [b.tensor(f"w{k}.grad", s, ACCUMULATOR, r) for k, (s, r) in cuts]
        dxs = b.tensor("xs.grad", x_shape, GRADIENT)
        b.op(d, f"{op}.grad", [dy, xs, *ws], [dxs, *local], BACKWARD, **attrs)
        if ranks > 1:
            whole = b.tensor("xs.grad", x_shape, GRADIENT)
            dxs = b.op(d, "all_reduce", [dxs], [whole], BACKWARD, ranks=group, reduce="sum")
        dscale = b.tensor("scale.grad", x_shape[-1:], ACCUMULATOR)
        b.op(d, "mul.grad", [dxs, x, scale], [ABSENT, dscale], BACKWARD)
        for weight, gradient in zip((*ws, scale), (*local, dscale), strict=True):
            declare(b, d, weight, gradient)
    return b.plan()


def feedforward(ranks=1, dp=1, nm=1, **attrs):
    shapes = [(8, 5, 6), (12, 6), (12,), (4, 12)]
    return composite("feedforward", {"dropout": 0.25, "is_training": True} | attrs, shapes, (0, 0, 1), ranks, dp, nm)


def attention(ranks=1, dp=1, nm=1, mask=False, **attrs):
    shapes = [(5, 8, 6), (48, 6), (48,), (6, 16)]
    local = {"h": 4 // ranks, "scale": 0.5, "dropout_p": 0.25, "mask": mask} | attrs
    return composite("self_attention", local, shapes, (0, 0, 1), ranks, dp, nm)


@pytest.mark.parametrize(
    "sizes", [{"dp": 2, "nm": 2}, {"ranks": 2}, {"ranks": 2, "axis": 0}, {"ranks": 3, "dp": 2}], ids=str
)
def test_dropout_cut_along_any_axis(sizes):
    report = ask(dropped(), dropped(**sizes))
    assert report.verdict.name == "PROVED", report.findings or report.open
    assert "dropout-state" in {assumption.name for assumption in report.assumptions}
    denied = ask(dropped(), dropped(**sizes), denied={"dropout-state"})
    assert codes(denied) == {"assumption-denied"}


@pytest.mark.parametrize("op", ["dropout", "dropout.grad"])
@pytest.mark.parametrize("attrs", [{"p": 0.5}, {"p": 0}, {"training": False}], ids=str)
def test_another_probability_or_no_training_is_refuted(op, attrs):
    wrong = rewrite_where(dropped(2), op, lambda node: with_attrs(node, **attrs), device=1)
    assert answer(dropped(), wrong) == "REFUTED"


def twice(merged):
    """loss = sum(w (dropout(x) + dropout(x))), or the same with one draw that is used twice."""
    b = Builder()
    x, w = b.tensor("x", (4, 6), INPUT), b.tensor("w", (6,), WEIGHT)
    b.op(0, "dataloader", [], [x])
    one, two = (b.op(0, "dropout", [x], [b.tensor(f"y{k}", (4, 6))], p=0.5, training=True) for k in (1, 2))
    y = b.op(0, "add", [one, one if merged else two], [b.tensor("y", (4, 6))])
    z = b.op(0, "mul", [y, w], [b.tensor("z", (4, 6))])
    b.loss(0, b.op(0, "sum", [z], [b.tensor("loss", (1,))]))
    dz = b.op(0, "sum.grad", [b.seed(), z], [b.tensor("z.grad", (4, 6), GRADIENT)], BACKWARD)
    dw = b.tensor("w.grad", (6,), ACCUMULATOR)
    b.op(0, "mul.grad", [dz, y, w], [ABSENT, dw], BACKWARD)
    b.gradient(0, dw, w)
    return b.plan()


def test_two_draws_for_one_input_are_neither_one_nor_compared():
    assert answer(twice(merged=False), twice(merged=True)) == "UNKNOWN", "it cannot be run, so nothing confirms it"
    assert answer(twice(merged=False), twice(merged=False)) == "UNKNOWN"


@pytest.mark.parametrize("sizes", [{"dp": 2, "nm": 2}, {"ranks": 2}, {"ranks": 4, "dp": 2}], ids=str)
@pytest.mark.parametrize("build", [feedforward, attention, lambda **sizes: attention(mask=True, **sizes)])
def test_composites_cut_by_hidden_features_or_heads(build, sizes):
    report = ask(build(), build(**sizes))
    assert report.verdict.name == "PROVED", report.findings or report.open


@pytest.mark.parametrize(
    "attrs", sampled([{"scale": 0.25}, {"mask": True}, {"h": 4}, {"h": 8}, {"dropout_p": 0.5}, {"h": 1}], 3), ids=str
)
@pytest.mark.parametrize("op", ["self_attention", "self_attention.grad"])
def test_another_attention_is_refuted(op, attrs):
    wrong = rewrite_where(attention(2, dp=2), op, lambda node: with_attrs(node, **attrs), device=1)
    assert answer(attention(), wrong) == "REFUTED"


@pytest.mark.parametrize("attrs", [{"dropout": 0.5}, {"is_training": False}], ids=str)
def test_another_feedforward_is_refuted(attrs):
    wrong = rewrite_where(feedforward(2), "feedforward", lambda node: with_attrs(node, **attrs), device=1)
    assert answer(feedforward(), wrong) == "REFUTED"
