"""Of a large plan only the layers around a fault are run, the others silenced: the same losses, the same verdict."""

from dataclasses import replace
from importlib import import_module

import pytest

from tests.builders import rewrite
from verdict.backends.generator import Sizes, generate
from verdict.concrete import AGREE, DIFFER, compare
from verdict.concrete.execute import execute
from verdict.graph import GRAD
from verdict.graph.cone import of_losses
from verdict.inputs import Scale, random_values
from verdict.ops import RULES
from verdict.ops.known import UNKNOWN, ZERO, Call, Known, handed_on, made
from verdict.phases import Query, certify, walk
from verdict.phases.silenced import gradients_behind, silenced
from verdict.report import Verdict
from verdict.semantics import bind, full, itself

pytestmark = pytest.mark.usefixtures("shared_proofs")

certify_module = import_module("verdict.phases.certify")

SIZES = Sizes(
    layers=4, hidden=8, heads=2, seq=4, batch=4, vocab=8, ffn=8, dp=1, tp=2, pp=2, microbatches=1, experts=4, topk=2,
    groups=2, topk_groups=1, shared_experts=1, moe_ffn=4, dense_layers=0,
)  # fmt: skip
MODELS = ("llama3", "gpt", "deepseek")


def unsummed(parallel, layer, nth=0):
    """The plan without the nth sum over ranks of a layer's forward pass, on every rank."""
    names = dict.fromkeys(
        node.name
        for segment in parallel.segments
        for node in segment.nodes
        if node.op == "all_reduce" and node.name.startswith(f"layers.{layer}.") and not node.name.endswith(GRAD)
    )
    name = [*names][nth]
    return rewrite(
        parallel,
        lambda device, node: node._replace(op="identity", attrs=())
        if (node.op, node.name) == ("all_reduce", name)
        else node,
    )


def cut(single, wrong):
    """The pair around what the walk finds first."""
    query = Query(single, wrong)
    walked = walk(query)
    losses = of_losses(single), of_losses(wrong)
    return silenced(query.values, losses, walked.report.findings[0], walked.walks)


def losses_of(plan, binding, given):
    return list(execute(plan, full(plan), binding, given).losses.values())


def nodes(plan):
    return [node for segment in plan.segments for node in segment.nodes]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("layer", [0, 2, 3])
def test_losses_are_those_of_the_whole_plans_to_the_last_bit(model, layer):
    single, parallel = generate(model, SIZES)
    wrong = unsummed(parallel, layer)
    few = cut(single, wrong)
    assert len(nodes(few.single)) < len(nodes(of_losses(single))) / 2
    scale = Scale(silent=few.weights)
    given = random_values(single, full(single), 1, False, scale=scale)
    drawn = random_values(few.single, full(few.single), 1, False, scale=scale)
    by_name = {single.logicals[k].name: array for k, array in given.items()}
    assert drawn.keys() == {k for k, each in enumerate(few.single.logicals) if each.name in by_name}
    given_few = {k: by_name[few.single.logicals[k].name] for k in drawn}
    for whole, small, ours, theirs in (
        (single, few.single, itself(single), itself(few.single)),
        (wrong, few.parallel, bind(single, wrong), bind(few.single, few.parallel)),
    ):
        expected, found = losses_of(whole, ours, given), losses_of(small, theirs, given_few)
        assert [array.tolist() for array in expected] == [array.tolist() for array in found]


def require_few_as_all(single, wrong, monkeypatch):
    """One run of few nodes refutes, with the report that the run of all nodes gives."""
    monkeypatch.setattr(certify_module, "FEW_STEPS", 0)
    monkeypatch.setattr(certify_module, "needs_no_run", lambda examined: ())
    run, ran = certify_module.run_on_numbers, []

    def noted(one, two, *rest, **options):
        ran.append(len(nodes(two)))
        return run(one, two, *rest, **options)

    monkeypatch.setattr(certify_module, "run_on_numbers", noted)
    query = Query(single, wrong)
    examined = walk(query)
    reports = [certify(query, examined).report]
    assert ran == [ran[0]]
    assert ran[0] < len(nodes(of_losses(query.parallel))) / 2
    monkeypatch.setattr(certify_module, "silenced", lambda *given: None)
    reports.append(certify(query, examined).report)
    assert ran[1] > 2 * ran[0]
    assert reports[0] == reports[1]
    assert reports[0].verdict is Verdict.REFUTED


def not_summed_behind(parallel, layer, norm):
    """The plan in which the gradient of what a layer reads is not summed over ranks."""
    name = f"layers.{layer}.{norm}.grad"
    return rewrite(
        parallel,
        lambda device, node: node._replace(op="identity", attrs=())
        if (node.op, node.name) == ("all_reduce", name)
        else node,
    )


def cut_behind(single, wrong):
    """The pair around what the walk finds first in the backward pass."""
    walked = walk(Query(single, wrong))
    finding = walked.report.findings[0]
    cones = gradients_behind((single, wrong), finding)
    return cones, silenced((single, wrong), cones, finding, walked.walks)


def gradients_of(plan, binding, given, held):
    found = execute(plan, full(plan), binding, given).gradients
    by_device = {(rank.device, tensor): array for (rank, tensor), array in found.items()}
    return [by_device[one.device, one.tensor].tolist() for one in held]


@pytest.mark.parametrize("norm", ["attention_norm", "ffn_norm"])
@pytest.mark.parametrize("layer", [0, 2, 3])
def test_gradients_are_those_of_the_whole_plans_to_the_last_bit(norm, layer):
    single, parallel = generate("llama3", SIZES)
    wrong = not_summed_behind(parallel, layer, norm)
    cones, few = cut_behind(single, wrong)
    assert len(nodes(few.single)) < len(nodes(single)) / 4
    scale = Scale(silent=few.weights)
    drawn = random_values(single, full(single), 1, False, scale=scale)
    by_name = {single.logicals[k].name: array for k, array in drawn.items()}
    given = {k: by_name[each.name] for k, each in enumerate(few.single.logicals) if each.name in by_name}
    name = cones[0].logicals[cones[0].tensors[cones[0].gradients[0].weight].logical].name
    for whole, small, ours, theirs in (
        (single, few.single, itself(single), itself(few.single)),
        (wrong, few.parallel, bind(single, wrong), bind(few.single, few.parallel)),
    ):
        held = [one for one in whole.gradients if whole.logicals[whole.tensors[one.weight].logical].name == name]
        assert len(held) == len(small.gradients)
        assert gradients_of(whole, ours, drawn, held) == gradients_of(small, theirs, given, small.gradients)


@pytest.mark.parametrize(("layer", "norm"), [(0, "ffn_norm"), (2, "attention_norm")])
@pytest.mark.parametrize("columns", [{}, {"dp": 2, "microbatches": 2, "batch": 8}])
def test_faults_of_gradients_are_borne_out_by_few_layers_as_by_all(layer, norm, columns, monkeypatch):
    single, parallel = generate("llama3", replace(SIZES, **columns))
    require_few_as_all(single, not_summed_behind(parallel, layer, norm), monkeypatch)


def test_what_is_run_does_not_grow_with_the_layers():
    sizes = []
    for layers in (4, 8):
        single, parallel = generate("llama3", replace(SIZES, layers=layers))
        few = cut(single, unsummed(parallel, 1))
        sizes.append((len(nodes(few.single)), len(nodes(few.parallel))))
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("layer", "nth"), [(0, 0), (1, 1), (3, 0)])
@pytest.mark.parametrize("columns", [{}, {"dp": 2, "microbatches": 2, "batch": 8}])
def test_faults_are_borne_out_by_few_layers_as_by_all(model, layer, nth, columns, monkeypatch):
    single, parallel = generate(model, replace(SIZES, **columns))
    require_few_as_all(single, unsummed(parallel, layer, nth), monkeypatch)


def test_what_agrees_is_not_refuted_by_few_layers(monkeypatch):
    """The right plan, of which a wrong one's finding is told."""
    single, parallel = generate("llama3", SIZES)
    wrong = unsummed(parallel, 1)
    monkeypatch.setattr(certify_module, "FEW_STEPS", 0)
    monkeypatch.setattr(certify_module, "needs_no_run", lambda examined: ())
    examined = walk(Query(single, wrong))
    few = silenced((single, parallel), (of_losses(single), of_losses(parallel)), examined.report.findings[0],
                   examined.walks)  # fmt: skip
    assert compare(few.single, few.parallel).outcome == AGREE
    assert certify(Query(single, parallel), examined).report.verdict is Verdict.UNKNOWN
    assert certify(Query(single, wrong), examined).report.verdict is Verdict.REFUTED


def test_a_layer_that_may_make_no_numbers_is_run():
    """1 / x is none where rows of the table are zero: times zero it is not zero. With other ids there are numbers."""
    single, parallel = generate("llama3", SIZES)
    wrong = unsummed(parallel, 1)
    few = cut(single, wrong)

    def inverse(device, node):
        is_there = (node.op, node.name) == ("silu", "layers.2.feed_forward.silu")
        return node._replace(op="aten.reciprocal") if is_there else node

    whole = rewrite(single, inverse), rewrite(wrong, inverse)
    more = cut(*whole)
    assert "aten.reciprocal" in {node.op for node in nodes(more.single)}
    assert len(nodes(more.single)) > len(nodes(few.single))
    assert compare(*map(of_losses, whole)).outcome == DIFFER
    assert compare(more.single, more.parallel).outcome == DIFFER
    assert compare(few.single, few.parallel).outcome == DIFFER


def test_weights_that_a_finding_is_about_are_not_silent():
    single, parallel = generate("llama3", SIZES)
    for layer in range(SIZES.layers):
        weights = cut(single, unsummed(parallel, layer)).weights
        assert f"layers.{layer}.attention.wo.weight" not in weights
        others = {f"layers.{other}.attention.wo.weight" for other in range(SIZES.layers)}
        assert len(weights & others) == SIZES.layers - 1


ONE = Known()


def of(op, *inputs, outputs=1, **attrs):
    floats = tuple(one is not None for one in inputs)
    return Call(op, attrs, inputs, floats, tuple(range(len(inputs))), outputs)


@pytest.mark.parametrize(("call", "zero"), [
    (of("linear", ONE, ZERO), (True,)),
    (of("linear", ONE, ONE), (False,)),
    (of("linear", UNKNOWN, ZERO), (False,)),
    (of("linear", ONE._replace(infinite=True), ZERO), (False,)),
    (of("add", ZERO, ZERO), (True,)),
    (of("add", ZERO, ONE), (False,)),
    (of("add", ZERO, other=1e-5), (False,)),
    (of("rsqrt", ZERO), (False,)),
    (of("softmax", ZERO, dim=-1, dtype=None), (False,)),
    (of("linear.grad", ONE, ONE, ZERO, outputs=2), (True, False)),
    (of("linear.grad", None, ONE, ONE, outputs=2), (True, True)),
    (of("softmax.grad", ZERO, ONE._replace(infinite=True), dim=-1, dtype=None), (True,)),
    (of("softmax.grad", ONE, ONE._replace(infinite=True), dim=-1, dtype=None), (False,)),
    (of("softmax.grad", ZERO, UNKNOWN, dim=-1, dtype=None), (False,)),
    (of("float.grad", ZERO, ONE._replace(infinite=True)), (True,)),
    (of("rsqrt.grad", ZERO, ONE), (False,)),
    (of("no.such.operator", ZERO), (False,)),
])  # fmt: skip
def test_what_is_known_to_be_zero(call, zero):
    assert tuple(one.zero for one in made(call)) == zero


@pytest.mark.parametrize(("call", "same"), [
    (of("add", ONE, ZERO), {0: 0}),
    (of("add", ZERO, ONE), {0: 1}),
    (of("add", ZERO, ONE, alpha=2), {}),
    (of("add", ONE, ZERO, alpha=2), {0: 0}),
    (of("add", ONE, ONE), {}),
    (of("add", ONE, other=1e-5), {}),
    (of("aten.sub.Tensor", ZERO, ONE), {}),
    (of("mul", ONE, ONE), {}),
    (of("multiref", ONE, outputs=2, times=2), {0: 0, 1: 0}),
    (of("multiref.grad", ONE, ZERO, ONE, times=2), {0: 0}),
    (of("multiref.grad", ONE, ONE, ONE, times=2), {}),
    (of("add.grad", ONE, ONE, ONE, outputs=2, alpha=1), {0: 0, 1: 0}),
    (of("add.grad", ONE, ONE, ONE, outputs=2, alpha=2), {0: 0}),
])  # fmt: skip
def test_what_is_handed_on_as_it_is(call, same):
    assert handed_on(call) == same
    assert call.op.removesuffix(GRAD) in RULES
