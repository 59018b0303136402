"""Nodes that meet others in other microbatches: what comes of it counts, not the order of messages."""

import pytest

from tests.builders import answer, ask, codes
from verdict.backends.text import read
from verdict.report import Verdict

NEARLY = 1.000000001
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


@pytest.mark.parametrize(("order", "is_right"), [(("send_a", "send_b"), True), (("send_b", "send_a"), False)])
def test_what_numbers_hardly_show_is_not_proved_by_one_microbatch(order, is_right):
    """One addend is scaled by a factor that rounding hides: only one microbatch scales the one that is due."""
    declared, summed = "  both activation", "  both = add(a, b)"
    scaled = f"  c = mul(a) other={NEARLY}\n  both = add(c, b)"
    changed = {declared: f"  c activation {{shape}}\n{declared}", summed: scaled}
    single, parallel = SINGLE.format(op="add"), PARALLEL.format(op="add", first=order[0], second=order[1])
    for old, new in changed.items():
        single = single.replace(old, new.format(shape="float32 [8, 4]"))
        parallel = parallel.replace(old, new.format(shape="float32 [4, 4]"))
    report = ask(read(single.encode(), "single"), read(parallel.encode(), "parallel"))
    assert (report.verdict is Verdict.PROVED) is is_right
