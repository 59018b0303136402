"""Declared outputs: updated weights and states, parts that add up over devices, explicit ranks."""

import pytest

from tests.builders import answer, walked
from verdict.backends.text import canonical, read, write
from verdict.backends.text.plain import read_plain, write_plain
from verdict.concrete import AGREE, CANNOT, DIFFER, FAULT, compare
from verdict.errors import PlanFileError
from verdict.graph.form import require_form

SINGLE = """verdict-plan 1
devices 1
tensors
  x input float32 [4, 3] origin name
  w weight float32 [2, 3] origin name
  m buffer float32 [2, 3] origin name
  y activation float32 [4, 2] origin name
  z activation float32 [4, 2] origin name
  loss activation float32 [1] origin name
  dl gradient float32 [1]
  dz gradient float32 [4, 2]
  dy gradient float32 [4, 2]
  dw accumulator float32 [2, 3]
  m.kept activation float32 [2, 3]
  m.new activation float32 [2, 3]
  step activation float32 [2, 3]
  w.new activation float32 [2, 3]
family 0
segment forward
  x = dataloader()
  y = linear(x, w)
  z = relu(y)
  loss = sum(z) dim=None keepdim=False
  dz = sum.grad(dl, z) dim=None keepdim=False
  dy = relu.grad(dz, y)
  -, dw = linear.grad(dy, x, w)
segment update
  m.kept = mul(m) other=0.9
  m.new = add(m.kept, dw)
  step = mul(m.new) other=0.1
  w.new = sub(w, step)
call forward 0
call update once
loss loss
gradient dw of w
output w.new of w
output m.new of m
output y
seed dl
end
"""

PARALLEL = """verdict-plan 1
mesh all=1 dp=2
devices 2
replicas 1
tensors
  x input float32 [4, 3] origin name
  w weight float32 [2, 3] origin name
  m buffer float32 [2, 3] origin name
  y activation float32 [4, 2] origin name
  z activation float32 [4, 2] origin name
  loss activation float32 [1] origin name
  dl gradient float32 [1]
  dz gradient float32 [4, 2]
  dy gradient float32 [4, 2]
  dw accumulator float32 [2, 3]
  dw.sum gradient float32 [2, 3]
  m.kept activation float32 [2, 3]
  m.new activation float32 [2, 3]
  step activation float32 [2, 3]
  w.new activation float32 [2, 3]
  w.all activation float32 [2, 3]
family 0:2
segment forward
  x[dp, :] = dataloader()
  y[dp, :] = linear(x, w)
  z[dp, :] = relu(y)
  loss{dp} = sum(z) dim=None keepdim=False
  dz[dp, :] = sum.grad(dl, z) dim=None keepdim=False
  dy[dp, :] = relu.grad(dz, y)
  -, dw{dp} = linear.grad(dy, x, w)
segment update
  dw.sum[dp, :] = reduce_scatter(dw) ranks=dp dim=0 reduce="sum"
  m.kept[dp, :] = mul(m[dp, :]) other=0.9
  m.new[dp, :] = add(m.kept, dw.sum)
  step[dp, :] = mul(m.new) other=0.1
  w'2[dp, :] = chunk(w) ranks=dp dim=0
  w.new[dp, :] = sub(w'2, step)
  w.all = all_gather(w.new) ranks=dp dim=0
call forward 0
call update once
loss loss
gradient dw.sum of w'2
output w.all of w
output m.new of m
output y
seed dl
end
"""


def plan(text, *changes):
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return read(text.encode(), "x")


def both(single=(), parallel=()):
    return compare(plan(SINGLE, *single), plan(PARALLEL, *parallel), seed=1)


def test_outputs_are_written_and_read_back():
    for text in (SINGLE, PARALLEL):
        found = plan(text)
        assert found.outputs
        assert read(write(found).encode(), "x") == canonical(found) == read_plain(write_plain(found), "x")


def test_a_sharded_step_agrees_in_all_that_it_declares():
    found = both()
    assert found.outcome == AGREE, (found.faults, found.differing)
    assert {row.what for row in found.rows} == {"loss", "gradient of w", "output of w", "output of m", "output y"}


@pytest.mark.parametrize(
    "change",
    [
        ("w.new[dp, :] = sub(w'2, step)", "w.new[dp, :] = add(w'2, step)"),
        ("m.kept[dp, :] = mul(m[dp, :]) other=0.9", "m.kept[dp, :] = mul(m[dp, :]) other=0.99"),
        ("reduce_scatter(dw) ranks=dp", "reduce_scatter(dw) ranks=<(1, 0) | (1, 0)>"),
        ("all_gather(w.new) ranks=dp", "all_gather(w.new) ranks=<(1, 0) | (1, 0)>"),
        ("loss{dp} =", "loss ="),
        ("y[dp, :] = linear", "y[<2:4 | 0:2>, :] = linear"),
    ],
    ids=lambda change: change[1],
)
def test_a_fault_in_an_output_differs(change):
    assert both(parallel=(change,)).outcome == DIFFER


@pytest.mark.parametrize(
    "change",
    [
        ("output w.all of w\n", ""),
        ("output m.new of m\n", ""),
        ("output y\n", ""),
        ("output w.all of w\n", "output w.new of w'2\n"),
        ("loss{dp} =", "loss{<0/3 | 1/3>} ="),
    ],
    ids=str,
)
def test_an_output_that_is_missing_is_a_fault(change):
    assert both(parallel=(change,)).outcome == FAULT


def test_an_output_that_nothing_can_be_compared_with_is_not_passed_over():
    assert both(single=(("output y\n", ""),)).outcome == CANNOT
    assert both(single=(("output m.new of m\n", ""),)).outcome == CANNOT


def test_states_under_a_root_are_drawn_without_signs():
    root = ("m.kept = mul(m) other=0.9", "m.kept = sqrt(m)")
    half = ("m.kept[dp, :] = mul(m[dp, :]) other=0.9", "m.kept[dp, :] = sqrt(m[dp, :])")
    assert both((root,), (half,)).outcome == AGREE


def test_the_walk_compares_what_the_plan_declares():
    assert walked(plan(SINGLE), plan(SINGLE)).verdict.name == "PROVED"
    assert walked(plan(SINGLE), plan(PARALLEL)).verdict.name == "PROVED"
    wrong = plan(PARALLEL, ("w.new[dp, :] = sub(w'2, step)", "w.new[dp, :] = add(w'2, step)"))
    assert walked(plan(SINGLE), wrong).verdict.name != "PROVED"
    assert answer(plan(SINGLE), wrong) == "REFUTED"


def test_an_output_of_what_is_no_weight_makes_no_sense():
    with pytest.raises(PlanFileError, match="no weight and no buffer"):
        require_form(plan(SINGLE, ("output w.new of w", "output w.new of y")))
