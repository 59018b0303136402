"""Faults that were once proved, each as a pair of a wrong plan and its right twin."""

from dataclasses import replace

import pytest

from tests import builders
from tests.builders import answer, mlp, rewrite_where
from verdict.backends.generator import Sizes, generate

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


def ahead(plan, tensor_name, device, order):
    """The plan with the first call that sends `tensor_name` taking it from the other microbatch."""
    tensor = next(
        tensor
        for segment in plan.segments
        if segment.device == device
        for node in segment.nodes
        if node.op == "send" and plan.logicals[plan.tensors[node.inputs[0]].logical].name == tensor_name
        for tensor in node.inputs
    )
    sends = [
        k
        for k, call in enumerate(plan.programs[device])
        if any(node.op == "send" and tensor in node.inputs for node in plan.segments[call.segment].nodes)
    ]
    at = sends[order]
    call = plan.programs[device][at]
    crossed = call._replace(crossed=((tensor, 1 - call.microbatch),))
    program = (*plan.programs[device][:at], crossed, *plan.programs[device][at + 1 :])
    return replace(plan, programs=(*plan.programs[:device], program, *plan.programs[device + 1 :]))


def test_a_tensor_of_a_microbatch_that_is_not_there_yet():
    """The causal mask is the same in all microbatches: taken from the one before it is right, from the next not."""
    single, parallel = generate("llama3", Sizes(2, 16, 4, 4, 8, dp=1, tp=1, pp=2, microbatches=2, vocab=8, ffn=8))
    mask = next(t.name for t in parallel.logicals if t.shape == (1, 1, 4, 4))
    assert answer(single, ahead(parallel, mask, 0, order=1)) == "PROVED"
    assert answer(single, ahead(parallel, mask, 0, order=0)) == "REFUTED"


@pytest.mark.parametrize(("name", "verdict"), [("a", "REFUTED"), ("xs", "REFUTED"), ("y", "PROVED")])
def test_a_buffer_that_every_microbatch_makes_anew(name, verdict):
    """The backward pass reads another microbatch's a and xs; of y it reads the shape alone."""

    def relabelled(plan):
        logicals = tuple(t._replace(kind="buffer") if t.name == name else t for t in plan.logicals)
        return replace(plan, logicals=logicals)

    assert answer(SINGLE, relabelled(mlp(tp=2))) == "PROVED"
    assert answer(SINGLE, relabelled(mlp(tp=2, nm=2))) == verdict


def test_a_gradient_that_an_operator_does_not_have_is_no_crash():
    single, parallel = generate("llama3", Sizes(2, 16, 4, 4, 8, dp=2, tp=1, pp=1, microbatches=2, vocab=8, ffn=8))
    wrong = rewrite_where(parallel, "embedding.grad", lambda node: node._replace(outputs=node.outputs[::-1]))
    assert answer(single, wrong) == "REFUTED"
