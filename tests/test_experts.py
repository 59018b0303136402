"""Mixtures of experts cut by experts: the right plan is proved, and each small change of it refuted."""

import pytest

from tests.builders import BACKWARD, Builder, answer, ask, codes, declare, rewrite_where, with_attrs
from verdict.graph import ABSENT, ACCUMULATOR, GRADIENT, INPUT, WEIGHT

pytestmark = pytest.mark.usefixtures("shared_proofs")

TOKENS, FEATURES, EXPERTS, HIDDEN = 8, 6, 12, 10
CHOICE = {"score_func": "sigmoid", "n_groups": 4, "topk_groups": 2, "topk": 3, "route_scale": 2.5}
START, END = "local_expert_start", "local_expert_end"


def routed(ep=1, dp=1, nm=1, cuts=None, summed=("y", "weights", "x"), **choice):
    """loss = sum(experts of x * scale); each rank of ep holds the experts between two cuts.

    summed: which of the output and the gradients (of the routing weights, of x) are all-reduced.
    """
    b, rows, group = Builder(ep, dp, nm), TOKENS // (dp * nm), tuple(range(ep))
    cuts = cuts or [rank * EXPERTS // ep for rank in range(ep + 1)]
    choice = CHOICE | choice
    slots = (rows, choice["topk"])

    def total(device, what, tensor, like, phase):
        if ep == 1 or what not in summed:
            return tensor
        return b.op(device, "all_reduce", [tensor], [like()], phase, ranks=group, reduce="sum")

    for d in range(ep):
        held = (cuts[d], cuts[d + 1])
        x, w = b.tensor("x", (rows, FEATURES), INPUT), b.tensor("gate", (EXPERTS, FEATURES), WEIGHT)
        scale = b.tensor("scale", (FEATURES,), WEIGHT)
        inner, outer = (EXPERTS, HIDDEN, FEATURES), (EXPERTS, FEATURES, HIDDEN)
        shapes = {"w1": inner, "w3": inner, "w2": outer}
        ws = [b.tensor(n, s, WEIGHT, (held, *((0, k) for k in s[1:]))) for n, s in shapes.items()]
        b.op(d, "dataloader", [], [x])
        xs = b.op(d, "mul", [x, scale], [b.tensor("xs", (rows, FEATURES))])
        picked = [b.tensor("weights", slots), b.tensor("indices", slots, dtype="int64")]
        b.op(d, "gate", [xs, w], picked, **choice)
        read, attrs = [xs, picked[1], picked[0], *ws], {"n_routed_experts": EXPERTS, START: held[0], END: held[1]}
        y = b.op(d, "moe_gmm", read, [b.tensor("y", (rows, FEATURES))], **attrs)
        y = total(d, "y", y, lambda: b.tensor("y", (rows, FEATURES)), "forward")
        b.loss(d, b.op(d, "sum", [y], [b.tensor("loss", (1,))]))
        dy = b.op(d, "sum.grad", [b.seed(), y], [b.tensor("y.grad", (rows, FEATURES), GRADIENT)], BACKWARD)
        one = b.tensor("xs.grad.experts", (rows, FEATURES), GRADIENT)
        dweights = b.tensor("weights.grad", slots, GRADIENT)
        local = [b.tensor(f"{n}.grad", s, ACCUMULATOR, (held, *((0, k) for k in s[1:]))) for n, s in shapes.items()]
        b.op(d, "moe_gmm.grad", [dy, *read], [one, ABSENT, dweights, *local], BACKWARD, **attrs)
        one = total(d, "x", one, lambda: b.tensor("xs.grad.experts", (rows, FEATURES), GRADIENT), BACKWARD)
        dweights = total(d, "weights", dweights, lambda: b.tensor("weights.grad", slots, GRADIENT), BACKWARD)
        two = b.tensor("xs.grad.gate", (rows, FEATURES), GRADIENT)
        dw = b.tensor("gate.grad", (EXPERTS, FEATURES), ACCUMULATOR)
        b.op(d, "gate.grad", [dweights, ABSENT, xs, w], [two, dw], BACKWARD, **choice)
        dxs = b.op(d, "accumulate", [one, two], [b.tensor("xs.grad", (rows, FEATURES), GRADIENT)], BACKWARD)
        dscale = b.tensor("scale.grad", (FEATURES,), ACCUMULATOR)
        b.op(d, "mul.grad", [dxs, x, scale], [ABSENT, dscale], BACKWARD)
        for weight, gradient in zip((*ws, w, scale), (*local, dw, dscale), strict=True):
            declare(b, d, weight, gradient)
    return b.plan()


SINGLE = routed()
RIGHT = routed(3, dp=2, nm=2)


def _with(plan, op, **attrs):
    """The plan with other attributes of one node on device 1."""
    return rewrite_where(plan, op, lambda node: with_attrs(node, **attrs), device=1)


@pytest.mark.parametrize(
    "sizes", [{"dp": 2}, {"ep": 2}, {"ep": 3, "dp": 2, "nm": 2}, {"ep": 3, "cuts": [0, 2, 7, 12]}], ids=str
)
def test_experts_cut_in_ranges_add_up(sizes):
    report = ask(SINGLE, routed(**sizes))
    assert report.verdict.name == "PROVED", report.findings or report.open
    assert "top-k-uninterpreted" in {assumption.name for assumption in report.assumptions}


@pytest.mark.parametrize("op", ["moe_gmm", "moe_gmm.grad"])
@pytest.mark.parametrize("shift", [-1, 1, -4])
def test_a_shifted_range_is_refuted(op, shift):
    report = ask(SINGLE, _with(RIGHT, op, **{START: 4 + shift, END: 8 + shift}))
    assert (report.verdict.name, codes(report)) == ("REFUTED", {"not-equivalent"})
    assert report.findings[0].values


def test_a_range_that_is_not_that_of_the_weights_is_refuted_at_the_door():
    assert "shape-mismatch" in codes(ask(SINGLE, _with(RIGHT, "moe_gmm", **{END: 7})))


@pytest.mark.parametrize(
    "choice", [{"topk_groups": 3}, {"n_groups": 2}, {"route_scale": 1.0}, {"score_func": "softmax"}], ids=str
)
@pytest.mark.parametrize("op", ["gate", "gate.grad"])
def test_another_choice_is_refuted(op, choice):
    assert answer(SINGLE, _with(RIGHT, op, **choice)) == "REFUTED"


def test_groups_that_cannot_matter_do_not():
    """With as many groups as slots the best experts lie in the best groups; with all groups nothing is left out."""
    for same in ({"topk": 2}, {"topk_groups": 4}):
        plain = routed(**same | {"n_groups": 1, "topk_groups": 1})
        assert answer(routed(**same), plain) == "PROVED"
    assert answer(routed(topk=3), routed(topk=3, n_groups=1, topk_groups=1)) == "REFUTED"


@pytest.mark.parametrize("left", [("weights", "x"), ("y", "x"), ("y", "weights")], ids=str)
def test_a_sum_over_the_ranks_that_is_left_out_is_refuted(left):
    assert answer(SINGLE, routed(3, summed=left)) == "REFUTED"


def test_a_router_without_gradient_is_refuted():
    zero = rewrite_where(RIGHT, "gate.grad", lambda node: node._replace(inputs=(ABSENT, *node.inputs[1:])), device=1)
    report = ask(SINGLE, zero)
    assert report.verdict.name == "REFUTED"
    assert any("gate" in finding.where for finding in report.findings)


def test_experts_that_two_ranks_hold_are_counted_twice():
    assert answer(SINGLE, routed(2, cuts=[0, 6, 12])) == "PROVED"
    twice = routed(2, cuts=[0, 6, 12])
    again = rewrite_where(twice, "moe_gmm", lambda node: with_attrs(node, **{START: 0, END: 6}), device=1)
    assert answer(SINGLE, again) == "REFUTED"
