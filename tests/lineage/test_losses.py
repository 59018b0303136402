"""Losses of two tensors under data parallel: each rank's is a part of the sum, whatever the order of its operands."""

import pytest

from tests.values.outline import verdict

STEP = """
  x input [4, 3]
  t input [4, 3]
  w weight [3]
  y activation [{rows}, 3]
  loss activation []
  one activation []
  dy activation [{rows}, 3]
  d activation [{rows}, 3]
  part activation [3]
  w.grad gradient [3]
  {loader}
  y = aten.mul.Tensor(x, w)
  loss{of} = aten.mse_loss({operands}) reduction=2
  one = aten.ones_like(loss)
  dy = aten.mse_loss_backward(one, y, t) reduction=2
  d = aten.mul.Tensor(dy, x)
  part = aten.sum.dim_IntList(d) dim=(0,)
  w.grad = {added}
  loss loss
  gradient w.grad of w
"""
SINGLE = STEP.format(rows=4, loader="x, t = dataloader()", of="", operands="y, t", added="aten.clone(part)")


def parallel(operands, added):
    loader = "x[rank, :], t[rank, :] = dataloader()"
    return STEP.format(rows=2, loader=loader, of="{rank}", operands=operands, added=added)


@pytest.mark.parametrize("operands", ["y, t", "t, y"])
def test_a_loss_of_each_share_of_the_batch_is_a_part(operands):
    assert verdict(SINGLE, parallel(operands, 'all_reduce(part) ranks=rank reduce="sum"'), rank=2) == "PROVED"


@pytest.mark.parametrize(
    ("operands", "added"), [("y, y", 'all_reduce(part) ranks=rank reduce="sum"'), ("y, t", "aten.clone(part)")]
)
def test_another_loss_and_a_gradient_that_nobody_adds_up(operands, added):
    assert verdict(SINGLE, parallel(operands, added), rank=2) == "REFUTED"
