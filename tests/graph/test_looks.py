"""Nodes of one look are checked once: what is found is what is found of each node by itself."""

import pickle
from dataclasses import replace
from random import Random

import pytest

from tests.builders import mlp, rewrite_where
from verdict.backends.generator import Sizes, generate
from verdict.errors import PlanFileError
from verdict.graph import Plan, without_effects
from verdict.graph.check import check_plan
from verdict.graph.form import require_form
from verdict.graph.types import check_types
from verdict.mutate.mutate import KINDS
from verdict.ops import RULES
from verdict.ops.types import GRADIENTS, beyond, kind

SIZES = Sizes(layers=2, hidden=8, heads=4, seq=4, batch=16, dp=2, tp=2, pp=2, microbatches=2, vocab=16, ffn=12)


def each_by_itself(plan: Plan) -> Plan:
    """The plan, in which no two nodes have one look: each has attributes that are an object of their own."""
    segments = tuple(
        segment._replace(nodes=tuple(node._replace(attrs=(*node.attrs,)) for node in segment.nodes))
        for segment in plan.segments
    )
    return replace(plan, segments=segments)


def found(plan: Plan) -> object:
    """What the door says of a plan."""
    try:
        require_form(plan, RULES)
    except PlanFileError as error:
        return str(error)
    plain = without_effects(plan)
    return check_plan(plain, RULES), check_types(plain, RULES, kind, GRADIENTS, beyond)


def test_the_looks_of_a_plan_are_few_and_the_slow_mode_has_one_for_each_node():
    _, plan = generate("llama3", SIZES)
    nodes = sum(len(segment.nodes) for segment in plan.segments)
    with_attributes = sum(bool(node.attrs) for segment in plan.segments for node in segment.nodes)
    assert len(plan.looks) < nodes / 2
    assert len(each_by_itself(plan).looks) >= with_attributes


@pytest.mark.parametrize("fault", sorted(KINDS))
def test_faults_are_found_as_in_each_node_by_itself(fault):
    _, plan = generate("llama3", SIZES)
    for seed in range(2):
        change = KINDS[fault](plan, Random(seed))
        if change is not None:
            assert found(change[0]) == found(each_by_itself(change[0]))


def test_what_a_look_does_not_tell_apart_is_wrong_at_every_place():
    plan = mlp(tp=3, dp=2)
    wrong = rewrite_where(plan, "relu", lambda node: node._replace(inputs=node.inputs * 2))
    assert found(wrong) == found(each_by_itself(wrong)) != found(plan) == ((), ())


def test_a_plan_that_was_pickled_has_looks_of_its_own():
    _, plan = generate("llama3", SIZES)
    assert plan.looks
    again = pickle.loads(pickle.dumps(plan))
    assert again == plan
    assert all(again.look(again.segments[number].nodes[at]) == look for look, (number, at) in again.looks.items())
