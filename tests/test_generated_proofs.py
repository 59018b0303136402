"""Generated plans are proved and compute what the single device computes; the same plans with a fault are refuted."""

from dataclasses import replace

import pytest

from tests.builders import answer, attrs_of, rewrite_where, with_attrs
from verdict.backends.generator import Sizes, generate
from verdict.backends.generator.flat import boxes
from verdict.backends.text import canonical, read, write
from verdict.concrete import AGREE, DIFFER, FAULT, compare
from verdict.graph.check import check_plan
from verdict.graph.form import require_form
from verdict.ops import RULES

pytestmark = pytest.mark.usefixtures("shared_proofs")

TINY = Sizes(
    layers=1, hidden=4, heads=2, seq=4, batch=2, vocab=8, ffn=4, dp=1, tp=1, pp=1, microbatches=1, experts=4, topk=2,
    groups=2, topk_groups=1, shared_experts=1, moe_ffn=4, dense_layers=0,
)  # fmt: skip
TWO_STEPS = {"optimizer": "sgd", "steps": 2}


def rewired(plan, node, before, after):
    """The plan in which nodes of the name `node` read `after` where they read `before`, on every device."""
    names = [plan.logicals[tensor.logical].name for tensor in plan.tensors]
    devices = {t: s.device for s in plan.segments for n in s.nodes for t in (*n.inputs, *n.outputs)}
    other = {devices[number]: number for number, name in enumerate(names) if name == after and number in devices}
    segments = tuple(
        segment._replace(
            nodes=tuple(
                n._replace(inputs=tuple(other[segment.device] if names[t] == before else t for t in n.inputs))
                if n.name == node
                else n
                for n in segment.nodes
            )
        )
        for segment in plan.segments
    )
    return replace(plan, segments=segments)


def wired(node, before, after):
    return lambda plan: rewired(plan, node, before, after)


def changed(op, change):
    return lambda plan: rewrite_where(plan, op, change)


def other_experts(node):
    """The experts of the other rank of two."""
    start, end = (attrs_of(node)[name] for name in ("local_expert_start", "local_expert_end"))
    held = end - start
    return with_attrs(node, local_expert_start=held - start, local_expert_end=2 * held - start)


def last_reduction(node):
    """The sums of experts scattered in another order."""
    found = node.name.endswith("feed_forward.rows") and node.op == "reduce_scatter"
    return with_attrs(node, ranks=attrs_of(node)["ranks"][::-1]) if found else node


def other_rows(node):
    """Ids looked up one row off where the table does not begin."""
    start, stop = (attrs_of(node)[name] for name in ("start", "stop"))
    return with_attrs(node, start=start - 1, stop=stop - 1) if start else node


def real_rows(node):
    """The logits behind the first instead of those before the padding."""
    return with_attrs(node, start=1) if attrs_of(node)["length"] == 3 else node


def uncounted(node):
    """A count of the own rank alone."""
    return node._replace(op="identity", attrs=()) if node.name == "loss.count.total" else node


def of_rank(op, change, device=1):
    return lambda plan: rewrite_where(plan, op, change, device)


def own_peak(node):
    """The greatest gradient of the own rank."""
    return node._replace(op="identity", attrs=()) if node.name == "gradients.peak" else node


LOSS = {"loss": "cross-entropy"}
SCALE = 50000.0
"""Of a loss some gradients of which then overflow."""
UNEVEN = {"tp": 2, "sp": True, "heads": 3, "hidden": 6, "vocab": 7, "ffn": 5, "seq": 3, "batch": 1}
PLANS = {
    "uneven shards of all that is divided": ("llama3", UNEVEN, changed("embedding", other_rows)),
    "rows that no token names": (
        "gpt", {**LOSS, "tp": 2, "vocab": 7, "vocab_multiple": 8, "batch": 1}, changed("narrow", real_rows),
    ),
    "samples of unequal lengths": (
        "llama3", {**LOSS, "dp": 2, "padding": True, "mean": True}, changed("all_reduce", uncounted),
    ),
    "dropout of an activation that two ranks have": (
        "gpt", {"tp": 2, "dropout": 0.25, "keyed": True, "batch": 1, "seq": 2},
        of_rank("keyed_dropout", lambda node: with_attrs(node, key=attrs_of(node)["key"] + 1)),
    ),
    "dropout of positions that two ranks divide": (
        "gpt", {"tp": 2, "sp": True, "dropout": 0.25, "keyed": True, "batch": 1, "seq": 2},
        of_rank("keyed_dropout", lambda node: with_attrs(node, offset=(0,) * len(attrs_of(node)["offset"]))),
    ),
    "evaluation mode": (
        "gpt", {"tp": 2, "dropout": 0.25, "evaluate": True, "batch": 1, "seq": 2},
        of_rank("dropout", lambda node: with_attrs(node, training=True)),
    ),
    "a scaled loss": (
        "mlp", {"dp": 2, "zero": 1, "optimizer": "sgd", "loss_scale": SCALE}, changed("all_reduce", own_peak),
    ),
    "a flat buffer": (
        "mlp", {"dp": 2, "hidden": 3, "ffn": 3, "zero": 1, "optimizer": "sgd", "flat": True},
        changed("all_gather", lambda node: with_attrs(node, ranks=attrs_of(node)["ranks"][::-1])),
    ),
    "master weights": (
        "mlp", {"dp": 2, "zero": 1, "optimizer": "sgd", "master": True},
        wired("layers.0.weight.new.shard", "layers.0.weight.master.new", "layers.0.weight.master"),
    ),
    "unequal batches": (
        "mlp", {"dp": 3, "batch": 5, "list_ranks": True},
        changed("all_reduce", lambda node: with_attrs(node, reduce="mean")),
    ),
    "gated experts over ranks": ("deepseek", {"ep": 2, "batch": 4}, changed("moe_gmm", other_experts)),
    "gated experts, positions divided": ("deepseek", {"tp": 2, "sp": True}, changed("reduce_scatter", last_reduction)),
    "two steps": (
        "mlp", {**TWO_STEPS, "tp": 2, "layers": 2, "microbatches": 2},
        wired("layers.0.step2", "layers.0.weight.new", "layers.0.weight"),
    ),
    "two clipped steps on shards": (
        "mlp", {**TWO_STEPS, "optimizer": "adamw", "clip": 0.5, "dp": 2, "zero": 1},
        wired("layers.0.weight.adamw.step2", "layers.0.weight.exp_avg.new", "layers.0.weight.exp_avg"),
    ),
    "two steps of sharded weights": (
        "mlp", {**TWO_STEPS, "dp": 2, "zero": 3},
        wired("layers.0.weight.step2", "layers.0.weight.new", "layers.0.weight"),
    ),
    "three steps on two stages": (
        "mlp", {**TWO_STEPS, "steps": 3, "pp": 2, "layers": 2},
        wired("layers.1.weight.sgd.step3", "layers.1.weight.momentum.new.step2", "layers.1.weight.momentum.new"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("shape", "start", "stop", "found"),
    [
        ((5,), 1, 4, [((1, 4),)]),
        ((3, 4), 0, 12, [((0, 3), (0, 4))]),
        ((3, 4), 5, 7, [((1, 2), (1, 3))]),
        ((3, 4), 3, 10, [((0, 1), (3, 4)), ((1, 2), (0, 4)), ((2, 3), (0, 2))]),
    ],
)
def test_a_piece_of_a_flat_buffer_is_boxes(shape, start, stop, found):
    assert list(boxes(shape, start, stop)) == found


SEEDS = {"a scaled loss": (3, 4)}
"""Where the oracle must see the fault, if not on 1 or 2: of these peaks none overflows there on one rank alone."""


@pytest.mark.parametrize("name", PLANS)
def test_a_right_plan_is_proved_and_a_fault_in_it_refuted(name):
    model, sizes, fault = PLANS[name]
    single, parallel = generate(model, replace(TINY, **sizes))
    for plan in (single, parallel):
        require_form(plan)
        assert not check_plan(plan, RULES)
    assert read(write(parallel).encode(), parallel.source) == canonical(parallel)
    assert compare(single, parallel, seed=1).outcome == AGREE
    assert answer(single, parallel) == "PROVED"
    wrong = fault(parallel)
    assert wrong != parallel
    assert {compare(single, wrong, seed=seed).outcome for seed in SEEDS.get(name, (1, 2))} & {DIFFER, FAULT}
    assert answer(single, wrong) == "REFUTED"
