"""Generated plans are proved on every mesh, single faults in them refuted, and distinct stages do not grow."""

from dataclasses import replace
from functools import cache

import pytest

from tests.builders import answer, ask, attrs_of, rewrite, rewrite_where, with_attrs
from verdict.backends.generator import MODELS, Sizes, generate
from verdict.graph import ABSENT

pytestmark = pytest.mark.usefixtures("shared_proofs")

SMALL = Sizes(
    layers=2, hidden=16, heads=4, seq=4, batch=8, dp=2, tp=2, pp=2, microbatches=2, vocab=16, ffn=12, experts=8, topk=3,
    groups=4, topk_groups=2, shared_experts=1, moe_ffn=8, dense_layers=1,
)  # fmt: skip
MESHES = [
    {"dp": 1, "tp": 1, "pp": 1, "microbatches": 1},
    {"dp": 2, "tp": 1, "pp": 1, "microbatches": 4},
    {"dp": 1, "tp": 4, "pp": 1, "microbatches": 1},
    {"dp": 1, "tp": 2, "pp": 4, "microbatches": 8, "layers": 5},
    {"dp": 2, "tp": 2, "pp": 3, "microbatches": 2, "layers": 7},
]
VARIANTS = [
    ("gpt", {"tied": True}),
    ("gpt", {"tied": True, "pp": 1}),
    ("gpt", {"tied": True, "dropout": 0.3, "dp": 1, "tp": 4}),
    ("deepseek", {"shared_experts": 0}),
    ("deepseek", {"shared_experts": 3, "dense_layers": 0}),
    ("deepseek", {"groups": 1, "topk_groups": 1}),
]


GPT_ALONE = ("tied", "dropout")


def ids(sizes):
    return "-".join(f"{name}{size}" for name, size in sizes.items()) if isinstance(sizes, dict) else sizes


def pair(model, **sizes):
    offered = sizes if model == "gpt" else {name: value for name, value in sizes.items() if name not in GPT_ALONE}
    return generate(model, replace(SMALL, **offered))


@pytest.mark.parametrize("mesh", MESHES, ids=ids)
@pytest.mark.parametrize("model", sorted(MODELS))
def test_every_mesh_is_proved(model, mesh):
    report = ask(*pair(model, **mesh))
    assert report.verdict.name == "PROVED", report.findings or report.open


@pytest.mark.parametrize(("model", "sizes"), VARIANTS, ids=ids)
def test_variants_are_proved(model, sizes):
    report = ask(*pair(model, **sizes))
    assert report.verdict.name == "PROVED", report.findings or report.open


@pytest.mark.parametrize("model", ["deepseek", "gpt"])
def test_both_modes_agree(model):
    single, parallel = pair(model, batch=4, pp=1)
    assert answer(single, parallel, exhaustive=True) == answer(single, parallel) == "PROVED"


def without(plan, op, name, device):
    """The plan whose node of `op` called `name` on `device` hands on what it reads, as if it were not there."""
    return rewrite_where(
        plan, op, lambda node: node._replace(op="identity", attrs=()) if node.name == name else node, device=device
    )


def changed(op, device, name="", **attrs):
    """Other attributes of the nodes of `op` on `device` whose name ends so."""
    return lambda plan: rewrite_where(
        plan, op, lambda node: with_attrs(node, **attrs) if node.name.endswith(name) else node, device=device
    )


def untrained_router(plan):
    """The gradient of the router's weight is left where it was on device 2."""
    return rewrite_where(plan, "gate.grad", lambda node: node._replace(outputs=(node.outputs[0], ABSENT, ABSENT)), 2)


def narrow_ties(plan):
    """Reducers over two stages within each alone."""

    def each(device, node):
        tied = node.op == "all_reduce" and "replicas" in attrs_of(node) and len(attrs_of(node)["ranks"]) > 1
        return with_attrs(node, ranks=(device,)) if tied else node

    return rewrite(plan, each)


def bias_before_the_sum(plan):
    """The bias after w2 of layer 0 is added by each tp rank, and then the sum is taken."""
    name = "layers.0.feed_forward.w2"
    found = {}
    for segment in plan.segments:
        for node in segment.nodes:
            if (node.op, node.name) in {("all_reduce", name), ("add", f"{name}.biased")}:
                found[segment.device, node.op] = node

    def each(device, node):
        total, biased = (found.get((device, op)) for op in ("all_reduce", "add"))
        if node is total:
            return biased._replace(inputs=(total.inputs[0], biased.inputs[1]), outputs=total.outputs)
        if node is biased:
            return total._replace(inputs=total.outputs, outputs=biased.outputs)
        return node

    return rewrite(plan, each)


EXPERTS = {"local_expert_start": 1, "local_expert_end": 5}
AT = "layers.1.feed_forward"
FAULTS = {
    "expert range off by one": ("deepseek", changed("moe_gmm", 2, **EXPERTS)),
    "expert range of the gradient off by one": ("deepseek", changed("moe_gmm.grad", 2, **EXPERTS)),
    "both ranks run the same experts": (
        "deepseek",
        changed("moe_gmm", 3, local_expert_start=0, local_expert_end=4),
    ),
    "no groups on one rank": ("deepseek", changed("gate", 3, n_groups=1, topk_groups=1)),
    "more groups on both ranks": ("deepseek", changed("gate", None, topk_groups=4)),
    "route scale": ("deepseek", changed("gate.grad", 2, route_scale=1.0)),
    "experts are not summed": ("deepseek", lambda plan: without(plan, "all_reduce", f"{AT}.rows", 2)),
    "shared experts are not summed": (
        "deepseek",
        lambda plan: without(plan, "all_reduce", f"{AT}.shared_experts.w2", 3),
    ),
    "gradients of routing weights are not summed": (
        "deepseek",
        lambda plan: without(plan, "all_reduce", f"{AT}.gate.0.grad", 2),
    ),
    "the router is not trained": ("deepseek", untrained_router),
    "tied gradients of each stage alone": ("gpt", narrow_ties),
    "bias added by every rank": ("gpt", bias_before_the_sum),
    "eps of a layernorm": ("gpt", changed("layernorm", 1, eps=1e-6)),
    "eps of a layernorm's gradient": ("gpt", changed("layernorm.grad", 1, eps=1e-6)),
    "a position without a row": ("gpt", changed("embedding", 0, "pos_embeddings", stop=3)),
    "dropout on one side": ("gpt", changed("dropout", 2, p=0.2)),
    "dropout of the gradient differs": ("gpt", changed("dropout.grad", 2, p=0.2)),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_refuted(fault):
    model, change = FAULTS[fault]
    single, parallel = pair(model, dropout=0.3, tied=True)
    broken = change(parallel)
    assert broken != parallel
    assert answer(single, broken) == "REFUTED"


def test_another_operator_is_not_proved():
    single, parallel = pair("gpt")
    broken = rewrite_where(parallel, "gelu", lambda node: node._replace(op="relu"), device=3)
    assert answer(single, broken) in {"REFUTED", "UNKNOWN"}


@cache
def proofs(model, *more):
    """How many stages are proved of a plan of three pipeline stages, with some sizes more."""
    return ask(*pair(model, **{"layers": 3, "pp": 3, **dict(more)})).proofs


@pytest.mark.parametrize(
    "more", [{"layers": 9}, {"dp": 8, "batch": 32}, {"microbatches": 8, "batch": 32}, {"batch": 64}], ids=ids
)
@pytest.mark.parametrize("model", ["deepseek", "gpt", "llama3"])
def test_distinct_stages_do_not_grow(model, more):
    few, many = proofs(model), proofs(model, *more.items())
    assert (many.distinct, many.laws) == (few.distinct, few.laws)
    assert (many.stages > few.stages) == ("layers" in more)
