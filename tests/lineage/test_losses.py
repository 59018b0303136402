"""Losses of two tensors under data parallel: each rank's is a part of the sum, whatever the order of its operands."""

import pytest

from tests.values.outline import report, verdict

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


CLIPPED = """
  x input [8, 4]
  n activation [8, 1]
  s activation [8, 1]
  y activation [8, 4]
  z activation [4]
  loss activation []
  n = aten.linalg_vector_norm(x) dim=(1,) keepdim=True
  s = aten.add.Tensor(n) other=1
  y = aten.div.Tensor(x, s)
  z = aten.mean.dim(y) dim=(0,)
  loss = aten.mean(x)
  output z
  loss loss
"""
EACH = """
  n = aten.linalg_vector_norm(x) dim=(1,) keepdim=True
  s = aten.add.Tensor(n) other=1
  y = aten.div.Tensor(x, s)
  a = aten.mean.dim(y) dim=(0,)
  b = all_reduce(a) ranks=rank reduce="sum"
  z = aten.div.Tensor(b) other=2
"""
TOGETHER = """
  a = aten.mean.dim(x) dim=(0,)
  b = all_reduce(a) ranks=rank reduce="sum"
  c = aten.div.Tensor(b) other=2
  n = aten.linalg_vector_norm(c)
  s = aten.add.Tensor(n) other=1
  z = aten.div.Tensor(c, s)
"""
SPLIT = """
  x input [8, 4]
  n activation {norm}
  s activation {norm}
  y activation [4, 4]
  a activation [4]
  b activation [4]
  c activation [4]
  z activation [4]
  m activation []
  loss activation []
  x[rank, :] = dataloader()
{steps}
  m = aten.mean(x)
  loss{{rank}} = aten.div.Tensor(m) other={ranks}
  output z
  loss loss
"""


@pytest.mark.parametrize(
    ("steps", "norm", "ranks", "wrong"),
    [(EACH, "[4, 1]", 2, ""), (EACH, "[4, 1]", 4, "loss"), (TOGETHER, "[]", 2, "z"), (TOGETHER, "[]", 4, "loss z")],
)
def test_a_loss_that_is_not_followed_is_refuted_by_its_own_fault_alone(steps, norm, ranks, wrong):
    """What the plan says to be a part of a sum, and is not followed, is not taken for the sum."""
    found = report(CLIPPED, SPLIT.format(steps=steps, norm=norm, ranks=ranks), rank=2)
    assert found.verdict.name == ("REFUTED" if wrong else "PROVED")
    said = " ".join(f"{finding.title} {finding.where} {finding.help}" for finding in found.findings)
    assert [what for what in ("loss", "z") if f" {what} " in f" {said} "] == wrong.split()
