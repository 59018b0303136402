"""What is declared of what stands there once a step counts once, whatever the number of microbatches."""

import pytest

from tests.sweep.plans import agrees, swept
from verdict.backends.text import read

SINGLE = """verdict-plan 1

tensors
  x input float32 [4, 8] origin name
  y activation float32 [4, 8] origin name
  loss activation float32 [1] origin name

family 0
segment forward
  y = relu(x)
  loss = sum(y) dim=None keepdim=False
call forward 0
loss loss
end
"""
PARALLEL = """verdict-plan 1

microbatches 2
batch x 0

tensors
  x input float32 [2, 8] origin name
  y activation float32 [2, 8] origin name
  part accumulator float32 [1] origin name
  loss activation float32 [1] origin name

family 0
segment forward
  y = relu(x)
  part = sum(y) dim=None keepdim=False
segment finish
  loss = mul(part) other={factor}
call forward 0
call forward 1
call finish once
loss loss
end
"""


@pytest.mark.parametrize(("factor", "verdict", "numbers"), [("1", "PROVED", "agree"), ("0.5", "REFUTED", "differ")])
def test_a_loss_made_once_a_step_counts_once(factor, verdict, numbers):
    texts = (SINGLE, PARALLEL.format(factor=factor))
    single, parallel = (read(text.encode(), "by hand") for text in texts)
    assert (swept(single, parallel), agrees(single, parallel)) == (verdict, numbers)
