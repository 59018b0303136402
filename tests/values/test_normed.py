"""Numbers divided by their norm in front of a loss over classes: where the loss is a number, no norm is zero."""

import pytest
import torch

from tests.values.outline import verdict

LOSS = """
  x input [3, 3]
  y input [3, 3]
  labels input int64 [3]
  {range}
  {norm}
  q = div(x, n)
  {logits}
  s = aten._log_softmax(k) dim={dim} half_to_float=False
  loss, count = aten.nll_loss_forward(s, labels) ignore_index={ignored} reduction=1
  {made}
  loss loss
  output out
"""
ROOT = "p = aten.pow.Tensor_Scalar(x) exponent=2\n  a = aten.sum.dim_IntList(p) dim=(-1,) keepdim=True\n  n = sqrt(a)"
RIGHT = {"range": "range labels 0 2", "norm": ROOT, "logits": "k = aten.mm(q, y)", "dim": 1, "ignored": -100}
CASES = {
    "the norm of each row": ({}, True),
    "rows in place of columns": ({"logits": "k = aten.t(q)"}, True),
    "a multiple of them": ({"logits": "e = aten.exp(y)\n  k = mul(q, e)"}, True),
    "the norm of all": ({"norm": "p = mul(x, x)\n  a = aten.sum(p)\n  n = sqrt(a)"}, True),
    "an operator of its own": ({"norm": "n = aten.linalg_vector_norm(x) ord=2 dim=(1,) keepdim=True"}, True),
    "labels that nobody states": ({"range": ""}, False),
    "labels that are ignored": ({"ignored": 0}, False),
    "classes along the other dimension": ({"dim": 0}, False),
    "a sum that may be zero": ({"norm": "n = aten.sum.dim_IntList(x) dim=(-1,) keepdim=True"}, False),
    "the norm of others": ({"norm": ROOT.replace("(x)", "(y)")}, False),
    "the norm of other rows": ({"norm": f"z = aten.t(x)\n  {ROOT.replace('(x)', '(z)')}"}, False),
    "norms at other places": ({"norm": ROOT.replace("True", "False")}, False),
    "what infinity makes a number of": ({"logits": "g = aten.sigmoid(q)\n  k = aten.mm(g, y)"}, False),
}  # fmt: skip
VANISHED = "d = sub(q, q)\n  c = aten.lt.Scalar(d) other=0.5\n  out = aten.where.self(c, x, y)"
ITSELF = "out = mul(x) other=1.0"


@pytest.mark.parametrize("case", CASES)
def test_a_norm_is_not_zero_where_the_loss_is_a_number(case):
    changed, known = CASES[case]
    one, other = (LOSS.format(**{**RIGHT, **changed}, made=made) for made in (VANISHED, ITSELF))
    assert (verdict(one, other) == "PROVED") is known
    assert (verdict(other, one) == "PROVED") is known
    assert verdict(one, one) == "PROVED"


def test_torch_makes_no_loss_of_a_norm_that_is_zero():
    x = torch.tensor([[0.0, 0.0], [1.0, 2.0]])
    for logits in (x / x.norm(dim=-1, keepdim=True), (x / x.norm(dim=-1, keepdim=True)).t()):
        assert torch.isnan(torch.nn.functional.cross_entropy(logits, torch.tensor([0, 1])))


def test_a_norm_may_be_zero_where_a_matrix_without_columns_hides_it():
    """A sum of no elements is zero, whatever the rows are that it is made of: it is PROVED of itself alone."""
    given = LOSS.replace("  y input [3, 3]\n", "  y input [3, 3]\n  z input [3, 0]\n")
    hidden = "m = aten.mm(q, z)\n  u = aten.sum.dim_IntList(m) dim=(1,) keepdim=True\n  k = add(y, u)"
    one, other = (given.format(**{**RIGHT, "logits": hidden}, made=made) for made in (VANISHED, ITSELF))
    assert verdict(one, other) != "PROVED"
    assert verdict(one, one) == "PROVED"
