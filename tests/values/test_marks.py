"""An operator without a rule on the single device is a mark as on the ranks: what decided the rest is not known."""

import pytest

from tests.builders import answer
from tests.values.outline import plans

STEP = """
  x input float64 [4, 3]
  w weight float64 [3, 3]
  h activation float64 [4, 3]
  p activation float64 [4, 3]
  r activation float64 [4, 3]
  loss activation float64 []
  one gradient float64 []
  all gradient float64 [4, 3]
  half gradient float64 [4, 3]
  g gradient float64 [4, 3]
  t gradient float64 [3, 4]
  w.grad gradient float64 [3, 3]
  h = aten.mm(x, w)
  {read}
  {square}
  loss = aten.sum(p)
  one = aten.ones_like(loss)
  all = aten.expand(one) size=(4, 3)
  half = aten.mul.Tensor(all, h)
  g = aten.mul.Scalar(half) other=2
  t = aten.t(x)
  w.grad = aten.mm(t, g)
  loss loss
  gradient w.grad of w
"""
READ = 'unmodelled(h) reason="a value is read by Python"'
SQUARES = {"alike": "p = aten.mul.Tensor(h, h)", "otherwise": "r = aten.neg(h)\n  p = aten.mul.Tensor(r, r)"}


def asked(square, read, exhaustive):
    single = STEP.format(read=read, square=SQUARES["alike"])
    parallel = STEP.format(read="", square=SQUARES[square])
    return answer(*plans(single, parallel), exhaustive=exhaustive)


@pytest.mark.parametrize("exhaustive", [False, True])
@pytest.mark.parametrize("square", SQUARES)
def test_what_the_single_device_reads_leaves_the_question_open(square, exhaustive):
    assert asked(square, "", exhaustive) == "PROVED"
    assert asked(square, READ, exhaustive) == "UNKNOWN"
