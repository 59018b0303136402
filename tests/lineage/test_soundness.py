"""Plans that once were, or could be, taken for right although they are not, each beside its right twin."""

from dataclasses import replace

import pytest

from tests.builders import BACKWARD, FORWARD, ONCE, Builder, answer, ask, codes, mlp, rewrite_where, walked, with_attrs
from tests.plans import ulysses
from verdict.graph import ABSENT, ACCUMULATOR, GRADIENT, INPUT, WEIGHT, Call, Logical, Node, Tensor


def square(tp=1, reduced=True):
    """loss = sum((x w^T)^2), the contraction split over tp: the square of a part is no part of the square."""
    b = Builder(tp)
    for d in range(tp):
        cut = (d * 6 // tp, (d + 1) * 6 // tp)
        x, w = b.tensor("x", (4, 6), INPUT, ((0, 4), cut)), b.tensor("w", (5, 6), WEIGHT, ((0, 5), cut))
        b.op(d, "dataloader", [], [x])
        y = b.op(d, "linear", [x, w], [b.tensor("y", (4, 5))])
        if tp > 1 and reduced:
            y = b.op(d, "all_reduce", [y], [b.tensor("y", (4, 5))], ranks=tuple(range(tp)), reduce="sum")
        q = b.op(d, "mul", [y, y], [b.tensor("q", (4, 5))])
        b.loss(d, b.op(d, "sum", [q], [b.tensor("loss", (1,))]))
        dq = b.op(d, "sum.grad", [b.seed(), q], [b.tensor("q.grad", (4, 5), GRADIENT)], BACKWARD)
        both = [b.tensor(f"y{k}.grad", (4, 5), GRADIENT) for k in (0, 1)]
        b.op(d, "mul.grad", [dq, y, y], both, BACKWARD)
        dy = b.op(d, "accumulate", both, [b.tensor("y.grad", (4, 5), GRADIENT)], BACKWARD)
        dw = b.tensor("w.grad", (5, 6), ACCUMULATOR, ((0, 5), cut))
        b.op(d, "linear.grad", [dy, x, w], [ABSENT, dw], BACKWARD)
        b.gradient(d, dw, w)
    return b.plan()


def test_the_square_of_a_part_is_no_part_of_the_square():
    assert answer(square(), square(2)) == "PROVED"
    assert answer(square(), square(2, reduced=False)) == "REFUTED"


def weighted(target="t"):
    """loss = sum(x * w * t), of two inputs."""
    b = Builder()
    x, t, w = b.tensor("x", (4, 6), INPUT), b.tensor(target, (4, 6), INPUT), b.tensor("w", (6,), WEIGHT)
    b.op(0, "dataloader", [], [x])
    b.op(0, "dataloader", [], [t])
    y = b.op(0, "mul", [x, w], [b.tensor("y", (4, 6))])
    e = b.op(0, "mul", [y, t], [b.tensor("e", (4, 6))])
    b.loss(0, b.op(0, "sum", [e], [b.tensor("loss", (1,))]))
    de = b.op(0, "sum.grad", [b.seed(), e], [b.tensor("e.grad", (4, 6), GRADIENT)], BACKWARD)
    dy = b.op(0, "mul.grad", [de, y, t], [b.tensor("y.grad", (4, 6), GRADIENT), ABSENT], BACKWARD)
    dw = b.tensor("w.grad", (6,), ACCUMULATOR)
    b.op(0, "mul.grad", [dy, x, w], [ABSENT, dw], BACKWARD)
    b.gradient(0, dw, w)
    return b.plan()


def test_an_input_without_a_partner_leaves_the_question_open():
    assert answer(weighted(), weighted()) == "PROVED"
    assert answer(weighted(), weighted("u")) == "UNKNOWN"


def test_an_exchange_whose_result_is_no_region_leaves_the_question_open():
    scatter = {"op": "all_to_all", "attrs": (("concat_dim", 0), ("ranks", (0, 1)), ("split_dim", 0))}
    wrong = rewrite_where(mlp(tp=2), "all_reduce", lambda node: node._replace(**scatter))
    assert (walked(mlp(), wrong).verdict.name, answer(mlp(), wrong)) == ("UNKNOWN", "REFUTED")


def scaled(dp=1, early=False, late=False):
    """y = x (2 w)^T. The gradient of 2 w is a sum over the batch; it may be reduced before, or that of w after."""
    b = Builder(1, dp)
    rows, reduce = 8 // dp, {"ranks": (0,), "reduce": "sum", "replicas": True}
    x, w = b.tensor("x", (rows, 6), INPUT), b.tensor("w", (5, 6), WEIGHT)
    b.op(0, "dataloader", [], [x])
    v = b.op(0, "mul", [w], [b.tensor("v", (5, 6))], other=2.0)
    y = b.op(0, "linear", [x, v], [b.tensor("y", (rows, 5))])
    b.loss(0, b.op(0, "sum", [y], [b.tensor("loss", (1,))]))
    dy = b.op(0, "sum.grad", [b.seed(), y], [b.tensor("y.grad", (rows, 5), GRADIENT)], BACKWARD)
    dv = b.tensor("v.grad", (5, 6), GRADIENT)
    b.op(0, "linear.grad", [dy, x, v], [ABSENT, dv], BACKWARD)
    if early:
        dv = b.op(0, "all_reduce", [dv], [b.tensor("v.grad", (5, 6), GRADIENT)], BACKWARD, **reduce)
    dw = b.op(0, "mul.grad", [dv, w], [b.tensor("w.grad", (5, 6), ACCUMULATOR)], BACKWARD, other=2.0)
    if late:
        dw = b.op(0, "all_reduce", [dw], [b.tensor("w.reduced", (5, 6), GRADIENT)], ONCE, **reduce)
    b.gradient(0, dw, w)
    return b.plan()


@pytest.mark.parametrize(
    ("early", "late", "verdict"),
    [(True, False, "PROVED"), (False, True, "PROVED"), (True, True, "REFUTED"), (False, False, "REFUTED")],
)
def test_what_was_summed_over_the_replicas_stays_so_through_linear_nodes(early, late, verdict):
    assert answer(scaled(), scaled(2, early, late)) == verdict


def counted(nm=1, once=False):
    """loss = sum(x * w). The gradient of w adds up in every microbatch, or wrongly once a step."""
    b = Builder(1, 1, nm)
    x, w = b.tensor("x", (8 // nm, 6), INPUT), b.tensor("w", (6,), WEIGHT)
    b.op(0, "dataloader", [], [x])
    y = b.op(0, "mul", [x, w], [b.tensor("y", (8 // nm, 6))])
    b.loss(0, b.op(0, "sum", [y], [b.tensor("loss", (1,))]))
    dy = b.op(0, "sum.grad", [b.seed(), y], [b.tensor("y.grad", (8 // nm, 6), GRADIENT)], BACKWARD)
    total = b.tensor("w.grad", (6,), ACCUMULATOR)
    own = b.tensor("w.step", (6,), GRADIENT) if once else total
    b.op(0, "mul.grad", [dy, x, w], [ABSENT, own], BACKWARD)
    if once:
        b.op(0, "identity", [own], [total], ONCE)
    b.gradient(0, total, w)
    return b.plan()


def test_an_accumulator_that_gets_only_the_last_microbatch_is_not_complete():
    assert answer(counted(), counted(2)) == "PROVED"
    assert answer(counted(), counted(2, once=True)) == "UNKNOWN"


@pytest.mark.parametrize("first", [True, False])
def test_an_accumulator_does_not_forget_what_is_not_known(first):
    plan = mlp()
    logicals = (*plan.logicals, Logical("junk", (6, 12), "float32", "activation", "junk"))
    tensors = (*plan.tensors, Tensor(len(plan.logicals), ((0, 6), (0, 12))))
    names = {logicals[tensor.logical].name: k for k, tensor in enumerate(tensors)}
    junk = (
        Node("tanh", (names["w1"],), (names["junk"],), (), "junk"),
        Node("identity", (names["junk"],), (names["w1.grad"],), (), "junk"),
    )
    wrong = rewrite_where(
        replace(plan, logicals=logicals, tensors=tensors),
        "linear.grad",
        lambda node: (*junk, node) if first else (node, *junk),
        nth=0,
    )
    report = walked(mlp(), wrong)
    assert (report.verdict.name, answer(mlp(), wrong)) == ("UNKNOWN", "REFUTED")
    assert any("the gradient of w1" in item.where for item in report.open)


def test_a_weight_that_is_overwritten_is_not_given_any_more():
    plan = mlp(nm=2)
    scale = next(k for k, t in enumerate(plan.tensors) if plan.logicals[t.logical].name == "scale")
    again = Node("mul", (scale,), (scale,), (("other", 1.0),), "scale")
    wrong = rewrite_where(plan, "relu.grad", lambda node: (node, again))
    assert answer(mlp(), plan) == "PROVED"
    assert "broken-data-flow" in codes(ask(mlp(), wrong))


def crossed_sends(swapped):
    """Two tensors cross from rank 0 to rank 1 in calls of their own; microbatch 1 may send them the other way round."""
    b = Builder(2, 1, 2)
    x = b.tensor("x", (4, 6), INPUT)
    v, w = (b.tensor(name, (6,), WEIGHT) for name in "vw")
    b.op(0, "dataloader", [], [x])
    p = b.op(0, "mul", [x, v], [b.tensor("p", (4, 6))])
    b.op(0, "send", [p], [], peer=1)
    q = b.op(0, "mul", [x, w], [b.tensor("q", (4, 6))], BACKWARD)
    b.op(0, "send", [q], [], BACKWARD, peer=1)
    dp, dq = (b.tensor(f"{name}.grad", (4, 6), GRADIENT) for name in "pq")
    p1, q1 = b.tensor("p", (4, 6)), b.tensor("q", (4, 6))
    b.op(1, "recv", [], [p1], FORWARD, peer=0)
    b.op(1, "recv", [], [q1], FORWARD, peer=0)
    twice = b.op(1, "mul", [q1], [b.tensor("twice", (4, 6))], other=2.0)
    z = b.op(1, "add", [p1, twice], [b.tensor("z", (4, 6))])
    b.loss(1, b.op(1, "sum", [z], [b.tensor("loss", (1,))]))
    dz = b.op(1, "sum.grad", [b.seed(), z], [b.tensor("z.grad", (4, 6), GRADIENT)], BACKWARD)
    dtwice = b.tensor("twice.grad", (4, 6), GRADIENT)
    b.op(1, "add.grad", [dz, p1, twice], [dp, dtwice], BACKWARD)
    b.op(1, "mul.grad", [dtwice, q1], [dq], BACKWARD, other=2.0)
    b.op(1, "send", [dp], [], BACKWARD, peer=0)
    b.op(1, "send", [dq], [], BACKWARD, peer=0)
    return _with_last_segment(b, x, (v, w), swapped)


def _with_last_segment(b, x, weights, swapped):
    """The weights' gradients on rank 0, in a third segment that runs for every microbatch."""
    received = [b.tensor(f"{name}.grad", (4, 6), GRADIENT) for name in "pq"]
    for tensor in received:
        b.op(0, "recv", [], [tensor], ONCE, peer=1)
    for tensor, weight, name in zip(received, weights, "vw", strict=True):
        total = b.tensor(f"{name}.grad", (6,), ACCUMULATOR)
        b.op(0, "mul.grad", [tensor, x, weight], [ABSENT, total], ONCE)
        b.gradient(0, total, weight)
    plan = b.plan()
    first, second, last = 0, 1, 2
    order = [(first, 0), (second, 0), (first, 1), (second, 1), (last, 0), (last, 1)]
    if swapped:
        order[2:4] = [(second, 1), (first, 1)]
    return replace(plan, programs=(tuple(Call(k, m) for k, m in order), plan.programs[1]))


def crossed_single():
    b = Builder()
    x = b.tensor("x", (8, 6), INPUT)
    v, w = (b.tensor(name, (6,), WEIGHT) for name in "vw")
    b.op(0, "dataloader", [], [x])
    p = b.op(0, "mul", [x, v], [b.tensor("p", (8, 6))])
    q = b.op(0, "mul", [x, w], [b.tensor("q", (8, 6))])
    twice = b.op(0, "mul", [q], [b.tensor("twice", (8, 6))], other=2.0)
    z = b.op(0, "add", [p, twice], [b.tensor("z", (8, 6))])
    b.loss(0, b.op(0, "sum", [z], [b.tensor("loss", (1,))]))
    dp, dq, dz, dtwice = (b.tensor(f"{name}.grad", (8, 6), GRADIENT) for name in ("p", "q", "z", "twice"))
    b.op(0, "sum.grad", [b.seed(), z], [dz], BACKWARD)
    b.op(0, "add.grad", [dz, p, twice], [dp, dtwice], BACKWARD)
    b.op(0, "mul.grad", [dtwice, q], [dq], BACKWARD, other=2.0)
    for gradient, weight, name in ((dp, v, "v"), (dq, w, "w")):
        total = b.tensor(f"{name}.grad", (6,), ACCUMULATOR)
        b.op(0, "mul.grad", [gradient, x, weight], [ABSENT, total], BACKWARD)
        b.gradient(0, total, weight)
    return b.plan()


def test_sends_that_swap_places_in_a_later_microbatch_only():
    assert answer(crossed_single(), crossed_sends(swapped=False)) == "PROVED"
    assert "wrong-order" in codes(ask(crossed_single(), crossed_sends(swapped=True)))


def test_a_loss_of_which_only_a_piece_is_held():
    def per_row(held):
        """The loss of every row; `held` rows of it are the declared loss."""
        b = Builder()
        x, w = b.tensor("x", (4, 6), INPUT), b.tensor("w", (6,), WEIGHT)
        b.op(0, "dataloader", [], [x])
        y = b.op(0, "mul", [x, w], [b.tensor("y", (4, 6))])
        rows = b.op(0, "sum", [y], [b.tensor("rows", (4,))], dim=(1,))
        if held < 4:
            rows = b.op(0, "narrow", [rows], [b.tensor("piece", (held,))], dim=0, start=0, length=held)
        b.loss(0, rows)
        dy = b.op(0, "sum.grad", [b.seed((4,)), y], [b.tensor("y.grad", (4, 6), GRADIENT)], BACKWARD, dim=(1,))
        dw = b.tensor("w.grad", (6,), ACCUMULATOR)
        b.op(0, "mul.grad", [dy, x, w], [ABSENT, dw], BACKWARD)
        b.gradient(0, dw, w)
        return b.plan()

    assert answer(per_row(4), per_row(4)) == "PROVED"
    assert answer(per_row(4), per_row(2)) == "REFUTED"


def test_a_reduction_among_replicas_sums_and_a_scattered_one_leaves_a_piece():
    plan = mlp(dp=2)
    right = walked(mlp(), plan)
    odd = rewrite_where(plan, "all_reduce", lambda node: with_attrs(node, reduce="avg"))
    scatter = rewrite_where(
        plan, "all_reduce", lambda node: with_attrs(node._replace(op="reduce_scatter"), dim=0), nth=0
    )
    reports = [right, walked(mlp(), odd), walked(mlp(), scatter)]
    assert [report.verdict.name for report in reports] == ["PROVED", "UNKNOWN", "REFUTED"]
    assert [answer(mlp(), odd), answer(mlp(), scatter)] == ["REFUTED", "REFUTED"]


def flattened(tp=1, batch=2):
    """loss = sum of a linear on (batch, sequence) flattened; tensor ranks split the sequence."""
    b = Builder(tp)
    for d in range(tp):
        cut = (d * 8 // tp, (d + 1) * 8 // tp)
        rows, group = batch * (cut[1] - cut[0]), tuple(range(tp))
        x = b.tensor("x", (batch, 8, 6), INPUT, ((0, batch), cut, (0, 6)))
        w, dw = b.tensor("w", (5, 6), WEIGHT), b.tensor("w.grad", (5, 6), ACCUMULATOR)
        v, y, dy = b.tensor(f"v{d}", (rows, 6)), b.tensor(f"y{d}", (rows, 5)), b.tensor(f"dy{d}", (rows, 5), GRADIENT)
        b.op(d, "dataloader", [], [x])
        b.op(d, "linear", [b.op(d, "view", [x], [v], size=(rows, 6)), w], [y])
        loss = b.op(d, "sum", [y], [b.tensor("loss", (1,))])
        b.op(d, "sum.grad", [b.seed(), y], [dy], BACKWARD)
        b.op(d, "linear.grad", [dy, v, w], [ABSENT, dw], BACKWARD)
        if tp > 1:
            loss = b.op(d, "all_reduce", [loss], [b.tensor("loss", (1,))], ranks=group)
            dw = b.op(d, "all_reduce", [dw], [b.tensor("w.reduced", (5, 6), GRADIENT)], ONCE, ranks=group)
        b.loss(d, loss)
        b.gradient(d, dw, w)
    return b.plan()


def test_a_share_that_no_region_can_name_is_no_fault():
    assert answer(flattened(batch=1), flattened(2, batch=1)) == "PROVED"
    assert walked(flattened(), flattened(2)).verdict.name == "UNKNOWN"
    assert answer(flattened(), flattened(2)) == "PROVED"


def test_a_stated_region_that_the_right_tensor_does_not_have_is_no_crash():
    """The loss sums a weight instead: rows 8:12 of the weight are no rows of what should be summed."""
    plan = mlp(tp=3, nm=2)
    weights = {s.device: s.nodes[2].inputs[1] for s in plan.segments if s.nodes and s.nodes[0].op == "dataloader"}
    assert plan.tensors[weights[2]].region == ((8, 12), (0, 6))
    wrong = rewrite_where(plan, "sum", lambda node: node._replace(inputs=(weights[2],)), device=2)
    assert answer(mlp(), wrong) == "REFUTED"


def test_attributes_that_make_no_sense_are_a_finding_and_no_crash():
    wrong = rewrite_where(ulysses(tp=2), "transpose.grad", lambda node: with_attrs(node, dim1=4), device=0, nth=0)
    assert "shape-mismatch" in codes(ask(ulysses(), wrong))


def test_an_accumulator_that_adds_itself_to_itself_ends_in_a_finding():
    plan = counted()
    (total,) = (held.tensor for held in plan.gradients)
    again = Node("identity", (total,), (total,), (), "again")
    wrong = rewrite_where(plan, "mul.grad", lambda node: (node, again))
    assert answer(counted(), wrong) == "REFUTED"
