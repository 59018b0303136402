"""Collectives that state tensors of other numbers of dimensions than they are given are findings like others."""

from dataclasses import replace

import pytest

from tests.builders import mlp
from verdict.graph import Tensor, whole
from verdict.options import Options
from verdict.pipeline import verify


def stated_otherwise(shape, ranks=(0, 1)):
    """The all-reduce of the forward pass states a tensor of that shape on some ranks."""
    plan = mlp(tp=2)
    node = next(n for s in plan.segments for n in s.nodes if n.op == "all_reduce")
    logical = plan.logicals[plan.tensors[node.outputs[0]].logical]
    other = logical._replace(name="other", shape=shape, origin="other")
    tensors = (*plan.tensors, Tensor(len(plan.logicals), whole(shape)))
    segments = tuple(
        segment._replace(
            nodes=tuple(
                n._replace(outputs=(len(tensors) - 1,)) if n.name == node.name and segment.device in ranks else n
                for n in segment.nodes
            )
        )
        for segment in plan.segments
    )
    return replace(plan, logicals=(*plan.logicals, other), tensors=tensors, segments=segments)


@pytest.mark.parametrize("shape", [(8,), (8, 6, 2)])
@pytest.mark.parametrize("ranks", [(0,), (0, 1)])
def test_another_number_of_dimensions(shape, ranks):
    report = verify(mlp(), stated_otherwise(shape, ranks), Options())
    assert report.verdict.name == "REFUTED"


def test_the_right_one_is_proved():
    assert verify(mlp(), mlp(tp=2), Options()).verdict.name == "PROVED"
