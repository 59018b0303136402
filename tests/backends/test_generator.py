"""Generated plans compute what their single-device plans compute: by running both on random numbers."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from run_plan import Fault, random_values, rendezvous, run

from verdict.backends.generator import MODELS, Sizes, generate
from verdict.backends.generator.schedule import one_forward_one_backward
from verdict.errors import UsageError
from verdict.graph import WEIGHT, inside

SMALL = Sizes(
    layers=2, hidden=8, heads=4, seq=4, batch=8, dp=2, tp=2, pp=2, microbatches=2, vocab=16, ffn=12, experts=8, topk=3,
    groups=4, topk_groups=2, shared_experts=1, moe_ffn=8, dense_layers=1,
)  # fmt: skip
LAYOUTS = [
    {"dp": 1, "tp": 1, "pp": 1, "microbatches": 1},
    {"dp": 2, "tp": 1, "pp": 1, "microbatches": 1},
    {"dp": 1, "tp": 2, "pp": 1, "microbatches": 1},
    {"dp": 1, "tp": 1, "pp": 2, "microbatches": 1},
    {"dp": 1, "tp": 1, "pp": 1, "microbatches": 4},
    {"dp": 2, "tp": 2, "pp": 2, "microbatches": 2},
    {"dp": 1, "tp": 4, "pp": 2, "microbatches": 4},
    {"dp": 2, "tp": 2, "pp": 3, "microbatches": 2, "layers": 4},
    {"dp": 1, "tp": 2, "pp": 4, "microbatches": 8, "layers": 5},
    {"dp": 4, "tp": 1, "pp": 4, "microbatches": 2, "layers": 7},
]


VARIANTS = [
    ("gpt", {"tied": True}),
    ("gpt", {"tied": True, "pp": 1}),
    ("gpt", {"tied": True, "dp": 1, "pp": 4, "layers": 5}),
    ("gpt", {"dropout": 0.3}),
    ("gpt", {"dropout": 0.3, "tied": True, "dp": 1, "tp": 4}),
    ("deepseek", {"shared_experts": 0}),
    ("deepseek", {"shared_experts": 3, "dense_layers": 0}),
    ("deepseek", {"groups": 1, "topk_groups": 1, "tp": 4, "pp": 1}),
]
"""Models with what they have beyond the sizes of all."""


def ids(layout):
    return "-".join(f"{name}{size}" for name, size in layout.items()) if isinstance(layout, dict) else layout


def compare(single, parallel, values):
    """Every gradient and the loss of the parallel plan against the single plan's."""
    right, found = run(single, values), run(parallel, values)
    (loss,) = right.losses.values()
    holders = {held.device for held in parallel.losses}
    for device in holders:
        shares = [share for (_, of, _), share in found.losses.items() if of == device]
        assert len(shares) == parallel.columns
        np.testing.assert_allclose(sum(shares), loss, rtol=1e-9)
    whole = {name: value for (name, _, _), (_, value) in right.gradients.items()}
    covered = Counter()
    for (name, _, _), (region, value) in found.gradients.items():
        piece = whole[name][tuple(slice(*interval) for interval in region)]
        np.testing.assert_allclose(value, piece, rtol=1e-8, atol=1e-10, err_msg=name)
        covered[name] += value.size
    for name, value in whole.items():
        assert covered[name] >= value.size * parallel.replicas, name


@pytest.mark.parametrize("layout", LAYOUTS, ids=ids)
@pytest.mark.parametrize("model", sorted(MODELS))
def test_the_parallel_plan_computes_what_the_single_plan_computes(model, layout):
    single, parallel = generate(model, replace(SMALL, **layout))
    compare(single, parallel, random_values(single))


@pytest.mark.parametrize(("model", "sizes"), VARIANTS, ids=ids)
def test_variants_compute_what_their_single_plans_compute(model, sizes):
    single, parallel = generate(model, replace(SMALL, **sizes))
    compare(single, parallel, random_values(single))


@pytest.mark.parametrize(("model", "sizes"), [(model, {}) for model in sorted(MODELS)] + VARIANTS, ids=ids)
def test_the_single_plan_computes_the_derivative_of_its_loss(model, sizes):
    single, _ = generate(model, replace(SMALL, **{"batch": 4, "microbatches": 1, **sizes}))
    values = random_values(single)
    rng = np.random.default_rng(1)
    gradients = {name: value for (name, _, _), (_, value) in run(single, values).gradients.items()}
    weights = {logical.name for logical in single.logicals if logical.kind == WEIGHT}
    assert set(gradients) == weights
    for name in sorted(weights):
        direction = rng.normal(size=values[name].shape)
        up, down = (
            run(single, values | {name: values[name] + step * direction}).losses[0, 0, 0] for step in (1e-5, -1e-5)
        )
        expected = (up - down).item() / 2e-5
        assert (gradients[name] * direction).sum() == pytest.approx(expected, rel=1e-5, abs=1e-5), name


def edited(plan, change):
    """The plan with `change(segment, node)` in place of every node: a node, or None to leave it out."""
    segments = []
    for segment in plan.segments:
        nodes = (change(segment, node) for node in segment.nodes)
        segments.append(segment._replace(nodes=tuple(node for node in nodes if node is not None)))
    return replace(plan, segments=tuple(segments))


def with_attrs(node, **attrs):
    return node._replace(attrs=tuple(sorted((dict(node.attrs) | attrs).items())))


def narrow_groups(segment, node):
    """Every all_reduce of tp ranks over the device alone."""
    if node.op != "all_reduce" or "replicas" in dict(node.attrs):
        return node
    return with_attrs(node, ranks=(segment.device,))


def forget_replicas(_, node):
    """Every gradient reducer within its replica."""
    return with_attrs(node, replicas=False) if "replicas" in dict(node.attrs) else node


def stop_early(segment, node):
    """The embedding of device 0 without its last row."""
    return with_attrs(node, stop=dict(node.attrs)["stop"] - 1) if node.op == "embedding" else node


def next_experts(segment, node):
    """The experts of the first tp ranks' own weights taken for those after them."""
    if not node.op.startswith("moe_gmm") or dict(node.attrs)["local_expert_start"]:
        return node
    return with_attrs(node, local_expert_start=1, local_expert_end=dict(node.attrs)["local_expert_end"] + 1)


def one_group(segment, node):
    """The gate of one rank without groups."""
    return with_attrs(node, n_groups=1, topk_groups=1) if node.op == "gate" and segment.device == 2 else node


def slower(_, node):
    """The constant of one operator changed."""
    return with_attrs(node, other=3.0) if node.op == "div" else node


@pytest.mark.parametrize(
    ("model", "change"),
    [
        ("llama3", narrow_groups),
        ("mlp", narrow_groups),
        ("llama3", forget_replicas),
        ("mlp", forget_replicas),
        ("llama3", stop_early),
        ("llama3", slower),
        ("deepseek", narrow_groups),
        ("deepseek", next_experts),
        ("deepseek", one_group),
        ("gpt", narrow_groups),
        ("gpt", forget_replicas),
    ],
)
def test_a_wrong_plan_is_seen(model, change):
    single, parallel = generate(model, SMALL)
    values = random_values(single)
    compare(single, edited(parallel, lambda _, node: node), values)
    with pytest.raises(AssertionError):
        compare(single, edited(parallel, change), values)


def test_a_microbatch_left_out_is_seen():
    single, parallel = generate("mlp", SMALL)
    values = random_values(single)
    programs = tuple(
        tuple(call for call in program if parallel.segments[call.segment].name != "backward" or call.microbatch)
        for program in parallel.programs
    )
    with pytest.raises((AssertionError, Fault)):
        compare(single, replace(parallel, programs=programs), values)


def test_a_missing_receive_is_seen():
    single, parallel = generate("mlp", SMALL)
    broken = edited(parallel, lambda segment, node: None if node.op == "send" and segment.device == 0 else node)
    with pytest.raises(Fault, match="deadlock"):
        run(broken, random_values(single))


@pytest.mark.parametrize("layout", LAYOUTS, ids=ids)
@pytest.mark.parametrize("model", sorted(MODELS))
def test_sends_meet_receives_even_where_a_send_waits(model, layout):
    _, parallel = generate(model, replace(SMALL, **layout))
    rendezvous(parallel)


def test_a_crossed_order_deadlocks():
    _, parallel = generate("mlp", SMALL)
    first, *rest = parallel.programs[-1]
    with pytest.raises(Fault, match="deadlock"):
        rendezvous(replace(parallel, programs=(*parallel.programs[:-1], (*rest, first))))


@pytest.mark.parametrize("stages", range(1, 7))
@pytest.mark.parametrize("microbatches", range(1, 9))
def test_the_schedule_does_all_work_once_and_holds_few_activations(stages, microbatches):
    for stage in range(stages):
        order = list(one_forward_one_backward(stage, stages, microbatches))
        assert Counter(order).most_common(1)[0][1] == 1
        assert len(order) == 6 * microbatches
        alive = most = 0
        for work, _ in order:
            alive += (work == "forward") - (work == "backward")
            most = max(most, alive)
        assert most == min(stages - stage, microbatches)


@pytest.mark.parametrize("layout", LAYOUTS, ids=ids)
@pytest.mark.parametrize("model", sorted(MODELS))
def test_plans_are_well_formed(model, layout):
    for plan in generate(model, replace(SMALL, **layout)):
        assert all(inside(t.region, plan.logicals[t.logical].shape) for t in plan.tensors)
        assert len({logical.name for logical in plan.logicals}) == len(plan.logicals)
        for segment in plan.segments:
            for node in segment.nodes:
                attrs = dict(node.attrs)
                assert node.attrs == tuple(sorted(node.attrs))
                if "ranks" in attrs:
                    assert segment.device in attrs["ranks"]
        held = Counter((h.device, h.weight) for h in plan.gradients)
        assert set(held.values()) == {1}
        weights = {t for t in range(len(plan.tensors)) if plan.kind(t) == WEIGHT}
        assert weights == {h.weight for h in plan.gradients}
        last_stage = range(plan.devices - dict(plan.mesh)["tp"], plan.devices)
        assert [h.device for h in plan.losses] == list(last_stage)
        assert len(plan.seeds) == len(last_stage)


def test_origins_name_the_same_tensors_in_both_plans():
    single, parallel = generate("llama3", SMALL)
    known = {logical.origin for logical in single.logicals}
    assert all(logical.origin in known for logical in parallel.logicals)


def test_layers_are_spread_as_evenly_as_can_be():
    sizes = replace(SMALL, layers=11, pp=4)
    assert [len(sizes.stage(stage)) for stage in range(4)] == [3, 3, 3, 2]
    assert [layer for stage in range(4) for layer in sizes.stage(stage)] == list(range(11))


@pytest.mark.parametrize(
    ("model", "change", "message"),
    [
        ("llama3", {"hidden": 10}, "hidden is 10, which 4 (heads) does not divide"),
        ("llama3", {"hidden": 12}, "the width of a head (hidden / heads) is 3, which 2 (2, for rotary pairs)"),
        ("mlp", {"batch": 6}, "batch is 6, which 4 (dp x microbatches) does not divide"),
        ("mlp", {"pp": 3}, "3 pipeline stages for 2 layers"),
        ("mlp", {"tp": 0}, "tp is 0"),
        ("gpt", {"dropout": 1.0}, "dropout is 1.0"),
        ("deepseek", {"experts": 10}, "experts is 10, which 4 (groups) does not divide"),
        ("deepseek", {"groups": 8}, "a group of one expert"),
        ("deepseek", {"topk_groups": 5}, "topk_groups is 5 of 4 groups"),
        ("deepseek", {"topk": 5}, "topk is 5, 2 groups have 4 experts"),
        ("deepseek", {"dense_layers": -1}, "dense_layers is -1"),
        ("bert", {}, "there is no such model to generate"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(model, change, message):
    with pytest.raises(UsageError) as caught:
        generate(model, replace(SMALL, **change))
    assert message in str(caught.value)
    assert caught.value.help
