"""The walk compares whole steps: clipped updates and states, on whole weights and on listed shards, parts of sums."""

from dataclasses import replace

import pytest

from tests.builders import answer, ask, codes, rewrite_where, walked, with_attrs
from verdict.backends.generator import Sizes, generate
from verdict.lineage import Signature, mean
from verdict.lineage.columns import NO_COLUMN
from verdict.lineage.meaning import made_of_parts

SMALL = Sizes(
    layers=1, hidden=8, heads=4, seq=4, batch=8, dp=2, tp=2, pp=1, microbatches=2, vocab=16, ffn=16,
    optimizer="adamw", clip=0.5,
)  # fmt: skip


def pair(model="mlp", **more):
    return generate(model, replace(SMALL, **more))


@pytest.mark.parametrize(
    ("model", "more"),
    [
        ("mlp", {"list_ranks": True}),
        ("mlp", {"zero": 1, "optimizer": "sgd", "clip": 0.0, "list_ranks": True}),
        ("mlp", {"zero": 3, "list_ranks": True}),
        ("mlp", {}),
        ("mlp", {"zero": 1, "dp": 4}),
        ("mlp", {"zero": 2, "dp": 8, "batch": 16}),
        ("mlp", {"zero": 3}),
        ("gpt", {"tied": True, "pp": 2, "zero": 1, "tp": 1, "layers": 2}),
    ],
)
def test_a_whole_step_is_proved(model, more):
    report = walked(*pair(model, **more))
    assert (report.verdict.name, report.swept, report.outputs > 0) == ("PROVED", None, True)


def scaled(node):
    return with_attrs(node, weight_decay=0.02)


def swapped(node):
    w, g, m, v = node.inputs
    return node._replace(inputs=(w, g, v, m))


def exchanged(node):
    new, m, v = node.outputs
    return node._replace(outputs=(new, v, m))


def alone(node):
    return with_attrs(node, ranks=(dict(node.attrs)["ranks"][0],))


def unclipped(plan):
    """Each rank takes the norm of what it has itself."""
    groups = [node for segment in plan.segments for node in segment.nodes if node.name == "gradients.total"]
    names = {id(node) for node in groups}
    return rewrite_where(plan, "all_reduce", lambda n: n._replace(op="identity", attrs=()) if id(n) in names else n)


FAULTS = {
    "one rank decays more": (lambda p: rewrite_where(p, "adamw", scaled, device=1), "not-equivalent"),
    "the states are read the other way round": (lambda p: rewrite_where(p, "adamw", swapped, nth=0), "wrong-input"),
    "the states are written the other way round": (
        lambda p: rewrite_where(p, "adamw", exchanged, nth=0),
        "wrong-input",
    ),
    "the norm of a rank's own gradients": (unclipped, "missing-reduction"),
    "another limit": (lambda p: rewrite_where(p, "div", lambda n: with_attrs(n, other=1.0), nth=0), "not-equivalent"),
    "half of the ranks declare no state": (
        lambda p: replace(p, outputs=tuple(h for h in p.outputs if h.device % 2 or p.kind(h.weight) == "weight")),
        "output-missing",
    ),
    "one rank does not declare its weight": (
        lambda p: replace(p, outputs=tuple(h for h in p.outputs if h.device or p.kind(h.weight) != "weight")),
        "output-missing",
    ),
    "a microbatch is not added up": (
        lambda p: replace(
            p, logicals=tuple(t._replace(kind="gradient") if t.kind == "accumulator" else t for t in p.logicals)
        ),
        "missing-reduction",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_the_update_is_found(name):
    single, parallel = pair(list_ranks=True)
    change, code = FAULTS[name]
    assert code in codes(walked(single, change(parallel)))


def test_parts_of_a_sum_are_added_before_they_are_compared():
    single, parallel = pair(list_ranks=True)
    last = parallel.losses[-1]
    share = parallel.tensors[last.tensor]
    assert share.part == (1, 2)
    assert walked(single, parallel).verdict.name == "PROVED"
    again = [share._replace(part=(0, 1)) if k == last.tensor else t for k, t in enumerate(parallel.tensors)]
    alone = replace(parallel, tensors=tuple(again), losses=tuple(h for h in parallel.losses if h.tensor == last.tensor))
    assert "missing-reduction" in codes(walked(single, alone))


def test_what_a_loss_is_added_up_over_before_its_end_counts_twice():
    single, parallel = generate("mlp", replace(SMALL, optimizer="none", clip=0.0))
    assert walked(single, parallel).verdict.name == "PROVED"
    both = rewrite_where(parallel, "all_reduce", lambda n: n if "loss" not in n.name else with_attrs(n, replicas=True))
    assert "reduced-twice" in codes(walked(single, both))


def test_two_steps_go_on_from_one_another():
    single, parallel = pair(steps=2, zero=1)
    report = walked(single, parallel)
    assert (report.verdict.name, report.swept) == ("PROVED", None)
    old = {node.name: node for segment in parallel.segments for node in segment.nodes if node.op == "adamw"}
    first, second = list(old.values())[:2]
    stale = rewrite_where(
        parallel,
        "adamw",
        lambda n: n if n.name != second.name else n._replace(inputs=(*n.inputs[:2], first.inputs[2], n.inputs[3])),
    )
    assert "wrong-input" in codes(walked(single, stale))


def test_parts_that_are_added_before_their_sum_are_open_and_not_wrong():
    lora = {"layers": 1, "hidden": 4, "heads": 2, "seq": 2, "batch": 1, "vocab": 4, "ffn": 4, "lora": 2, "tp": 2}
    single, parallel = generate("llama3", Sizes(**lora, dp=1, pp=1, microbatches=1))
    assert walked(single, parallel).verdict.name == "UNKNOWN"
    assert ask(single, parallel).verdict.name == "PROVED"
    kept = rewrite_where(parallel, "all_reduce", lambda node: node._replace(op="identity", attrs=()), nth=1)
    assert answer(single, kept) == "REFUTED"


@pytest.mark.parametrize(
    ("op", "shapes", "attrs", "grads", "partial", "expected"),
    [
        ("add", ((2, 3), (2, 3)), {}, 0, {0, 1}, True),
        ("sub", ((2, 3), (2, 3)), {}, 0, {0, 1}, True),
        ("add", ((2, 3), (2, 3)), {}, 0, {1}, False),
        ("add", ((2, 3),), {"other": 1}, 0, {0}, False),
        ("mul", ((2, 3), (2, 3)), {}, 0, {0, 1}, False),
        ("linear.grad", ((2, 4), (2, 3), (4, 3)), {}, 1, {1}, True),
        ("softmax.grad", ((2, 3), (2, 3)), {"dim": 1}, 1, {1}, False),
    ],
)
def test_what_may_be_made_of_parts_of_sums(op, shapes, attrs, grads, partial, expected):
    count = len(shapes)
    made = count - grads if grads else 1
    given = tuple(sorted(attrs.items()))
    alias, columns = tuple(range(count)), (NO_COLUMN,) * count
    signature = Signature(op, given, shapes, ("float32",) * count, columns, alias, grads, (True,) * made, made)
    meaning = mean(signature, 1)
    assert not meaning.problem
    assert made_of_parts(meaning, frozenset(partial)) == expected
