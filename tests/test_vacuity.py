"""What means nothing is reported and never proved: though both plans agree, nothing was compared."""

from dataclasses import replace

import pytest

from tests.builders import ABSENT, BACKWARD, Builder, ask, declare, mlp, rewrite_where
from verdict.graph import ACCUMULATOR, GRADIENT, INPUT, WEIGHT

ROWS, WIDE = 4, 3


def scaled(dp=1, factor=None, unused=False, seeded=True, root=False):
    """loss = sum(f(x * w)) over dp replicas; f multiplies by `factor`, or is 1 / sqrt(that).

    unused: the gradient of a second weight comes from the loss, the loss does not come from the weight. seeded: the
    gradient of the loss is its seed; else an input.
    """
    b = Builder(1, dp, 1)
    shape = (ROWS // dp, WIDE)
    x, w = b.tensor("x", shape, INPUT), b.tensor("w", (WIDE,), WEIGHT)
    labels = b.tensor("labels", shape, INPUT)
    b.op(0, "dataloader", [], [x, labels])
    made = [b.op(0, "mul", [x, w], [b.tensor("xw", shape)])]
    if factor is not None:
        made.append(b.op(0, "mul", [made[-1]], [b.tensor("scaled", shape)], other=factor))
    if root:
        made.append(b.op(0, "rsqrt", [made[-1]], [b.tensor("root", shape)]))
    b.loss(0, b.op(0, "sum", [made[-1]], [b.tensor("loss", (1,))]))
    grad = b.tensor("top.grad", shape, GRADIENT)
    if seeded:
        b.op(0, "sum.grad", [b.seed(), made[-1]], [grad], BACKWARD)
    else:
        b.seed()
        grad = labels
    if root:
        below = b.tensor("root.grad", shape, GRADIENT)
        grad = b.op(0, "rsqrt.grad", [grad, made[-2]], [below], BACKWARD)
    if factor is not None:
        below = b.tensor("scaled.grad", shape, GRADIENT)
        grad = b.op(0, "mul.grad", [grad, made[0]], [below], BACKWARD, other=factor)
    dw = b.tensor("w.grad", (WIDE,), ACCUMULATOR)
    b.op(0, "mul.grad", [grad, x, w], [ABSENT, dw], BACKWARD)
    declare(b, 0, w, dw)
    if unused:
        v, dv = b.tensor("v", (WIDE,), WEIGHT), b.tensor("v.grad", (WIDE,), ACCUMULATOR)
        b.op(0, "mul.grad", [grad, x, v], [ABSENT, dv], BACKWARD)
        declare(b, 0, v, dv)
    return b.plan()


@pytest.mark.parametrize(
    ("odd", "where", "reason"),
    [
        ({"factor": 0}, "loss loss", "zero whatever the values are"),
        ({"factor": 0}, "weight w", "its gradient is zero whatever the values are"),
        ({"factor": 0, "root": True}, "loss loss", "never defined"),
        ({"unused": True}, "weight v", "the loss does not depend on it"),
        ({"seeded": False}, "weight w", "its gradient does not come from the loss"),
    ],
    ids=["zero loss", "zero gradient", "undefined loss", "no influence", "no seed"],
)
@pytest.mark.parametrize("dp", [1, 2])
def test_what_means_nothing_is_reported_and_never_proved(odd, where, reason, dp):
    report = ask(scaled(**odd), scaled(dp, **odd))
    assert (report.verdict.name, report.findings) == ("UNKNOWN", ())
    assert [item for item in report.open if item.where == where and reason in item.reason], report.open


@pytest.mark.parametrize("right", [{}, {"factor": 2}, {"factor": 2, "root": True}], ids=["plain", "scaled", "root"])
def test_their_right_twins_are_proved(right):
    assert ask(scaled(**right), scaled(2, **right)).verdict.name == "PROVED"


def test_a_loss_that_nothing_writes_leaves_nothing_to_compare():
    def silent(plan):
        logicals = [
            logical._replace(kind=ACCUMULATOR) if logical.name == "loss" else logical for logical in plan.logicals
        ]
        return rewrite_where(replace(plan, logicals=tuple(logicals)), "sum", lambda node: None)

    report = ask(silent(mlp()), silent(mlp(dp=2)))
    assert report.verdict.name == "UNKNOWN"
    assert [item for item in report.open if item.where == "loss loss"]


def test_a_weight_that_no_rank_covers_is_refuted():
    parts = mlp(tp=2)
    half = tuple(held for held in parts.gradients if held.device == 0)
    report = ask(mlp(), replace(parts, gradients=half))
    assert report.verdict.name == "REFUTED"
    assert {"weight-not-covered", "gradient-missing"} & {finding.code for finding in report.findings}


def test_gradients_of_what_nothing_is_declared_of_are_no_proof():
    none = replace(mlp(), gradients=())
    report = ask(none, replace(mlp(dp=2), gradients=()))
    assert report.verdict.name == "UNKNOWN"
    assert {item.where for item in report.open} >= {"weight w0", "weight w1", "weight scale"}
