"""Generated steps whose data parallel ranks are replicas: a family, which divides states, gradients and weights."""

from dataclasses import replace

import pytest

from tests.builders import answer, attrs_of, rewrite_where, with_attrs
from verdict.backends.generator import Sizes, generate
from verdict.backends.text import canonical, read, write
from verdict.concrete import AGREE, DIFFER, FAULT, compare
from verdict.graph import shard_axes
from verdict.graph.check import check_plan
from verdict.graph.form import require_form
from verdict.ops import RULES

SMALL = Sizes(
    layers=1, hidden=8, heads=4, seq=4, batch=4, dp=2, tp=2, pp=1, microbatches=1, vocab=16, ffn=16, experts=4, topk=2,
    groups=2, topk_groups=1, shared_experts=1, moe_ffn=8, dense_layers=0, optimizer="adamw", clip=0.5,
)  # fmt: skip
MEAN = {"loss": "cross-entropy", "ignore_index": 3, "mean": True}
STEPS = {
    "whole states": ("llama3", {"sp": True}),
    "ZeRO 1": ("llama3", {"sp": True, "zero": 1}),
    "ZeRO 1 on two stages": ("gpt", {"zero": 1, "pp": 2, "layers": 2, "microbatches": 2, "tied": True, "tp": 1}),
    "ZeRO 2": ("llama3", {"zero": 2, "microbatches": 2, "optimizer": "sgd"}),
    "ZeRO 3": ("gpt", {"zero": 3, "sp": True}),
    "rows that only hidden divides": ("llama3", {"zero": 1, "dp": 4, "vocab": 12, "tp": 1}),
    "within context parallel ranks": ("llama3", {"zero": 1, "cp": 2, "tp": 1}),
    "weights within context parallel ranks": ("llama3", {"zero": 3, "cp": 2, "tp": 1}),
    "experts over ranks": ("deepseek", {"zero": 1, "ep": 2, "tp": 1, "batch": 8}),
    "a mean over replicas": ("llama3", {**MEAN, "zero": 1}),
    "two steps": ("mlp", {"zero": 1, "steps": 2}),
    "two steps of sharded weights": ("mlp", {"zero": 3, "steps": 2}),
}
TINY = replace(SMALL, hidden=4, heads=2, ffn=4, vocab=8, layers=2, optimizer="sgd")


@pytest.mark.parametrize("name", STEPS)
def test_replicas_compute_what_the_single_device_computes(name):
    model, more = STEPS[name]
    single, parallel = generate(model, replace(SMALL, **more))
    assert parallel.replicas == more.get("dp", 2)
    assert bool(shard_axes(parallel)) == bool(more.get("zero"))
    require_form(parallel)
    assert not check_plan(parallel, RULES)
    assert read(write(parallel).encode(), parallel.source) == canonical(parallel)
    assert compare(single, parallel, seed=1).outcome == AGREE


@pytest.mark.parametrize("zero", range(4))
@pytest.mark.parametrize("listed", [False, True], ids=["replicas", "listed"])
def test_both_forms_are_proved(zero, listed):
    single, parallel = generate("mlp", replace(TINY, zero=zero, list_ranks=listed, microbatches=2))
    assert (parallel.replicas, parallel.devices) == ((1, 4) if listed else (2, 2))
    assert answer(single, parallel) == "PROVED"


def test_shards_that_are_uneven_are_listed():
    single, parallel = generate("llama3", replace(SMALL, zero=1, dp=3, batch=6, tp=1))
    assert (parallel.replicas, parallel.devices) == (1, 3)
    assert compare(single, parallel, seed=1).outcome == AGREE


def among_replicas(change):
    return lambda node: change(node) if attrs_of(node).get("replicas") else node


def pair_of_one(node):
    """The shard of this replica twice."""
    return node._replace(op="concatenate", inputs=node.inputs * 2, attrs=(("dim", attrs_of(node)["dim"]),))


def own(node):
    """The shard of what this replica has alone."""
    return node._replace(op="chunk", attrs=tuple(pair for pair in node.attrs if pair[0] != "reduce"))


FAULTS = {
    "a gradient that is averaged": (1, "reduce_scatter", lambda node: with_attrs(node, reduce="mean")),
    "a gradient that is not added": (1, "reduce_scatter", own),
    "a weight that is not gathered": (1, "all_gather", pair_of_one),
    "a gradient of one microbatch that is not added": (2, "reduce_scatter", own),
    "a weight of one replica": (3, "all_gather", pair_of_one),
    "a norm of one replica": (1, "all_reduce", lambda node: with_attrs(node, replicas=False)),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_among_replicas_are_refuted(name):
    zero, op, change = FAULTS[name]
    single, parallel = generate("mlp", replace(TINY, zero=zero, layers=1, tp=1))
    wrong = rewrite_where(parallel, op, among_replicas(change))
    assert wrong != parallel
    assert compare(single, wrong, seed=1).outcome in (DIFFER, FAULT)
    assert answer(single, wrong) == "REFUTED"


def test_the_text_of_a_sharded_step_does_not_grow_with_replicas():
    texts = [write(generate("llama3", replace(SMALL, zero=1, dp=dp, batch=dp))[1]) for dp in (2, 4)]
    assert abs(len(texts[0]) - len(texts[1])) < 100
