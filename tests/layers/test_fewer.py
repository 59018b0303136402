"""A pair with fewer layers: what it is made of, and what keeps a pair from having one."""

from dataclasses import replace

import pytest

from tests.layers.chains import chain
from tests.layers.pairs import INNER, LAYERS, SHAPES, edited, layer_of, nodes_of, pair
from verdict.graph import ABSENT, ACTIVATION, WEIGHT, Logical, Node, Tensor
from verdict.layers import KEPT, fewer_layers
from verdict.layers.stack import OUTSIDE
from verdict.lineage import bind
from verdict.options import Options
from verdict.pipeline import verify
from verdict.report import Verdict


def fewer(single, parallel):
    return fewer_layers(single, parallel, bind(single, parallel))


@pytest.mark.parametrize("name", SHAPES)
def test_a_pair_has_few_of_its_layers_and_is_proved_as_such(name):
    single, parallel = pair(name)
    found = fewer(single, parallel)
    assert found is not None
    assert LAYERS - 1 <= found.layers <= LAYERS
    for side in found[:2]:
        assert {*side.layer.tolist()} == {OUTSIDE, *range(KEPT)}
    assert verify(found.single.plan, found.parallel.plan, Options()).verdict is Verdict.PROVED


def test_tensors_are_those_of_the_whole_plan():
    single, parallel = pair("adamw")
    found = fewer(single, parallel)
    for side, plan in ((found.single, single), (found.parallel, parallel)):
        assert len(side.plan.tensors) < len(plan.tensors)
        for tensor, full in zip(side.plan.tensors, side.tensors.tolist(), strict=True):
            assert tensor._replace(logical=0) == plan.tensors[full]._replace(logical=0)
            assert side.plan.logicals[tensor.logical] == plan.logicals[plan.tensors[full].logical]


def test_nodes_that_make_nothing_are_no_layers():
    """All that they read is the same, too: no tensor is of one of them."""
    plan = chain(1)
    (segment,) = plan.segments
    nodes = tuple(segment.nodes[0]._replace(op="tanh", inputs=(0,), outputs=(ABSENT,)) for _ in range(100))
    plan = replace(plan, segments=(segment._replace(nodes=segment.nodes + nodes),))
    assert fewer(plan, plan) is None
    assert verify(plan, plan, Options()).verdict is Verdict.PROVED


def test_what_one_plan_alone_reads_of_what_is_given_is_kept():
    """A weight that a rank gathers with the others, and that nothing is computed of."""
    plan, size = chain(LAYERS), len(chain(LAYERS).tensors)
    spare = Logical("spare", (2, 2), "float32", WEIGHT)
    single = replace(plan, logicals=(*plan.logicals, spare))
    shares = (Tensor(len(plan.logicals), ((0, 2), (0, 2))), Tensor(len(plan.logicals) + 1, ((0, 2), (0, 2))))
    logicals = (*plan.logicals, spare, spare._replace(name="gathered", kind=ACTIVATION))
    node = Node("identity", (size,), (size + 1,), (), "gather")
    segments = tuple(each._replace(nodes=(*each.nodes, node)) for each in plan.segments)
    parallel = replace(plan, logicals=logicals, tensors=(*plan.tensors, *shares), segments=segments)
    found = fewer(single, parallel)
    assert spare in found.single.plan.logicals
    assert verify(found.single.plan, found.parallel.plan, Options()).verdict is Verdict.PROVED


def renamed(plan, names):
    """The plan whose weights have origins, and some other names."""
    logicals = (t._replace(origin=t.name) if t.kind == WEIGHT else t for t in plan.logicals)
    return replace(plan, logicals=tuple(t._replace(name=names.get(t.name, t.name)) for t in logicals))


def test_a_name_of_several_layers_that_says_more_with_few_of_them_keeps_all():
    """Weights stand for each other by their origins; that of layer 2 has a name on the ranks that two have there."""
    single = renamed(chain(LAYERS), {"w3": "w", f"w{INNER}": "w"})
    parallel = renamed(chain(LAYERS, 2), {"w2": "w"})
    assert fewer(single, parallel) is None
    assert fewer(single, renamed(chain(LAYERS, 2), {"w2": "v"})) is not None
    assert verify(single, parallel, Options()).verdict is Verdict.PROVED


def rewired(plan, node, position, tensor):
    return edited(plan, node, inputs=(*node.inputs[:position], tensor, *node.inputs[position + 1 :]))


def other_weight(plan):
    """One node reads the weight of the layer behind the next one."""
    node, later = (nodes_of(plan, f"layers.{k}.attention.wq", "linear")[0] for k in (6, 8))
    return rewired(plan, node, 1, later.inputs[1])


def older_activation(plan):
    """One node reads what another layer made, and not the one before it."""
    node, before = (nodes_of(plan, f"layers.{k}.middle", "add")[0] for k in (7, 4))
    return rewired(plan, node, 0, before.outputs[0])


def another_constant(plan):
    node = nodes_of(plan, f"layers.{INNER}.attention_norm.eps", "add")[0]
    return edited(plan, node, attrs=tuple((name, 1e-3 if name == "other" else value) for name, value in node.attrs))


def no_reduction(plan):
    node = next(node for node in nodes_of(plan, f"layers.{INNER}.", "all_reduce"))
    return edited(plan, node, op="identity", attrs=())


def exchanged_gradients(plan):
    """What is declared as a gradient of one layer is that of the next one, and the other way round."""
    names = {name: k for k, held in enumerate(plan.gradients) if held.device == 0 for name in [of(plan, held)]}
    one, other = (names[f"layers.{k}.attention.wq.weight"] for k in (6, 7))
    gradients = [*plan.gradients]
    tensors = gradients[one].tensor, gradients[other].tensor
    gradients[one] = gradients[one]._replace(tensor=tensors[1])
    gradients[other] = gradients[other]._replace(tensor=tensors[0])
    return replace(plan, gradients=tuple(gradients))


def of(plan, held):
    return plan.logicals[plan.tensors[held.weight].logical].name


def undeclared_gradient(plan):
    gradients = [held for held in plan.gradients if of(plan, held) != f"layers.{INNER}.attention.wq.weight"]
    return replace(plan, gradients=tuple(gradients))


def exchanged_names(plan):
    """The weights of two layers are called as the other one's."""
    logicals = [*plan.logicals]
    places = {logical.name: k for k, logical in enumerate(logicals) if logical.kind == WEIGHT}
    one, other = (places[f"layers.{k}.attention.wq.weight"] for k in (6, 7))
    logicals[one], logicals[other] = (
        logicals[at]._replace(name=logicals[by].name, origin=logicals[by].origin)
        for at, by in ((one, other), (other, one))
    )
    return replace(plan, logicals=tuple(logicals))


def another_region(plan):
    """One device says that it has another part of the weight of one layer."""
    weight = nodes_of(plan, f"layers.{INNER}.attention.wq", "linear")[0].inputs[1]
    share = plan.tensors[weight]
    (start, stop), *rest = share.region
    moved = share._replace(region=((stop, 2 * stop - start) if not start else (0, stop - start), *rest))
    return replace(plan, tensors=tuple(moved if k == weight else each for k, each in enumerate(plan.tensors)))


def read_by_the_end(plan):
    """What belongs to no layer reads of one inner layer."""
    norm, inner = nodes_of(plan, "norm.pow", "pow")[0], nodes_of(plan, f"layers.{INNER}.ffn_norm.float.ref", "multiref")
    return rewired(plan, norm, 0, inner[0].outputs[1])


WRONG = (
    other_weight,
    older_activation,
    another_constant,
    no_reduction,
    exchanged_gradients,
    undeclared_gradient,
    exchanged_names,
    another_region,
    read_by_the_end,
)


@pytest.mark.parametrize("edit", WRONG)
def test_one_layer_that_is_not_as_the_others_keeps_all(edit):
    single, parallel = pair("plain")
    changed = edit(parallel)
    assert changed != parallel
    assert fewer(single, changed) is None
    assert fewer(single, parallel) is not None


@pytest.mark.parametrize("edit", [another_constant, older_activation])
def test_so_does_one_of_the_single_device_plan(edit):
    single, parallel = pair("plain")
    assert fewer(edit(single), parallel) is None


def exchanged_messages(plan):
    """In one layer keys are sent before values where the receiver takes them the other way round."""
    sends = nodes_of(plan, f"layers.{INNER}.attention.pass", "send")
    one, other = sends[:2]
    return edited(edited(plan, one, inputs=other.inputs), other, inputs=one.inputs)


def test_messages_of_one_layer_in_another_order_keep_all():
    single, parallel = pair("ring")
    assert fewer(single, exchanged_messages(parallel)) is None
    assert fewer(single, parallel) is not None


def crossed_messages(plan):
    """Two layers send each what the other one does: messages stand in their order, and hold what they should not."""
    one, other = (nodes_of(plan, f"layers.{k}.attention.pass", "send")[0] for k in (6, 7))
    return edited(edited(plan, one, inputs=other.inputs), other, inputs=one.inputs)


def test_messages_of_another_layer_keep_all():
    single, parallel = pair("ring")
    assert fewer(single, crossed_messages(parallel)) is None


def test_a_norm_of_all_gradients_is_one_of_those_that_are_kept():
    single, parallel = pair("clipped")
    found = fewer(single, parallel)
    (whole,) = [node for node in nodes_of(single, "", "accumulate") if len(node.inputs) > KEPT * 4]
    (few,) = [n for n in nodes_of(found.single.plan, "", "accumulate") if len(n.inputs) > KEPT * 4]
    assert len(few.inputs) < len(whole.inputs)
    gradient = next(t for t in whole.inputs if layer_of(single.logicals[single.tensors[t].logical].name) == INNER)
    without = edited(single, whole, inputs=tuple(t for t in whole.inputs if t != gradient))
    assert fewer(without, parallel) is None
    assert ABSENT not in few.inputs
