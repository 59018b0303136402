"""The checks at the door: each fault beside the right twin, which is silent."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import Builder, attrs_of, mlp, rewrite_where, with_attrs
from verdict.backends.text import read
from verdict.graph import (
    ABSENT,
    ACCUMULATOR,
    INPUT,
    ONCE_A_STEP,
    WEIGHT,
    Call,
    Held,
    Node,
    extent,
    inside,
    volume,
    whole,
)
from verdict.graph.check import check_microbatches, check_order, check_plan, check_regions, check_shapes
from verdict.graph.form import require_form
from verdict.ops import RULES

RIGHT = mlp(dp=2, tp=2, pp=2, nm=2)
SHAPES = st.lists(st.integers(1, 6), min_size=1, max_size=4).map(tuple)


def codes(findings):
    return [finding.code for finding in findings]


def named(plan, name, device=None):
    """The tensors of a name; those that `device` writes or reads if one is given."""
    tensors = {k for k, t in enumerate(plan.tensors) if plan.logicals[t.logical].name == name}
    if device is None:
        return sorted(tensors)
    used = {t for s in plan.segments if s.device == device for n in s.nodes for t in (*n.inputs, *n.outputs)}
    return sorted(tensors & used)


@pytest.mark.parametrize(
    "layout", [{}, {"dp": 2}, {"tp": 3}, {"pp": 2}, {"nm": 4}, {"dp": 2, "tp": 2, "pp": 2, "nm": 2}]
)
def test_right_plans_are_silent(layout):
    plan = mlp(**layout)
    require_form(plan)
    assert check_plan(plan, RULES) == ()


@given(SHAPES)
def test_the_whole_has_the_shape_and_lies_inside(shape):
    assert extent(whole(shape)) == shape
    assert inside(whole(shape), shape)
    assert volume(whole(shape)) > 0


@given(SHAPES, st.data())
def test_a_region_lies_inside_unless_an_end_sticks_out(shape, data):
    axis = data.draw(st.integers(0, len(shape) - 1))
    start = data.draw(st.integers(-2, 8))
    stop = data.draw(st.integers(-2, 8))
    region = (*whole(shape)[:axis], (start, stop), *whole(shape)[axis + 1 :])
    assert inside(region, shape) == (0 <= start <= stop <= shape[axis])


def test_a_region_of_another_rank_is_not_inside():
    assert not inside(((0, 2),), (2, 2))


def test_a_region_outside_its_tensor():
    (where, *_) = named(RIGHT, "w1")
    tensors = list(RIGHT.tensors)
    tensors[where] = tensors[where]._replace(region=((0, 6), (8, 14)))
    wrong = replace(RIGHT, tensors=tuple(tensors))
    assert codes(check_regions(wrong)) == ["wrong-slice"]
    assert check_regions(RIGHT) == ()


def test_a_tensor_read_before_it_is_produced():
    def swapped(plan):
        first = plan.segments[0]
        nodes = list(first.nodes)
        nodes[1], nodes[2] = nodes[2], nodes[1]
        return replace(plan, segments=(first._replace(nodes=tuple(nodes)), *plan.segments[1:]))

    assert codes(check_order(swapped(mlp()))) == ["broken-data-flow"]


def test_a_tensor_produced_in_a_later_call_of_one_microbatch_only():
    """The backward of microbatch 1 runs before its forward; microbatch 0 is as it should be."""
    plan = mlp(nm=2)
    forward, backward = 0, 1
    order = [(forward, 0), (backward, 0), (backward, 1), (forward, 1)]
    wrong = replace(plan, programs=(tuple(Call(k, m) for k, m in order),))
    right = replace(plan, programs=(tuple(Call(k, m) for k, m in (order[0], order[1], order[3], order[2])),))
    assert set(codes(check_order(wrong))) == {"broken-data-flow"}
    assert check_order(right) == ()


def test_a_tensor_produced_twice_and_an_accumulator_that_may_be():
    def doubled(op):
        return rewrite_where(mlp(), op, lambda node: (node, node))

    assert codes(check_order(doubled("relu"))) == ["broken-data-flow"]
    only_accumulates = rewrite_where(mlp(), "mul.grad", lambda node: (node, node))
    assert check_order(only_accumulates) == ()


@pytest.mark.parametrize("name", ["w0", "x"])
def test_a_given_tensor_that_is_overwritten(name):
    plan = mlp()
    (tensor,) = named(plan, name)
    wrong = rewrite_where(plan, "relu.grad", lambda n: (n, Node("mul", (tensor,), (tensor,), (("other", 2.0),), "m")))
    assert set(codes(check_order(wrong))) == {"broken-data-flow"}


def test_a_weight_may_be_gathered_from_its_shares():
    def gathered(late):
        b = Builder(2)
        for device in (0, 1):
            share = b.tensor("w", (4, 6), WEIGHT, ((2 * device, 2 * device + 2), (0, 6)))
            full = b.tensor("w", (4, 6), WEIGHT)
            steps = [("all_gather", [share], [full], {"dim": 0, "ranks": (0, 1)}), ("relu", [full], None, {})]
            for op, inputs, outputs, attrs in reversed(steps) if late else steps:
                b.op(device, op, inputs, outputs or [b.tensor("y", (4, 6))], **attrs)
        return b.plan()

    assert check_order(gathered(late=False)) == ()
    assert codes(check_order(gathered(late=True))) == ["broken-data-flow"]


def test_a_declared_output_that_nothing_computes():
    plan = mlp(dp=2)
    wrong = rewrite_where(plan, "all_reduce", lambda node: None, nth=0)
    assert codes(check_order(wrong)) == ["gradient-missing"]
    (junk,) = named(plan, "h.grad")
    no_loss = replace(plan, losses=(Held(0, junk),))
    assert check_order(no_loss) == ()
    assert codes(check_order(rewrite_where(no_loss, "relu.grad", lambda node: node._replace(outputs=(ABSENT,))))) == [
        "broken-data-flow",
        "loss-missing",
    ]


def test_a_node_whose_full_shapes_do_not_fit_its_operator():
    plan = mlp()
    x, w0 = named(plan, "x")[0], named(plan, "w0")[0]
    wrong = rewrite_where(plan, "linear", lambda node: node._replace(inputs=(x, node.inputs[0])), nth=0)
    assert codes(check_shapes(wrong, RULES)) == ["shape-mismatch"]
    missing = rewrite_where(plan, "linear", lambda node: node._replace(inputs=(ABSENT, w0)), nth=0)
    assert check_shapes(missing, RULES)[0].title == "an input is missing"
    short = rewrite_where(plan, "linear.grad", lambda node: node._replace(outputs=node.outputs[:1]), nth=0)
    assert codes(check_shapes(short, RULES)) == ["shape-mismatch"]


def test_transposes_are_checked_at_full_shapes():
    def turned(dims):
        b = Builder()
        x = b.tensor("x", (2, 3, 4), INPUT)
        b.op(0, "dataloader", [], [x])
        b.op(0, "transpose", [x], [b.tensor("y", (2, 4, 3))], dim0=dims[0], dim1=dims[1])
        return b.plan()

    assert check_shapes(turned((1, 2)), RULES) == ()
    assert codes(check_shapes(turned((0, 2)), RULES)) == ["shape-mismatch"]


def test_one_is_not_true_though_they_are_equal():
    plan = rewrite_where(mlp(tp=2), "sum", lambda node: with_attrs(node, keepdim=False))
    wrong = rewrite_where(plan, "sum", lambda node: with_attrs(node, keepdim=0), nth=1)
    assert check_shapes(plan, RULES) == ()
    assert [finding.title for finding in check_shapes(wrong, RULES)] == ["sum: keepdim is 0, it must be True or False"]


def test_an_all_reduce_that_returns_another_shape():
    plan = mlp(tp=2)
    (loss, *_) = named(plan, "loss")
    wrong = rewrite_where(plan, "all_reduce", lambda node: node._replace(outputs=(loss,)), nth=0)
    assert codes(check_shapes(wrong, RULES)) == ["shape-mismatch"]


def test_equal_misfits_are_one_finding_with_their_number():
    plan = mlp(tp=3)
    wrong = rewrite_where(plan, "relu", lambda node: node._replace(inputs=named(plan, "loss")[:1]))
    (finding,) = check_shapes(wrong, RULES)
    assert finding.extent == 3


def test_microbatches_run_once_each():
    plan = mlp(nm=2)
    first, second, *rest = plan.programs[0]
    assert check_microbatches(plan) == ()
    assert codes(check_microbatches(replace(plan, programs=((first, *rest),)))) == ["microbatch-missing"]
    assert codes(check_microbatches(replace(plan, programs=((first, first, second, *rest),)))) == [
        "microbatch-duplicated"
    ]


def test_a_reduction_before_the_last_contribution():
    plan = mlp(dp=2, nm=2)
    *calls, once = plan.programs[0]
    assert check_microbatches(plan) == ()
    early = replace(plan, programs=((*calls[:3], once, calls[3]),))
    assert codes(check_microbatches(early)) == ["early-reduction"]


def test_an_accumulator_that_is_read_in_every_microbatch():
    plan = mlp(dp=2, nm=2)
    once = next(k for k, s in enumerate(plan.segments) if s.nodes and attrs_of(s.nodes[0]).get("replicas"))
    calls = tuple(c for c in plan.programs[0] if c.microbatch != ONCE_A_STEP)
    wrong = replace(plan, programs=((*calls, Call(once, 0), Call(once, 1)),))
    assert "early-reduction" in codes(check_microbatches(wrong))


def test_accumulators_need_no_producer():
    """A weight whose gradient nobody adds to is found by the walk, which knows what is missing."""
    plan = rewrite_where(mlp(), "mul.grad", lambda node: None)
    assert plan.kind(plan.gradients[-1].tensor) == ACCUMULATOR
    assert check_order(plan) == ()


def with_parts(*parts):
    """The right plan, whose losses on two ranks are these parts of a sum."""
    losses = RIGHT.losses[:2]
    tensors = list(RIGHT.tensors)
    for held, part in zip(losses, parts, strict=True):
        tensors[held.tensor] = tensors[held.tensor]._replace(part=part)
    return replace(RIGHT, tensors=tuple(tensors), losses=losses)


def test_all_parts_of_a_declared_sum_are_held():
    assert check_order(with_parts((0, 2), (1, 2))) == ()
    (found,) = check_order(with_parts((0, 2), (0, 2)))
    assert (found.code, found.title) == ("loss-missing", "no rank holds part 1 of 2 of loss")


@pytest.mark.parametrize("asked", [True, False])
def test_an_output_that_no_attribute_asks_for(asked):
    one = "stride=(1,) padding=(0,) dilation=(1,) transposed=False output_padding=(0,) groups=1 bias_sizes=(2,)"
    text = f"""verdict-plan 1

devices 1
replicas 1
microbatches 1

tensors
  x input float32 [2, 1, 4]
  dy input float32 [2, 2, 3]
  w weight float32 [2, 1, 2]
  dx activation float32 [2, 1, 4]
  w.grad gradient float32 [2, 1, 2]

family 0
segment step
  x, dy = dataloader()
  dx, w.grad, - = aten.convolution_backward(dy, x, w) {one} output_mask=({asked}, True, False)
call step 0
gradient w.grad of w

end
"""
    found = check_shapes(read(text.encode(), "plan"), RULES)
    assert [finding.code for finding in found] == ([] if asked else ["shape-mismatch"])


IN_PLACE = """verdict-plan 1
devices 1
tensors
  x input float32 [2, 4]
  w weight float32 [4, 4]
family 0
segment forward
  x = dataloader()
  w{share} = linear(w, w)
call forward 0
end
"""


@pytest.mark.parametrize("share", ["", "'2"])
def test_what_is_made_of_a_given_weight_is_another_share_of_it(share):
    plan = read(IN_PLACE.format(share=share).encode(), "in_place.plan")
    found = check_order(plan)
    assert codes(found) == ([] if share else ["broken-data-flow"])
    assert all("w'2 = sgd(w, g)" in finding.help for finding in found)


EXCHANGE = """verdict-plan 1
mesh dp=1 device=2
tensors
  x input float32 [4, 4, 4] origin name
  y input float32 [4, 4] origin name
  u activation float32 [4, 4, 4]
  v activation float32 [4, 4]
family 0
segment forward
  u[0:2, :, :] = all_to_all(x[:, :, 0:2]) ranks=(0, 1) split_dim=0 concat_dim=2
call forward 0
family 1
segment forward
  {} ranks=(0, 1) split_dim=0 concat_dim={}
call forward 0
end
"""


@pytest.mark.parametrize(
    ("other", "axis", "found"),
    [
        ("u[2:4, :, :] = all_to_all(x[:, :, 2:4])", 2, []),
        ("v[2:4, :] = all_to_all(y[:, 2:4])", 1, ["shape-mismatch", "wrong-collective"]),
    ],
)
def test_members_that_exchange_put_in_equally_many_dimensions(other, axis, found):
    assert codes(check_plan(read(EXCHANGE.format(other, axis).encode(), "exchange"), RULES)) == found
