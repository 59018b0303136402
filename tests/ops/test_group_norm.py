"""Group normalisation takes samples one by one: shares of the batch are followed, and proved at few of them."""

import pytest

from tests.sweep.plans import twins
from verdict.options import Options
from verdict.pipeline import verify

TEXT = """plan single
  x input [4, 4, 3]
  w weight [4]
  b weight [4]
  y, m, r = aten.native_group_norm(x, w, b) N=4 SIZES eps=0.001
  e = pow(y) exponent=2
  loss = sum(e)
  de = sum.grad(one, e)
  dy = pow.grad(de, y) exponent=2
  dx, dw, db = aten.native_group_norm_backward(dy, x, m, r, w) N=4 SIZES
  seed one
  loss loss
  gradient dw of w
  gradient db of b
plan parallel dp=2
  y[dp, :, :], m[dp, :], r[dp, :] = aten.native_group_norm(x[dp, :, :], w, b) N=2 SIZES eps=0.001
  e[dp, :, :] = pow(y) exponent=2
  loss{dp} = sum(e)
  de[dp, :, :] = sum.grad(one, e)
  dy[dp, :, :] = pow.grad(de, y) exponent=2
  dx[dp, :, :], dw'2{dp}, db'2{dp} = aten.native_group_norm_backward(dy, x[dp, :, :], m, r, w) N=2 SIZES
  dw = all_reduce(dw'2) ranks=dp reduce="sum"
- db = all_reduce(db'2) ranks=dp reduce="sum"
+ db = identity(db'2)
  seed one
  loss loss
  gradient dw of w
  gradient db of b
""".replace("SIZES", "C=4 HxW=3 group=2")


@pytest.fixture(scope="module")
def plans():
    return twins(TEXT)


def test_shares_of_the_batch_are_followed(plans):
    report = verify(*plans[0], Options())
    assert report.verdict.name == "PROVED", report.open
    assert report.swept is None


def test_a_gradient_of_some_samples_is_refuted(plans):
    report = verify(*plans[1], Options())
    assert report.verdict.name == "REFUTED"
