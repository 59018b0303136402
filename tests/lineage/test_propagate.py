"""Right plans of all kinds are proved, and single faults in them are found: the code tells which kind of fault.

Every question is also put with `--exhaustive`, which walks every microbatch and proves every stage: both agree.
"""

from dataclasses import replace

import pytest

from tests.builders import (
    Builder,
    answer,
    ask,
    attrs_of,
    codes,
    mlp,
    rewrite,
    rewrite_where,
    walked,
    with_attrs,
)
from tests.plans import batch_split, delayed, sequence_parallel, sharded, tied, ulysses
from tests.tape import Tape

pytestmark = pytest.mark.usefixtures("shared_proofs")

RIGHT = {
    "alone": (mlp, {}),
    "replicas": (mlp, {"dp": 4}),
    "columns and rows": (mlp, {"tp": 3}),
    "pipeline": (mlp, {"pp": 2}),
    "microbatches": (mlp, {"nm": 4}),
    "all of them": (mlp, {"dp": 2, "tp": 2, "pp": 2, "nm": 2}),
    "sequence parallel": (sequence_parallel, {"tp": 2, "dp": 2}),
    "sequence parallel in microbatches": (sequence_parallel, {"tp": 4, "nm": 2}),
    "heads for sequence": (ulysses, {"tp": 2, "dp": 2}),
    "tied over stages": (tied, {"pp": 2, "tp": 2, "nm": 2}),
    "tied on one device": (tied, {"nm": 2}),
    "vocabulary split": (tied, {"tp": 3}),
    "weights in shards": (sharded, {"tp": 4, "nm": 2}),
    "batch split": (batch_split, {"tp": 2, "dp": 2, "nm": 2}),
    "batch split, mean": (lambda **sizes: batch_split(mean=True, **sizes), {"tp": 2, "dp": 2}),
}


def both(single, parallel):
    """The codes of the findings, after both ways of asking gave one verdict."""
    report, exhaustive = ask(single, parallel), ask(single, parallel, exhaustive=True)
    assert report.verdict == exhaustive.verdict
    assert codes(report) == codes(exhaustive)
    return report.verdict.name, codes(report)


@pytest.mark.parametrize(("make", "sizes"), RIGHT.values(), ids=RIGHT)
def test_right_plans_are_proved(make, sizes):
    assert both(make(), make(**sizes)) == ("PROVED", set())


def in_step(node):
    return not attrs_of(node).get("replicas")


def backward(node):
    return ".grad" in node.name


def silent(node):
    return node._replace(op="identity", attrs=())


def where(chosen, change):
    """`change`, for the nodes that `chosen` chooses."""
    return lambda node: change(node) if chosen(node) else node


def twice(plan, chosen):
    """Every all_reduce that is chosen, run twice in a row, through a new tensor."""
    tensors = list(plan.tensors)

    def again(node):
        tensors.append(tensors[node.outputs[0]])
        between = (len(tensors) - 1,)
        return (node._replace(outputs=between), node._replace(inputs=between))

    changed = rewrite_where(plan, "all_reduce", where(chosen, again))
    return replace(changed, tensors=tuple(tensors))


ALL = {"dp": 2, "tp": 2, "pp": 2, "nm": 2}


def no_forward_reduction():
    return rewrite_where(mlp(**ALL), "all_reduce", where(lambda n: in_step(n) and not backward(n), silent))


def no_backward_reduction():
    return rewrite_where(mlp(**ALL), "all_reduce", where(lambda n: in_step(n) and backward(n), silent))


def forward_reduced_twice():
    return twice(mlp(**ALL), lambda n: not backward(n))


def backward_reduced_twice():
    return twice(mlp(**ALL), lambda n: in_step(n) and backward(n))


def reducer_twice():
    return twice(mlp(**ALL), lambda n: not in_step(n))


def reducer_missing():
    """The local gradients are declared instead."""
    plan = mlp(**ALL)
    source = {n.outputs[0]: n.inputs[0] for s in plan.segments for n in s.nodes if not in_step(n)}
    held = tuple(h._replace(tensor=source[h.tensor]) for h in plan.gradients)
    return replace(rewrite_where(plan, "all_reduce", lambda n: n if in_step(n) else None), gradients=held)


def reducer_in_every_microbatch():
    plan = mlp(dp=2, nm=2)
    ((*calls, once),) = plan.programs
    return replace(plan, programs=((*calls, once._replace(microbatch=0), once._replace(microbatch=1)),))


def group_narrowed_everywhere():
    return rewrite(mlp(tp=2), lambda d, n: with_attrs(n, ranks=(d,)) if n.op == "all_reduce" else n)


def group_narrowed_on_one_rank():
    return rewrite_where(mlp(tp=2), "all_reduce", lambda n: with_attrs(n, ranks=(0,)), device=0, nth=0)


def all_ranks_hold_one_share():
    plan = mlp(tp=2)
    shared = ("w0", "w0.grad")
    region = next(t for t in plan.tensors if plan.logicals[t.logical].name == "w0").region
    tensors = [t._replace(region=region) if plan.logicals[t.logical].name in shared else t for t in plan.tensors]
    return replace(plan, tensors=tuple(tensors))


def activation_of_another_microbatch():
    plan = mlp(nm=2)
    (h,) = [k for k, t in enumerate(plan.tensors) if plan.logicals[t.logical].name == "h"]
    (program,) = plan.programs
    return replace(plan, programs=((*program[:-1], program[-1]._replace(crossed=((h, 0),))),))


def weight_not_declared():
    plan = mlp(**ALL)
    kept = [h for h in plan.gradients if plan.logicals[plan.tensors[h.weight].logical].name != "scale"]
    return replace(plan, gradients=tuple(kept))


def weight_not_declared_on_one_rank():
    plan = mlp(tp=2)
    kept = [h for h in plan.gradients if (plan.logicals[plan.tensors[h.weight].logical].name, h.device) != ("scale", 1)]
    return replace(plan, gradients=tuple(kept))


def loss_not_declared():
    return replace(mlp(**ALL), losses=())


def gradient_added_twice():
    return rewrite_where(mlp(), "mul.grad", lambda n: (n, n))


def gradient_never_added():
    return rewrite_where(mlp(), "mul.grad", lambda n: None)


def another_constant():
    return rewrite_where(mlp(), "relu", lambda n: n._replace(op="mul", attrs=(("other", 0.5),)))


FAULTS = {
    no_forward_reduction: {"missing-reduction"},
    no_backward_reduction: {"missing-reduction"},
    forward_reduced_twice: {"reduced-twice"},
    backward_reduced_twice: {"reduced-twice"},
    reducer_twice: {"reduced-twice"},
    reducer_missing: {"missing-reduction"},
    reducer_in_every_microbatch: {"early-reduction"},
    group_narrowed_everywhere: None,
    group_narrowed_on_one_rank: {"deadlock", "wrong-group"},
    all_ranks_hold_one_share: {"weight-not-covered", "wrong-slice"},
    activation_of_another_microbatch: {"wrong-input"},
    weight_not_declared: {"weight-not-covered", "gradient-missing"},
    weight_not_declared_on_one_rank: {"gradient-missing"},
    loss_not_declared: {"loss-missing"},
    gradient_added_twice: {"reduced-twice"},
    gradient_never_added: {"gradient-missing"},
    another_constant: None,
}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_faults_are_found(fault):
    verdict, found = both(mlp(), fault())
    assert verdict != "PROVED"
    assert FAULTS[fault] is None or FAULTS[fault] & found


def test_gradients_of_gathered_weights_are_summed_over_the_ranks():
    assert both(sharded(), sharded(tp=2, once=False)) == ("REFUTED", {"missing-reduction"})


def test_a_gathered_weight_may_be_called_a_weight():
    plan = sharded(tp=2)
    names = {logical.name: k for k, logical in enumerate(plan.logicals)}
    called = [t._replace(logical=names["w"]) if t.logical == names["w.whole"] else t for t in plan.tensors]
    assert both(sharded(), replace(plan, tensors=tuple(called))) == ("PROVED", set())


def test_tied_weights_need_the_gradients_of_both_uses():
    assert both(tied(), tied(pp=2)) == ("PROVED", set())
    assert both(tied(), tied(pp=2, summed=False)) == ("REFUTED", {"gradient-missing"})


def test_gradients_of_a_norm_on_shards_are_parts_until_they_are_summed():
    assert both(sequence_parallel(), sequence_parallel(tp=2)) == ("PROVED", set())
    assert both(sequence_parallel(), sequence_parallel(tp=2, summed=False)) == ("REFUTED", {"missing-reduction"})


@pytest.mark.parametrize(
    ("op", "attrs", "verdict"),
    [
        ("mul", {"other": 2.0}, "PROVED"),
        ("view", {"size": (4, 6)}, "PROVED"),
        ("relu", {}, "REFUTED"),
        ("add", {"other": 1.0}, "REFUTED"),
        ("softmax", {"dim": 1}, "REFUTED"),
        ("div", {"other": 3.0, "reflected": True}, "REFUTED"),
    ],
)
def test_a_sum_over_a_group_may_wait_behind_linear_nodes_only(op, attrs, verdict):
    assert both(delayed(op, **attrs), delayed(op, 2, **attrs))[0] == verdict


def test_an_untrained_weight_leaves_nothing_to_compare():
    def still(plan):
        """The weight `scale` gets no gradient, on either side."""
        kept = [h for h in plan.gradients if plan.logicals[plan.tensors[h.weight].logical].name != "scale"]
        return rewrite_where(replace(plan, gradients=tuple(kept)), "mul.grad", lambda n: None)

    report = ask(still(mlp()), still(mlp(dp=2)))
    assert (report.verdict.name, report.findings) == ("UNKNOWN", ())
    assert "scale" in report.open[0].where


@pytest.mark.parametrize("sides", [(True, True), (False, True), (True, False)])
def test_an_unknown_operator_is_never_proved(sides):
    plans = [mlp(), mlp(dp=2)]
    for k, unknown in enumerate(sides):
        if unknown:
            plans[k] = rewrite(plans[k], lambda d, n: n._replace(op=n.op.replace("relu", "mystery")))
    assert answer(*plans) == "UNKNOWN"


def test_what_a_recording_could_not_follow_is_open_for_the_reason_that_it_states():
    def lost(op, **attrs):
        return rewrite_where(mlp(dp=2), "all_reduce", lambda n: with_attrs(n._replace(op=op), **attrs))

    why = "memory that two tensors share (train.py:7)"
    assert why in {question.reason for question in walked(mlp(), lost("unmodelled", reason=why)).open}
    assert why not in {question.reason for question in walked(mlp(), lost("mystery", cause=why)).open}
    named = rewrite_where(lost("unmodelled", reason=why), "unmodelled", lambda n: n._replace(name=why))
    assert "what follows from that is not known" in {question.reason for question in walked(mlp(), named).open}


def test_a_mean_of_gradients_has_no_rule():
    wrong = rewrite_where(mlp(dp=2), "all_reduce", lambda n: with_attrs(n, reduce="avg"))
    assert walked(mlp(), wrong).verdict.name == "UNKNOWN"
    assert answer(mlp(), wrong) == "REFUTED"


def test_a_mean_over_the_batch_needs_the_count_of_the_whole_batch():
    def split(sizes, count):
        return rewrite(
            batch_split(mean=True, **sizes), lambda d, n: with_attrs(n, count=count) if "mean" in n.op else n
        )

    single = batch_split(mean=True)
    assert both(single, split({"dp": 2}, 48)) == ("PROVED", set())
    assert both(single, split({"dp": 2}, None))[0] == "REFUTED"
    assert both(single, split({"nm": 2, "tp": 2}, 12))[0] == "REFUTED"


def masked(nm=1):
    """Scores with a causal mask, made from the tokens of each microbatch; every microbatch makes the same."""
    b = Builder(1, 1, nm)
    t = Tape(b, 0, [0])
    rows = 4 // nm
    x = t.input("x", (rows, 4, 4))
    mask = t.op("create_mask", [x, x], "mask", (1, 1, 4, 4))
    y = t.op("linear", [x, t.weight("w", (4, 4))], "y", (rows, 4, 4))
    y = t.op("view", [y], "y4", (rows, 1, 4, 4), size=(rows, 1, 4, 4))
    p = t.op("softmax", [t.op("apply_mask", [y, mask], "m", (rows, 1, 4, 4))], "p", (rows, 1, 4, 4), dim=-1)
    loss = t.op("sum", [t.op("silu", [p], "s", (rows, 1, 4, 4))], "loss", (1,))
    b.loss(0, loss)
    t.declare(t.backward(loss))
    return b.plan(), mask, p


def test_what_all_microbatches_share_may_be_taken_from_another():
    single, _, _ = masked()
    plan, mask, p = masked(nm=2)
    backward_of_1 = plan.programs[0][-1]

    def crossing(tensor):
        return replace(plan, programs=((*plan.programs[0][:-1], backward_of_1._replace(crossed=((tensor, 0),))),))

    assert both(single, plan) == ("PROVED", set())
    assert both(single, crossing(mask)) == ("PROVED", set())
    assert both(single, crossing(p)) == ("REFUTED", {"wrong-input"})


def test_uneven_shards_are_shards():
    """Rank 0 holds 7 rows of the wide weight, rank 1 holds 5; then they overlap, or leave a gap."""

    def uneven(first, second):
        b = Builder(2)
        for device, cut in enumerate((first, second)):
            t = Tape(b, device, range(2))
            x = t.input("x", (4, 6))
            h = t.op("linear", [x, t.weight("up", (12, 6), (cut, (0, 6)))], "h", (4, 12), ((0, 4), cut))
            a = t.op("silu", [h], "a", (4, 12), ((0, 4), cut))
            y = t.total(t.op("linear", [a, t.weight("down", (6, 12), ((0, 6), cut))], "y", (4, 6)))
            loss = t.op("sum", [y], "loss", (1,))
            b.loss(device, loss)
            t.declare(t.backward(loss))
        return b.plan()

    def whole():
        b = Builder()
        t = Tape(b, 0, [0])
        x = t.input("x", (4, 6))
        a = t.op("silu", [t.op("linear", [x, t.weight("up", (12, 6))], "h", (4, 12))], "a", (4, 12))
        loss = t.op("sum", [t.op("linear", [a, t.weight("down", (6, 12))], "y", (4, 6))], "loss", (1,))
        b.loss(0, loss)
        t.declare(t.backward(loss))
        return b.plan()

    assert both(whole(), uneven((0, 7), (7, 12))) == ("PROVED", set())
    assert both(whole(), uneven((0, 7), (6, 12)))[0] == "REFUTED"
    assert both(whole(), uneven((0, 7), (8, 12)))[0] == "REFUTED"


def test_a_loss_from_a_root_that_puts_nothing_in_is_not_known():
    plan = mlp(tp=2)

    def broadcast(root, device):
        def change(node):
            node = node._replace(op="broadcast", attrs=(("ranks", (0, 1)), ("root", root)))
            return node if device == root else node._replace(inputs=())

        return lambda node: change(node) if not backward(node) else node

    partial = plan
    for device in (0, 1):
        partial = rewrite_where(partial, "all_reduce", broadcast(0, device), device=device)
    assert both(mlp(), partial)[0] == "REFUTED"
    nobody = rewrite_where(partial, "broadcast", lambda n: n._replace(inputs=()))
    assert both(mlp(), nobody)[0] != "PROVED"
