"""What nobody says becomes an input of real numbers; of integers no bounds are known, and they stay as they are."""

from dataclasses import replace

import pytest

from tests.builders import mlp
from verdict.graph.plan import INPUT, Node
from verdict.graph.unsaid import UNSAID, with_unsaid


def left(dtype):
    """The network, in which the first node's value is left unsaid."""
    plan = mlp()
    (first, *nodes), made = plan.segments[0].nodes[1:], plan.segments[0].nodes[1].outputs[0]
    logicals = list(plan.logicals)
    logicals[plan.tensors[made].logical] = logicals[plan.tensors[made].logical]._replace(dtype=dtype)
    unsaid = Node(UNSAID, (), first.outputs, (("reason", "what is left"),), first.name)
    row = (plan.segments[0].nodes[0], unsaid, *nodes)
    segments = (plan.segments[0]._replace(nodes=row), *plan.segments[1:])
    return replace(plan, logicals=tuple(logicals), segments=segments)


@pytest.mark.parametrize(("dtype", "inputs"), [("float32", 1), ("bfloat16", 1), ("int64", 0), ("bool", 0)])
def test_real_numbers_alone_become_inputs_of_both_plans(dtype, inputs):
    single, parallel = mlp(), left(dtype)
    for before, after in zip((single, parallel), with_unsaid(single, parallel), strict=True):
        kinds = [[each.kind for each in plan.logicals].count(INPUT) for plan in (before, after)]
        assert kinds[1] - kinds[0] == inputs
    ops = [node.op for segment in with_unsaid(single, parallel)[1].segments for node in segment.nodes]
    assert (UNSAID in ops) is not bool(inputs)
