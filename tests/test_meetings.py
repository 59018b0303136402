"""Nodes that meet others in other microbatches: what comes of it counts, not the order of messages."""

import pytest

from tests.builders import answer, ask, codes
from verdict.backends.text import read
from verdict.report import Verdict

SINGLE = """verdict-plan 1
mesh dp=1
batch x 0
tensors
  x input float32 [8, 4] origin name
  a activation float32 [8, 4]
  b activation float32 [8, 4]
  both activation float32 [8, 4]
  loss activation float32 [1] origin name
family 0
segment forward
  x = dataloader()
  a = relu(x)
  b = silu(x)
  both = {op}(a, b)
  loss = sum(both) dim=None keepdim=False
call forward 0
loss loss
end
"""
PARALLEL = """verdict-plan 1
mesh dp=1 pp=2
microbatches 2
batch x 0
tensors
  x input float32 [4, 4] origin name
  a activation float32 [4, 4]
  b activation float32 [4, 4]
  both activation float32 [4, 4]
  loss activation float32 [1] origin name
family 0
segment forward
  x = dataloader()
  a = relu(x)
  b = silu(x)
segment send_a
  send(a) peer=1
segment send_b
  send(b) peer=1
call forward 0
call send_a 0
call send_b 0
call forward 1
call {first} 1
call {second} 1
family 1
segment forward
  a = recv() peer=0
  b = recv() peer=0
  both = {op}(a, b)
  loss = sum(both) dim=None keepdim=False
call forward 0
call forward 1
loss loss
end
"""


def plans(op, first="send_a", second="send_b"):
    single, parallel = SINGLE.format(op=op), PARALLEL.format(op=op, first=first, second=second)
    return read(single.encode(), "single"), read(parallel.encode(), "parallel")


@pytest.mark.parametrize("op", ["add", "sub"])
def test_messages_in_one_order(op):
    assert answer(*plans(op)) == "PROVED"


def test_what_is_added_up_may_arrive_in_either_order():
    assert answer(*plans("add", "send_b", "send_a")) == "PROVED"


def test_what_is_subtracted_may_not():
    report = ask(*plans("sub", "send_b", "send_a"))
    assert report.verdict is Verdict.REFUTED
    assert "wrong-order" in codes(report)
