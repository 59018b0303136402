"""Segments that a plan writes for each microbatch by itself: what they do counts, not how often they are written."""

from dataclasses import replace

import pytest

from tests.builders import answer, ask, codes, mlp, with_attrs
from verdict.graph import ACTIVATION, Node, Tensor
from verdict.graph.check import check_plan
from verdict.graph.merged import merged
from verdict.graph.microbatches import unlike
from verdict.ops import RULES
from verdict.report import Verdict

SINGLE = mlp()
LAYOUTS = {"one device": {"nm": 2}, "all": {"dp": 2, "tp": 2, "pp": 2, "nm": 2}}


def apart(plan, change=lambda plan, nodes: (plan, nodes), device=0, nth=0):
    """The plan, in which the last microbatch has a segment of its own for its nth call, with changed nodes."""
    at = [k for k, call in enumerate(plan.programs[device]) if call.microbatch == plan.microbatches - 1][nth]
    program = plan.programs[device]
    segment = plan.segments[program[at].segment]
    plan, nodes = change(plan, segment.nodes)
    segments = (*plan.segments, segment._replace(name=f"{segment.name} by itself", nodes=nodes))
    own = program[at]._replace(segment=len(segments) - 1)
    programs = list(plan.programs)
    programs[device] = (*program[:at], own, *program[at + 1 :])
    return replace(plan, segments=segments, programs=tuple(programs))


def with_dead_node(plan, nodes):
    """What nobody reads is computed besides."""
    at, node = next((k, node) for k, node in enumerate(nodes) if node.op == "relu")
    share = plan.tensors[node.outputs[0]]
    unread = plan.logicals[share.logical]._replace(name="unread", kind=ACTIVATION, origin="unread")
    tensors = (*plan.tensors, Tensor(len(plan.logicals), share.region))
    more = Node("exp", node.outputs, (len(tensors) - 1,), (), "unread")
    return replace(plan, logicals=(*plan.logicals, unread), tensors=tensors), (*nodes[: at + 1], more, *nodes[at + 1 :])


def another_operator(plan, nodes):
    return plan, tuple(node._replace(op="silu") if node.op == "relu" else node for node in nodes)


def left_out(plan, nodes):
    """The last node, which adds to a gradient, is not there."""
    return plan, nodes[:-1]


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("nth", [0, -1], ids=["forward", "backward"])
def test_the_same_segment_written_twice_is_one(layout, nth):
    plan = apart(mlp(**layout), nth=nth)
    assert not list(unlike(merged(plan)))
    assert merged(plan).programs == mlp(**layout).programs
    assert answer(SINGLE, plan) == "PROVED"


def test_a_plan_without_such_segments_stays_as_it_is():
    plan = mlp(nm=2)
    assert merged(plan) is plan


def test_attributes_are_compared_as_they_are_written():
    def written(plan, nodes, one):
        return plan, tuple(with_attrs(node, other=one) for node in nodes)

    def both(one):
        plan = apart(mlp(nm=2), lambda plan, nodes: written(plan, nodes, 1))
        first = plan.programs[0][0].segment
        nodes = written(plan, plan.segments[first].nodes, one)[1]
        segments = [segment._replace(nodes=nodes) if k == first else segment for k, segment in enumerate(plan.segments)]
        return replace(plan, segments=tuple(segments))

    assert not list(unlike(merged(both(1))))
    assert len(list(unlike(merged(both(1.0))))) == 2


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_another_segment_may_run_in_its_place(layout):
    plan = apart(mlp(**layout), with_dead_node)
    assert check_plan(plan, RULES) == ()
    assert len(list(unlike(plan))) == 2
    assert answer(SINGLE, plan) == "PROVED"


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize(("change", "nth"), [(another_operator, 0), (left_out, -1)])
def test_what_runs_in_its_place_may_be_wrong(layout, change, nth):
    report = ask(SINGLE, apart(mlp(**layout), change, nth=nth))
    assert report.verdict is Verdict.REFUTED


def test_nothing_in_its_place_is_a_fault():
    plan = mlp(nm=2)
    first, *rest = plan.programs[0]
    report = ask(SINGLE, replace(plan, programs=((first, *rest[1:]),)))
    assert "microbatch-missing" in codes(report)
