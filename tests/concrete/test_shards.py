"""Replicas that divide optimizer states, gradients or weights: what is right is proved, by both engines' judges of it
on numbers and in proofs, and what is wrong is found.
"""

import pytest

from tests.builders import answer
from tests.sweep.plans import swept
from verdict.backends.text import canonical, read, write
from verdict.backends.text.plain import read_plain, write_plain
from verdict.concrete import AGREE, DIFFER, FAULT, compare
from verdict.graph.check import check_plan
from verdict.graph.form import require_form
from verdict.ops import RULES

SINGLE = """verdict-plan 1
devices 1
tensors
  x input float32 [8, 3] origin name
  w weight float32 [8, 3] origin name
  m buffer float32 [8, 3] origin name
  y activation float32 [8, 8] origin name
  z activation float32 [8, 8] origin name
  loss activation float32 [1] origin name
  dl gradient float32 [1]
  dz gradient float32 [8, 8]
  dy gradient float32 [8, 8]
  dw accumulator float32 [8, 3]
  w.new activation float32 [8, 3]
  m.new activation float32 [8, 3]
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
  w.new, m.new = sgd(w, dw, m) lr=0.1 momentum=0.9 weight_decay=0.01
call forward 0
call update once
loss loss
gradient dw of w
output w.new of w
output m.new of m
seed dl
end
"""

HEAD = """verdict-plan 1
mesh dp=2 tp=2
devices 2
microbatches 2
batch x 0
shard m 0
shard m.new 0
shard dw.shard 0
shard w.shard 0
shard w.new.shard 0
"""
TABLE = """tensors
  x input float32 [2, 3] origin name
  w weight float32 [8, 3] origin name
  w.shard activation float32 [4, 3]
  m buffer float32 [4, 3] origin name
  y activation float32 [2, 8] origin name
  z activation float32 [2, 8] origin name
  loss activation float32 [1] origin name
  dl gradient float32 [1]
  dz gradient float32 [2, 8]
  dy gradient float32 [2, 8]
  dw accumulator float32 [8, 3]
  dw.shard gradient float32 [4, 3]
  w.new activation float32 [8, 3]
  w.new.shard activation float32 [4, 3]
  m.new activation float32 [4, 3]
family 0:2
segment forward
  x = dataloader()
  y[:, tp] = linear(x, w[tp, :])
  z[:, tp] = relu(y)
  loss{tp} = sum(z) dim=None keepdim=False
  dz[:, tp] = sum.grad(dl, z) dim=None keepdim=False
  dy[:, tp] = relu.grad(dz, y)
  -, dw[tp, :] = linear.grad(dy, x, w)
"""
ONE = """segment update
  dw.shard[tp, :] = reduce_scatter(dw) dim=0 ranks=(self,) reduce="sum" replicas=True
  w.shard[tp, :] = chunk(w) dim=0 ranks=(self,) replicas=True
  w.new.shard[tp, :], m.new[tp, :] = sgd(w.shard, dw.shard, m[tp, :]) lr=0.1 momentum=0.9 weight_decay=0.01
  w.new[tp, :] = all_gather(w.new.shard) dim=0 ranks=(self,) replicas=True
"""
ENDS = """call forward 0
call forward 1
call update once
loss loss
gradient dw.shard of w
output w.new of w
output m.new of m
seed dl
end
"""
STATES = HEAD + TABLE + ONE + ENDS

EACH = TABLE.replace("dw accumulator float32 [8, 3]", "dw gradient float32 [8, 3]").replace(
    "dw.shard gradient", "dw.shard accumulator"
)
SCATTERED, *REST = ONE.splitlines()[1:]
GRADIENTS = HEAD + EACH + SCATTERED + "\nsegment update\n" + "\n".join(REST) + "\n" + ENDS

GATHERED = "  w.all[tp, :] = all_gather(w[tp, :]) dim=0 ranks=(self,) replicas=True\n"
WEIGHTS = (
    HEAD.replace("shard w.shard 0\nshard w.new.shard 0", "shard w 0\nshard w.new 0")
    + EACH.replace("w weight float32 [8, 3]", "w weight float32 [4, 3]")
    .replace("w.shard activation float32 [4, 3]", "w.all activation float32 [8, 3]")
    .replace("w.new activation float32 [8, 3]", "w.new activation float32 [4, 3]")
    .replace("  w.new.shard activation float32 [4, 3]\n", "")
    .replace("segment forward\n", "segment forward\n" + GATHERED)
    .replace("linear(x, w[tp, :])", "linear(x, w.all)")
    .replace("linear.grad(dy, x, w)", "linear.grad(dy, x, w.all)")
    + SCATTERED
    + "\nsegment update\n"
    + REST[1].replace("w.new.shard", "w.new").replace("(w.shard", "(w")
    + "\n"
    + ENDS
)
WITHOUT_UPDATE = "\n".join(line for line in SINGLE.splitlines() if not line.startswith("output"))
GRADIENTS_ALONE = "\n".join(line for line in STATES.splitlines() if not line.startswith("output"))
RIGHT = {
    "states": (SINGLE, STATES),
    "gradients": (SINGLE, GRADIENTS),
    "weights": (SINGLE, WEIGHTS),
    "gradients alone": (WITHOUT_UPDATE, GRADIENTS_ALONE),
}

NO_GATHER = STATES.replace("  w.new[tp, :] = all_gather(w.new.shard) dim=0 ranks=(self,) replicas=True\n", "").replace(
    "output w.new of w", "output w.new.shard of w"
)
WRONG = {
    "a mean where the sum is due": STATES.replace('reduce="sum"', 'reduce="mean"'),
    "each replica's own gradient": STATES.replace("reduce_scatter(dw)", "chunk(dw)").replace(' reduce="sum"', ""),
    "an update that is not gathered": NO_GATHER,
    "two shards of one replica in place of a gather": STATES.replace(
        "all_gather(w.new.shard) dim=0 ranks=(self,) replicas=True", "concatenate(w.new.shard, w.new.shard) dim=0"
    ),
    "states that are not divided where weights are": STATES.replace("shard m 0\n", "")
    .replace("m buffer float32 [4, 3]", "m buffer float32 [8, 3]")
    .replace("m[tp, :]", "m[<0:2 | 4:6>, :]"),
    "gradients scattered twice": GRADIENTS.replace(
        "linear.grad(dy, x, w)\n", "linear.grad(dy, x, w)\n" + SCATTERED + "\n"
    ),
    "weights of this replica alone": WEIGHTS.replace(
        "all_gather(w[tp, :]) dim=0 ranks=(self,) replicas=True", "concatenate(w[tp, :], w) dim=0"
    ),
}
MISSHAPEN = {
    "a chunk along another axis": STATES.replace("chunk(w) dim=0", "chunk(w) dim=1"),
    "a gather along another axis": STATES.replace("all_gather(w.new.shard) dim=0", "all_gather(w.new.shard) dim=1"),
    "shards of more replicas": STATES.replace("mesh dp=2", "mesh dp=4").replace(
        "x input float32 [2", "x input float32 [1"
    ),
}


def plan(text, name="parallel"):
    found = read(text.encode(), name)
    require_form(found)
    return found


@pytest.mark.parametrize("name", RIGHT)
def test_shards_over_replicas_are_proved(name):
    single, parallel = map(plan, RIGHT[name])
    assert not check_plan(parallel, RULES)
    assert compare(single, parallel, 1).outcome == AGREE
    assert swept(single, parallel) == "PROVED"
    assert answer(single, parallel) == "PROVED"


@pytest.mark.parametrize("name", WRONG)
def test_wrong_shards_are_refuted(name):
    single, parallel = plan(SINGLE), plan(WRONG[name])
    assert compare(single, parallel, 1).outcome in (DIFFER, FAULT)
    assert swept(single, parallel) == "REFUTED"
    assert answer(single, parallel) == "REFUTED"


@pytest.mark.parametrize("name", MISSHAPEN)
def test_shapes_of_shards_are_looked_at_at_the_door(name):
    assert "shape-mismatch" in {finding.code for finding in check_plan(plan(MISSHAPEN[name]), RULES)}
    assert compare(plan(SINGLE), plan(MISSHAPEN[name]), 1).outcome == FAULT
    assert answer(plan(SINGLE), plan(MISSHAPEN[name])) == "REFUTED"


def test_shards_of_large_plans_shrink_with_what_they_are_of():
    def large(text):
        return plan(
            text.replace(", 3]", ", 300]")
            .replace("[8, ", "[800, ")
            .replace("[4, ", "[400, ")
            .replace("[2, 8]", "[200, 800]")
            .replace("[2, 300]", "[200, 300]")
            .replace(", 8]", ", 800]")
        )

    single, parallel = large(SINGLE), large(STATES)
    found = compare(single, parallel, 1)
    assert found.outcome == AGREE
    assert {name: small for name, _, small in found.shapes}["w"] < (20, 20)
    assert compare(single, large(WRONG["each replica's own gradient"]), 1).outcome == DIFFER


def test_shards_are_written_and_read_back():
    parallel = plan(STATES)
    assert parallel.shard_axes[0] == ("m", 0)
    assert read(write(parallel).encode(), "parallel") == canonical(parallel)
    assert read_plain(write_plain(parallel), "parallel") == canonical(parallel)
