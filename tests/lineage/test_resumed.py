"""A plan that was changed is walked again where the changes reach: it holds what a whole walk says it holds."""

import sys
from functools import partial
from importlib import import_module

import pytest

from tests.repair.make import pair, repaired
from tests.repair.test_generated import (
    FAULTS,
    dropped_all_reduce,
    gather_in_place,
    narrowed_all_reduce,
    no_forward_all_reduce,
    skipped_relu,
)
from verdict.errors import VerdictError
from verdict.graph import ABSENT, ACCUMULATOR
from verdict.graph.check import check_plan
from verdict.graph.form import require_form
from verdict.graph.microbatches import walked_microbatches
from verdict.lineage import bind, propagate, reference, resumed
from verdict.mutate import mutate
from verdict.ops import RULES
from verdict.phases import walk

resumed_module = import_module("verdict.lineage.resumed")
walk_module = sys.modules[walk.__module__]

SIZES = {"dp": 2, "tp": 2, "pp": 2, "microbatches": 2}


def standing(walk):
    """The members in the place of their numbers, each with the places in one order."""
    return {
        index: {walk.distinct[number]: sorted(places) for number, places in numbers.items()}
        for index, numbers in walk.members.items()
    }


def require_the_same(found, whole):
    assert (found.findings, found.gaps) == (whole.findings, whole.gaps) == ((), ())
    assert found.ends == whole.ends
    assert found.nodes == whole.nodes
    assert standing(found) == standing(whole)
    assert found.laws >= whole.laws
    assert {one.name for one in found.assumptions} >= {one.name for one in whole.assumptions}
    for ours, theirs in zip(found.held, whole.held, strict=True):
        assert {tensor: ours.get(tensor, "nothing") for tensor in theirs} == theirs


class Walker:
    """Walks of plans of one single-device plan."""

    def __init__(self, single):
        self.single, self.tables = single, {}

    def whole(self, plan):
        binding = bind(self.single, plan)
        key = plan.columns, tuple(binding.batch.items())
        if key not in self.tables:
            self.tables[key] = reference(self.single, plan.columns, binding.batch)
        (microbatch,) = walked_microbatches(plan, False)
        return propagate(self.tables[key], plan, binding, microbatch), binding, microbatch

    def again(self, was, plan):
        """The walk of a plan after that of another one, held against the whole one; None where there is none."""
        before, bound, number = self.whole(was)
        whole, binding, microbatch = self.whole(plan)
        if number != microbatch or before.reference is not whole.reference or bound.logical != binding.logical:
            return None
        found = resumed(before, was, plan, binding, microbatch, frozenset())
        if found is not None:
            require_the_same(found, whole)
        return found


def is_a_plan(plan):
    """Whether a plan comes past the door."""
    try:
        require_form(plan, RULES)
    except VerdictError:
        return False
    return not check_plan(plan, RULES)


FOLLOWED = (no_forward_all_reduce, narrowed_all_reduce, dropped_all_reduce, gather_in_place, skipped_relu)


@pytest.fixture
def whole_plans(monkeypatch):
    monkeypatch.setattr(resumed_module, "SHARE", 1)


@pytest.mark.parametrize("fault", FOLLOWED, ids=lambda fault: fault.__name__)
def test_a_right_plan_is_followed_from_a_wrong_one(fault, whole_plans):
    single, right = pair()
    found = Walker(single).again(fault(right), right)
    assert found is not None


@pytest.mark.parametrize("model", ["mlp", "llama3", "deepseek"])
def test_mutants_and_right_plans_are_followed_as_they_are_walked(model, whole_plans):
    """From each mutant to the right plan, to a mutant from it, and from one mutant to the next."""
    single, right = pair(model, **SIZES, experts=8, groups=2, topk_groups=1, topk=2, moe_ffn=4)
    walker, followed, plans = Walker(single), 0, [right]
    for mutant in mutate(right, 5, 130):
        if not is_a_plan(mutant.plan):
            continue
        plans.append(mutant.plan)
        try:
            ways = [(plans[-1], right), (right, plans[-1]), (plans[-2], plans[-1])]
            followed += sum(walker.again(*way) is not None for way in ways)
        except VerdictError:
            plans.pop()
    assert followed > 20


def test_few_steps_are_taken_anew(monkeypatch):
    """Those of the two ranks on which a sum was left out, and those that read it, however many layers there are."""
    single, right = pair("llama3", layers=6)
    wrong, taken = no_forward_all_reduce(right), []
    step = resumed_module._Walk._take

    def noted(self, steps, follow):
        taken.extend(steps.values())
        step(self, steps, follow)

    monkeypatch.setattr(resumed_module._Walk, "_take", noted)
    assert Walker(single).again(wrong, right) is not None
    assert 2 < len(taken) <= 12


def test_the_search_walks_on_from_the_plan_that_it_repairs(monkeypatch, whole_plans):
    """Of each kind of fault: the same repairs, proved by what a whole walk proves; and that it is not made."""
    single, right = pair()
    whole, found = {}, {}
    for fault, _, _ in FAULTS:
        with monkeypatch.context() as patched:
            patched.setattr(walk_module, "resumed", lambda *given: None)
            whole[fault] = repaired(single, fault(right))
        walked = []
        with monkeypatch.context() as patched:
            patched.setattr(walk_module, "propagate", partial(noted_walk, walked))
            assert repaired(single, fault(right)) == whole[fault]
        found[fault] = len(walked)
    assert found[no_forward_all_reduce] == found[dropped_all_reduce] == 1
    assert [proposal.proved for proposal in whole[no_forward_all_reduce]] == [True]


def noted_walk(walked, table, plan, *rest):
    walked.append(plan)
    return propagate(table, plan, *rest)


def test_what_adds_to_an_accumulator_is_walked_as_a_whole(whole_plans):
    single, right = pair()
    kinds = {right.kind(t) for s in right.segments for n in s.nodes for t in n.outputs if t != ABSENT}
    assert ACCUMULATOR in kinds
    added = next(fault for fault, _, _ in FAULTS if fault.__name__ == "added_twice")
    assert Walker(single).again(added(right), right) is None
