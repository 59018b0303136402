"""Which single-device nodes a node may be the counterpart of: by name, by the line that it cites, in the same order."""

from dataclasses import replace
from itertools import count

import pytest

from tests.builders import walked
from verdict.backends.generator import Sizes, generate
from verdict.graph import WEIGHT, Node
from verdict.graph.names import unwrapped_node
from verdict.lineage.counterparts import NONE, Alike, counterparts, in_turn

SIZES = Sizes(layers=3, hidden=8, heads=2, seq=4, batch=4, dp=1, tp=1, pp=1, microbatches=1, vocab=8, ffn=8)
LINE = "optimizer.py:10 step"


def nodes_of(plan):
    return [node for segment in plan.segments for node in segment.nodes]


def on_one_line(plan):
    """The plan as a recording has it: nodes of one operator cite one line of the program."""
    named = [s._replace(nodes=tuple(n._replace(name=LINE) for n in s.nodes)) for s in plan.segments]
    return replace(plan, segments=tuple(named))


def test_the_node_in_the_same_place_comes_first_and_every_other_one_once():
    plan = on_one_line(generate("mlp", SIZES)[0])
    nodes = nodes_of(plan)
    found = counterparts(plan, plan)
    assert max(sum(other.op == node.op for other in nodes) for node in nodes) > 2
    for node in nodes:
        first, *others = in_turn(found[0, node.outputs])
        assert first == node
        assert others == [other for other in nodes if other.op == node.op and other != node]


def test_where_no_node_is_in_the_same_place_each_comes_in_order():
    nodes = [Node("add", (k,), (k + 1,), (), f"add {k}") for k in range(4)]
    for place in range(6):
        expected = [*nodes[place : place + 1], *nodes[:place], *nodes[place + 1 :]]
        assert list(in_turn(Alike(nodes, place))) == expected
    assert not list(in_turn(NONE))


def test_nodes_of_one_line_share_one_list():
    plan = on_one_line(generate("mlp", SIZES)[0])
    lists = {id(alike.nodes) for alike in counterparts(plan, plan).values()}
    assert len(lists) == len({node.op for node in nodes_of(plan)})


def test_a_node_of_no_counterpart_has_none():
    single, parallel = generate("mlp", SIZES)
    other = on_one_line(single)
    assert all(not list(in_turn(alike)) for alike in counterparts(other, parallel).values())


def called(plan, name):
    """The plan with its nodes called by a function of an operator and a number."""
    number = count()
    named = [s._replace(nodes=tuple(n._replace(name=name(n.op, next(number))) for n in s.nodes)) for s in plan.segments]
    return replace(plan, segments=tuple(named))


def test_what_a_name_says_behind_the_place_that_it_cites_is_of_one_text_alone():
    plan = generate("mlp", SIZES)[0]
    single, parallel = (called(plan, lambda op, k, first=first: f"{LINE}: %{op}.{k + first}") for first in (0, 500))
    found = counterparts(single, parallel)
    assert all(list(in_turn(alike)) for alike in found.values())


def test_nodes_of_other_modules_are_no_counterparts_though_they_cite_one_line():
    plan = generate("mlp", SIZES)[0]
    single, parallel = (called(plan, lambda op, k, of=of: f"{of}: {op} ({LINE})") for of in ("norm", "embedding"))
    assert not any(list(in_turn(alike)) for alike in counterparts(single, parallel).values())
    assert all(list(in_turn(alike)) for alike in counterparts(single, single).values())


def renamed(plan, names, origins):
    """A plan whose outputs of weights are outputs of their own: they are found by origin or by name."""
    updated = [held for held in plan.outputs if held.weight >= 0 and plan.kind(held.weight) == WEIGHT]
    own = [plan.tensors[held.tensor].logical for held in updated]
    logicals = list(plan.logicals)
    for k, name, origin in zip(own, names, origins, strict=True):
        logicals[k] = logicals[k]._replace(name=name, origin=origin)
    return replace(plan, logicals=tuple(logicals), outputs=tuple(held._replace(weight=-1) for held in updated))


def test_an_output_is_found_by_its_origin_or_its_name():
    single, parallel = generate("mlp", replace(SIZES, optimizer="sgd"))
    weights = sum(single.kind(held.weight) == WEIGHT for held in single.outputs if held.weight >= 0)
    assert weights > 1
    names, origins, none = [f"out{k}" for k in range(weights)], list(range(weights)), [None] * weights
    others = [f"other{k}" for k in range(weights)]
    ours = renamed(single, names, origins)
    verdicts = {
        "by origin": walked(ours, renamed(parallel, others, origins)),
        "by name": walked(ours, renamed(parallel, names, none)),
        "another's origin": walked(ours, renamed(parallel, others, [*origins[1:], origins[0]])),
        "another's name": walked(ours, renamed(parallel, [*names[1:], names[0]], none)),
    }
    assert [report.verdict.name for report in verdicts.values()] == ["PROVED", "PROVED", "REFUTED", "REFUTED"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("module.layers.0: view (model.py:3 forward)", "layers.0: view (model.py:3 forward)"),
        ("module: view (model.py:3 forward)", "view (model.py:3 forward)"),
        ("_orig_mod.module.up._checkpoint_wrapped_module: t (model.py:3)", "up: t (model.py:3)"),
        ("my.module.up: view (model.py:3 forward)", "my.module.up: view (model.py:3 forward)"),
        ("view (model.py:3 module: forward)", "view (model.py:3 module: forward)"),
    ],
)
def test_what_wraps_a_module_is_left_out_of_names(name, expected):
    assert unwrapped_node(name) == expected


def test_nodes_of_a_wrapped_module_are_found_where_that_is_asked_for():
    single = generate("mlp", SIZES)[0]
    named = [s._replace(nodes=tuple(n._replace(name=f"up: {n.name}") for n in s.nodes)) for s in single.segments]
    alone = replace(single, segments=tuple(named))
    wrapped = [s._replace(nodes=tuple(n._replace(name=f"module.{n.name}") for n in s.nodes)) for s in named]
    parallel = replace(single, segments=tuple(wrapped))
    assert not any(found.nodes for found in counterparts(alone, parallel).values())
    assert all(found.nodes for found in counterparts(alone, parallel, unwraps=True).values())
