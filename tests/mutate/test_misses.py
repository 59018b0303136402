"""Faults that were once proved, each as a pair of a wrong plan and its right twin."""

from dataclasses import replace

import pytest

from tests import builders
from tests.builders import answer, mlp, rewrite_where

SINGLE = mlp()


def without_loader(plan, device):
    """One device reads an input that it never loads."""
    return rewrite_where(plan, "dataloader", lambda node: None, device)


@pytest.mark.parametrize("mesh", [{"tp": 2}, {"dp": 2, "nm": 2, "tp": 2}])
def test_an_input_that_one_device_never_loads(mesh):
    plan = mlp(**mesh)
    assert answer(SINGLE, plan) == "PROVED"
    assert answer(SINGLE, without_loader(plan, 1)) == "REFUTED"


def test_the_call_of_a_loader_left_out():
    plan = mlp(tp=2)
    loader = builders.Segment("load", 1, plan.segments[3].nodes[:1])
    assert loader.nodes[0].op == "dataloader"
    rest = plan.segments[3]._replace(nodes=plan.segments[3].nodes[1:])
    segments = (*plan.segments[:3], rest, *plan.segments[4:], loader)
    calls = (builders.Call(len(plan.segments), 0), *plan.programs[1])
    apart = replace(plan, segments=segments, programs=(plan.programs[0], calls))
    assert answer(SINGLE, apart) == "PROVED"
    assert answer(SINGLE, replace(apart, programs=plan.programs)) == "REFUTED"


def test_a_gradient_of_another_shape_than_its_output_is_a_finding_and_no_crash():
    def along_one_axis(node):
        return builders.with_attrs(node, dim=(0,), keepdim=False)

    wrong = rewrite_where(mlp(tp=2), "sum.grad", along_one_axis, device=1)
    assert "shape-mismatch" in builders.codes(builders.ask(SINGLE, wrong))


def test_a_loader_of_what_is_no_input():
    plan = mlp(tp=2)
    inner = next(k for k, t in enumerate(plan.tensors) if plan.logicals[t.logical].name == "y")
    unused = len(plan.tensors)
    plan = replace(plan, tensors=(*plan.tensors, plan.tensors[inner]))
    loader = builders.Segment("load again", 1, plan.segments[3].nodes[:1])
    calls = (*plan.programs[1], builders.Call(len(plan.segments), 0))
    wrong = replace(
        plan,
        segments=(*plan.segments, loader._replace(nodes=(loader.nodes[0]._replace(outputs=(unused,)),))),
        programs=(plan.programs[0], calls),
    )
    assert answer(SINGLE, plan) == "PROVED"
    assert answer(SINGLE, wrong) == "REFUTED"
