"""Generated training steps: they compute what the single device computes, with faults in them they do not."""

from dataclasses import replace

import pytest
from click.testing import CliRunner

from tests.builders import attrs_of, rewrite_where, with_attrs
from verdict.backends.generator import Sizes, generate
from verdict.backends.text import canonical, read, write
from verdict.cli import cli
from verdict.concrete import AGREE, DIFFER, FAULT, compare
from verdict.errors import UsageError
from verdict.graph.check import check_plan
from verdict.graph.form import require_form
from verdict.ops import RULES

SMALL = Sizes(
    layers=1, hidden=8, heads=4, seq=4, batch=4, dp=2, tp=2, pp=1, microbatches=1, vocab=16, ffn=16, experts=4, topk=2,
    groups=2, topk_groups=1, shared_experts=1, moe_ffn=8, dense_layers=0,
)  # fmt: skip
LOSS = {"loss": "cross-entropy"}
SMOOTH = {**LOSS, "vocab_parallel": True, "label_smoothing": 0.1, "ignore_index": 3}
ADAM = {"optimizer": "adamw", "clip": 0.5}
TIED = {**LOSS, "vocab_parallel": True, "tied": True}
GIVEN = {"routing": "given", "tp": 1, "dense_layers": 1, "layers": 2}
INTERLEAVED = {"pp": 2, "vpp": 2, "layers": 5, "microbatches": 4}
RING = {"dp": 1, "cp": 2, "zigzag": True}
STEPS = {
    "sequence parallel, clipped AdamW": ("llama3", {"sp": True, **ADAM}),
    "the same on two stages": ("gpt", {"sp": True, **ADAM, "pp": 2, "layers": 2, "microbatches": 2}),
    "vocabulary-parallel loss": ("llama3", {**SMOOTH, "sp": True, "dp": 1}),
    "gathered loss": ("gpt", {**LOSS, "ignore_index": 0, "label_smoothing": 0.2}),
    "ZeRO 1": ("llama3", {**ADAM, "zero": 1, "sp": True, "list_ranks": True}),
    "ZeRO 2 with momentum": ("llama3", {"optimizer": "sgd", "clip": 0.5, "zero": 2, "microbatches": 2}),
    "ZeRO 3": ("gpt", {**ADAM, "zero": 3, "sp": True, "list_ranks": True}),
    "uneven shards": ("llama3", {**ADAM, "zero": 1, "dp": 3, "batch": 6, "tp": 1}),
    "tied embeddings on two stages": ("gpt", {**TIED, **ADAM, "pp": 2, "layers": 2}),
    "ring attention": ("llama3", {"cp": 2, "microbatches": 2}),
    "zigzag ring attention": ("llama3", {**RING, "cp": 3, "seq": 12}),
    "everything at once": ("gpt", {**RING, **SMOOTH, **ADAM, "sp": True, "seq": 8, "zero": 1}),
    "unequally many targets": ("llama3", {**SMOOTH, "mean": True, **ADAM}),
    "low-rank adapters": ("gpt", {"lora": 2, "sp": True, **ADAM}),
    "interleaved stages": ("llama3", {**INTERLEAVED, "dp": 1, "split_backward": True}),
    "given routing": ("deepseek", {**GIVEN, "ep": 2}),
    "gated experts over ranks": ("deepseek", {**ADAM, "tp": 1, "ep": 2, "batch": 8}),
    "gated experts, positions divided": ("deepseek", {**RING, "sp": True, "seq": 8}),
    "experts and data parallel": ("deepseek", {**GIVEN, **ADAM, "ep": 2, "batch": 8, "zero": 1, "dense_layers": 0}),
}  # fmt: skip


def pair(name, **more):
    model, sizes = STEPS[name]
    return generate(model, replace(SMALL, **{**sizes, **more}))


@pytest.mark.parametrize("name", STEPS)
def test_a_step_computes_what_the_single_device_computes(name):
    single, parallel = pair(name)
    for plan in (single, parallel):
        require_form(plan)
        assert not check_plan(plan, RULES)
    assert read(write(parallel).encode(), parallel.source) == canonical(parallel)
    found = compare(single, parallel, seed=1)
    assert found.outcome == AGREE, (found.faults, found.differing[:3])
    assert any(row.what.startswith("output of") for row in found.rows) == bool(single.outputs)


def first(node):
    """The first operand as it is."""
    return node._replace(op="identity", inputs=node.inputs[:1])


def alone(node):
    """What a collective hands on where each rank keeps what it has."""
    return node._replace(op="identity", attrs=())


def back(node):
    ranks = attrs_of(node)["ranks"]
    return with_attrs(node, ranks=ranks[::-1])


def of(*names):
    """The nodes of these names alone."""
    return lambda change: lambda node: change(node) if node.name in names else node


FAULTS = {
    "a norm that counts what two ranks have": (
        "sequence parallel, clipped AdamW", "all_reduce", of("gradients.total")(alone),
    ),
    "norm weights whose gradients are not added over the tensor parallel ranks": (
        "sequence parallel, clipped AdamW", "all_reduce",
        of("layers.0.ffn_norm.weight.grad.reduced")(lambda node: with_attrs(node, ranks=attrs_of(node)["ranks"][::2])),
    ),
    "a greatest logit that is not shared": ("vocabulary-parallel loss", "all_reduce", of("loss.greatest")(alone)),
    "targets looked up one place off": (
        "vocabulary-parallel loss", "take_ids",
        lambda node: with_attrs(node, start=attrs_of(node)["start"] + 1, stop=attrs_of(node)["stop"] + 1),
    ),
    "shards that are gathered in another order": ("ZeRO 1", "all_gather", of("output.weight")(back)),
    "a shard of another rank": ("ZeRO 1", "chunk", of("layers.0.attention.wq.weight")(back)),
    "momentum forgotten": ("ZeRO 2 with momentum", "sgd", lambda node: with_attrs(node, momentum=0.5)),
    "weights of another shard": ("ZeRO 3", "all_gather", of("layers.0.attention.wq.weight")(back)),
    "the older rows not rescaled": ("ring attention", "mul", of("layers.0.attention.mix.old")(first)),
    "a causal mask left out": ("zigzag ring attention", "apply_mask", first),
    "each rank's targets counted alone": ("unequally many targets", "all_reduce", of("loss.count.total")(alone)),
    "adapters' gradients not added over the tensor parallel ranks": (
        "low-rank adapters", "all_reduce",
        of("layers.0.attention.wq.lora_a.grad.reduced")(
            lambda node: with_attrs(node, ranks=attrs_of(node)["ranks"][::2])
        ),
    ),
    "another activation on the last stage": (
        "interleaved stages", "silu", of("layers.4.feed_forward.silu")(lambda node: node._replace(op="relu")),
    ),
    "a router that sees no other rank's gradient": (
        "gated experts over ranks", "all_reduce", of("layers.0.feed_forward.gate.weight.grad.reduced")(alone),
    ),
    "tokens gathered in another order": (
        "gated experts, positions divided", "all_gather", of("layers.0.ffn_norm.ref.1")(back),
    ),
    "slots sent to other experts": ("given routing", "all_to_all", back),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_in_a_step_differs(name):
    step, op, change = FAULTS[name]
    single, parallel = pair(step)
    wrong = rewrite_where(parallel, op, change)
    assert wrong != parallel
    assert compare(single, wrong, seed=1).outcome in (DIFFER, FAULT)


@pytest.mark.parametrize(
    ("model", "sizes", "sentence"),
    [
        ("llama3", {"sp": True, "tp": 1}, "sequence parallelism with one tensor parallel rank"),
        ("mlp", {"sp": True}, "sp is not offered"),
        ("mlp", {"cp": 2}, "cp is not offered"),
        ("deepseek", {"cp": 2, "routing": "given", "tp": 1}, "a given routing of tokens that context parallel"),
        ("llama3", {"ep": 2, "routing": "given"}, "ep is not offered"),
        ("deepseek", {"ep": 2}, "experts over both expert and tensor parallel ranks"),
        ("deepseek", {"ep": 2, "routing": "given"}, "a given routing with tensor parallel ranks"),
        ("llama3", {"vocab_parallel": True}, "the sum of the logits has no targets"),
        ("llama3", {**LOSS, "vocab_parallel": True, "tp": 1}, "a vocabulary-parallel loss with one"),
        ("llama3", {**LOSS, "ignore_index": 16}, "ignore_index is no token"),
        ("llama3", {"zero": 1}, "ZeRO and clipping end in an update"),
        ("llama3", {"optimizer": "lion"}, "there is no such optimizer"),
        ("llama3", {**ADAM, "zero": 4}, "there is no such level of ZeRO"),
        ("llama3", {**ADAM, "zero": 1, "dp": 16, "batch": 16}, "left without a share"),
        ("llama3", {"zigzag": True}, "zigzag with one context parallel rank"),
        ("gpt", {"cp": 2, "dropout": 0.1}, "dropout under context parallelism"),
        ("llama3", {"cp": 2, "seq": 5}, "seq is 5"),
        ("llama3", {"tied": True}, "tied is not offered"),
        ("gpt", {"tied": True, "lora": 2}, "adapters of tied embeddings"),
        ("llama3", {"vpp": 2, "layers": 4}, "interleaved stages on one pipeline rank"),
        ("llama3", {"vpp": 2, "layers": 4, "pp": 2}, "in rounds of pp"),
        ("llama3", {**ADAM, "zero": 2, "split_backward": True}, "a split backward pass whose gradients are scattered"),
        ("llama3", {**LOSS, "mean": True}, "a constant factor"),
        ("llama3", {"tp": 4, "heads": 2}, "a device is left without a share"),
        ("llama3", {"vocab_multiple": 32}, "a device is left without a share"),
        ("llama3", {"padding": True}, "no padding"),
        ("gpt", {**LOSS, "padding": True, "ignore_index": 0}, "targets that are ignored beside weights"),
        ("gpt", {**LOSS, "padding": True, "cp": 2}, "padding of positions that context parallel"),
        ("mlp", {"padding": True}, "no padding"),
        ("gpt", {"keyed": True}, "a random state or a mode of no dropout"),
        ("gpt", {"dropout": 0.1, "keyed": True}, "a key and a place"),
        ("gpt", {"loss_scale": 8.0, "optimizer": "sgd"}, "loss_scale is not offered"),
        ("mlp", {"loss_scale": 8.0}, "a loss scale and master weights"),
        ("mlp", {"flat": True}, "a flat buffer without shards"),
        ("mlp", {**ADAM, "flat": True, "zero": 1}, "a flat buffer with experts of their own, clipping"),
        ("gpt", {"optimizer": "sgd", "flat": True, "zero": 1, "tied": True, "pp": 2, "layers": 2}, "flat buffers with"),
        ("mlp", {"vocab_multiple": 4}, "vocab_multiple is not offered"),
        ("deepseek", {"dp": 3, "batch": 5, "list_ranks": True, "tp": 1}, "batch is 5"),
    ],
    ids=str,
)
def test_what_is_not_offered_is_refused_with_a_sentence(model, sizes, sentence):
    with pytest.raises(UsageError, match=sentence):
        generate(model, replace(SMALL, **sizes))


def test_the_command_writes_steps_that_agree(tmp_path):
    line = "generate llama3 --layers 1 --hidden 8 --heads 2 --seq 4 --batch 4 --ffn 8 --vocab 8 --pp 1 --microbatches 1"
    options = "--sp --zero 1 --optimizer adamw --clip 0.5 --loss cross-entropy --vocab-parallel --label-smoothing 0.1"
    done = CliRunner().invoke(cli, [*line.split(), *options.split(), "-o", str(tmp_path)])
    assert done.exit_code == 0, done.output
    files = [str(tmp_path / f"{name}.plan") for name in ("single", "parallel")]
    done = CliRunner().invoke(cli, ["run", "--sm", files[0], "--pm", files[1]])
    assert done.exit_code == 0, done.output
    assert done.output.startswith("AGREE")
