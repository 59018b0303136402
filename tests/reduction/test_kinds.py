"""Nodes of one kind ask of scales what each of them asks by itself: small shapes and attributes are the same."""

from dataclasses import replace
from pathlib import Path

import pytest

from verdict.backends import pairs
from verdict.backends.generator import MODELS, Sizes, generate
from verdict.comparison import Faulty
from verdict.graph import WEIGHT, without_effects
from verdict.mutate import mutate
from verdict.reduction import shrink, side
from verdict.reduction.shrink import LEAST
from verdict.semantics import bind

BUGS = Path(__file__).resolve().parents[1] / "bugs"
SIZES = Sizes(
    layers=2, hidden=64, heads=8, seq=32, batch=32, dp=1, tp=4, pp=2, microbatches=2, vocab=64, ffn=96, experts=8,
    topk=2, groups=2, topk_groups=1, moe_ffn=32,
)  # fmt: skip


def reduced(single, parallel):
    """Both plans as they are reduced, or why they are not."""
    single, parallel = without_effects(single), without_effects(parallel)
    try:
        return shrink(single, parallel, bind(single, parallel))
    except Faulty as error:
        return error.fault


def by_itself(node, pattern, logicals):
    return node, id(pattern), len(logicals)


def require_the_same(monkeypatch, single, parallel):
    found = reduced(single, parallel)
    with monkeypatch.context() as patched:
        patched.setattr(side, "kind_of", by_itself)
        assert reduced(single, parallel) == found


@pytest.mark.parametrize("model", MODELS)
def test_generated_plans(monkeypatch, model):
    single, parallel = generate(model, SIZES)
    require_the_same(monkeypatch, single, parallel)


def test_plans_with_faults(monkeypatch):
    single, parallel = generate("llama3", SIZES)
    for mutant in mutate(parallel, 3, 4):
        require_the_same(monkeypatch, single, mutant.plan)


@pytest.mark.parametrize("name", pairs.names(BUGS)[::7])
def test_bugs(monkeypatch, name):
    pair = pairs.load(BUGS, name)
    require_the_same(monkeypatch, *pair.plans())


def test_the_ranks_of_a_group_are_of_one_kind():
    single, parallel = generate("llama3", SIZES)
    kinds = [len(side.Side(plan, side.Factors(), 1).kinds) for plan in map(without_effects, (single, parallel))]
    assert kinds[1] < 2 * kinds[0]


def test_what_nothing_reads_is_given_at_a_small_shape():
    single, parallel = generate("llama3", SIZES)
    weight = next(each for each in single.logicals if each.kind == WEIGHT)
    unread = weight._replace(name="unread", shape=(1 << 20, 1 << 20), origin="unread")
    more = [replace(plan, logicals=(*plan.logicals, unread)) for plan in (single, parallel)]
    few, found = reduced(single, parallel), reduced(*more)
    assert [small.logicals[:-1] for small in found.small] == [small.logicals for small in few.small]
    assert [max(small.logicals[-1]) <= LEAST for small in found.small] == [True, True]
