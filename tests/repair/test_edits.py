"""Patches: applied at once, joined where they go together, numbered behind what is there."""

from tests.builders import mlp
from verdict.graph import ONCE_A_STEP, Call, Node, Segment
from verdict.repair.edits import Patch, Site, apply, joined, node_at

PLAN = mlp(tp=2)
RELU = Site(0, 3)
NEW = len(PLAN.tensors)


def with_copy(name: str) -> Patch:
    """A new tensor, and a node behind the relu that makes it."""
    output = node_at(PLAN, RELU).outputs[0]
    return Patch(behind={RELU: (Node("identity", (output,), (NEW,), (), name),)}, tensors=(PLAN.tensors[output],))


def test_nothing_changes_nothing() -> None:
    assert apply(PLAN, Patch()) == PLAN


def test_nodes_are_exchanged_and_follow() -> None:
    assert node_at(PLAN, RELU).op == "relu"
    patch = Patch(instead={RELU: ()}, behind=with_copy("copy").behind)
    nodes = apply(PLAN, patch).segments[0].nodes
    assert [node.op for node in nodes].count("relu") == 0
    assert nodes[RELU.at].name == "copy"
    assert len(nodes) == len(PLAN.segments[0].nodes)


def test_joined_patches_number_their_tensors_one_behind_the_other() -> None:
    both, held = joined(PLAN, [with_copy("one"), with_copy("other")])
    assert held == (True, True)
    plan = apply(PLAN, both)
    one, other = plan.segments[0].nodes[RELU.at + 1 : RELU.at + 3]
    assert (one.name, one.outputs) == ("one", (NEW,))
    assert (other.name, other.outputs) == ("other", (NEW + 1,))
    assert len(plan.tensors) == NEW + 2


def test_patches_that_contradict_each_other_are_not_joined() -> None:
    node = node_at(PLAN, RELU)
    one, other = (Patch(instead={RELU: (node._replace(op=op),)}) for op in ("silu", "gelu"))
    both, held = joined(PLAN, [one, other, with_copy("copy")])
    assert held == (True, False, True)
    assert node_at(apply(PLAN, both), RELU).op == "silu"


def test_new_segments_are_called_by_their_own_number() -> None:
    def once(device: int) -> Patch:
        call = Call(len(PLAN.segments), ONCE_A_STEP)
        programs = {device: (*PLAN.programs[device], call)}
        return Patch(segments=(Segment("new", device, ()),), programs=programs)

    both, held = joined(PLAN, [once(0), once(1)])
    plan = apply(PLAN, both)
    assert held == (True, True)
    for device in (0, 1):
        assert plan.segments[plan.programs[device][-1].segment] == Segment("new", device, ())
