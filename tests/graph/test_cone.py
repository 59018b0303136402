"""What the losses depend on, as a plan of its own: the same losses of fewer nodes."""

import pytest

from tests.builders import mlp, rewrite_where
from verdict.concrete import AGREE, DIFFER, compare
from verdict.graph import ABSENT
from verdict.graph.cone import again, of_gradients, of_losses

SINGLE = mlp()
PARALLEL = mlp(tp=2, pp=2)


def nodes(plan):
    return [node for segment in plan.segments for node in segment.nodes]


def in_words(plan):
    """The nodes of a plan, with what is said of their tensors in place of their numbers."""

    def said(tensors):
        return tuple(tensor if tensor == ABSENT else plan.tensors[tensor] for tensor in tensors)

    return [node._replace(inputs=said(node.inputs), outputs=said(node.outputs)) for node in nodes(plan)]


def test_a_cone_has_what_losses_are_computed_by():
    single, parallel = of_losses(SINGLE), of_losses(PARALLEL)
    for plan, whole in ((single, SINGLE), (parallel, PARALLEL)):
        assert set(in_words(plan)) < set(in_words(whole))
        assert not any(node.op.endswith(".grad") for node in nodes(plan))
        assert (plan.gradients, plan.outputs) == ((), ())
        assert [(one.device, plan.tensors[one.tensor]) for one in plan.losses] == [
            (one.device, whole.tensors[one.tensor]) for one in whole.losses
        ]
    found, whole = compare(single, parallel), compare(SINGLE, PARALLEL)
    assert (found.outcome, whole.outcome) == (AGREE, AGREE)
    assert found.rows == whole.rows[: len(found.rows)]


def test_a_cone_has_the_tensors_that_it_names_and_no_other():
    for whole in (SINGLE, PARALLEL):
        plan = of_losses(whole)
        named = {tensor for node in nodes(plan) for tensor in (*node.inputs, *node.outputs) if tensor != ABSENT}
        assert named | {*plan.seeds} == set(range(len(plan.tensors)))
        assert len(plan.tensors) < len(whole.tensors)


def test_a_fault_before_the_loss_is_in_its_cone():
    wrong = rewrite_where(PARALLEL, "relu", lambda node: node._replace(op="identity"), device=1)
    assert compare(of_losses(SINGLE), of_losses(wrong)).outcome == DIFFER


def test_a_fault_behind_the_loss_is_not():
    wrong = rewrite_where(PARALLEL, "relu.grad", lambda node: node._replace(op="identity.grad"))
    assert of_losses(wrong) == of_losses(PARALLEL)


@pytest.mark.parametrize("nm", [1, 4])
def test_all_microbatches_keep_what_one_needs(nm):
    plan = mlp(nm=nm, batch=64)
    assert [node.op for node in nodes(of_losses(plan))] == [node.op for node in nodes(of_losses(mlp(batch=64)))]


def test_gradients_have_what_they_are_computed_by():
    def of(plan, name):
        return [one for one in plan.gradients if plan.logicals[plan.tensors[one.weight].logical].name == name]

    single, parallel = of_gradients(SINGLE, of(SINGLE, "w1")), of_gradients(PARALLEL, of(PARALLEL, "w1"))
    assert (single.losses, parallel.losses, parallel.outputs) == ((), (), ())
    assert len(nodes(single)) < len(nodes(SINGLE))
    found, whole = compare(single, parallel), compare(SINGLE, PARALLEL)
    assert found.outcome == AGREE
    assert set(found.rows) == {row for row in whole.rows if row.what == "gradient of w1"}
    assert [in_words(again(plan)) for plan in (single, parallel)] == [in_words(plan) for plan in (single, parallel)]


def test_a_fault_behind_the_loss_is_in_the_cone_of_a_gradient_behind_it():
    wrong = rewrite_where(PARALLEL, "relu.grad", lambda node: node._replace(op="identity.grad"))
    outcomes = {compare(of_gradients(SINGLE, SINGLE.gradients), of_gradients(wrong, wrong.gradients)).outcome}
    assert outcomes == {DIFFER}
