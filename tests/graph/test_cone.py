"""What the losses depend on, as a plan of its own: the same losses of fewer nodes."""

import pytest

from tests.builders import mlp, rewrite_where
from verdict.concrete import AGREE, DIFFER, compare
from verdict.graph.cone import of_losses

SINGLE = mlp()
PARALLEL = mlp(tp=2, pp=2)


def nodes(plan):
    return [node for segment in plan.segments for node in segment.nodes]


def test_a_cone_has_what_losses_are_computed_by():
    single, parallel = of_losses(SINGLE), of_losses(PARALLEL)
    for plan, whole in ((single, SINGLE), (parallel, PARALLEL)):
        assert set(nodes(plan)) < set(nodes(whole))
        assert not any(node.op.endswith(".grad") for node in nodes(plan))
        assert (plan.losses, plan.gradients, plan.outputs) == (whole.losses, (), ())
    found, whole = compare(single, parallel), compare(SINGLE, PARALLEL)
    assert (found.outcome, whole.outcome) == (AGREE, AGREE)
    assert found.rows == whole.rows[: len(found.rows)]


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
