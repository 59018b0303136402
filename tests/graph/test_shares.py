"""Shards over replicas: where they lie, and what shapes the door lets in."""

from dataclasses import replace

import pytest

from verdict.backends.text import read
from verdict.graph import shard, shard_axes
from verdict.graph.shares import check_shards

PLAN = """verdict-plan 1
mesh dp=2 tp=2
microbatches 1
shard w.shard 0

tensors
  w weight float32 [16, 3]
  w.shard activation float32 [8, 3] origin "w"
  w.again activation float32 [16, 3]
  g activation float32 [16, 3]

family 0:2
segment step
  w.shard[tp, :] = chunk(w[tp, :]) dim=0 ranks=(self,) replicas=True
  w.again[tp, :] = all_gather(w.shard) dim=0 ranks=(self,) replicas=True
  w.shard'2[tp, :] = reduce_scatter(w.again) dim=0 ranks=(self,) reduce="sum" replicas=True
call step once

end
"""


def test_a_shard_lies_inside_of_what_the_device_has_of_the_whole():
    plan = read(PLAN.encode(), "x")
    assert shard_axes(plan) == {1: 0}
    found = [shard(plan.tensors[k].region, 0, r, 2) for k in (0, 4) for r in range(2)]
    assert found == [((0, 4), (0, 3)), ((4, 8), (0, 3)), ((8, 12), (0, 3)), ((12, 16), (0, 3))]


def test_pieces_that_replicas_divide_evenly_are_let_in():
    assert check_shards(read(PLAN.encode(), "x")) == ()


@pytest.mark.parametrize("replicas", [1, 3, 4])
def test_shards_that_do_not_make_the_whole_are_a_finding(replicas):
    found = check_shards(replace(read(PLAN.encode(), "x"), replicas=replicas))
    assert {finding.code for finding in found} == {"shape-mismatch"}
    assert "w.shard: " in found[0].title
