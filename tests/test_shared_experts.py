"""The mixture-of-experts and GPT plans get their expected verdicts; plans changed in one place are refuted."""

from functools import cache

import pytest

from tests.builders import answer, ask, codes, rewrite_where, with_attrs
from tests.sampled import sampled
from tests.shared import HERE, REASON, dense, loaded, pairs
from verdict.backends import load
from verdict.graph import Plan
from verdict.lineage import CHUNK_ORDER

pytestmark = [pytest.mark.skipif(not HERE, reason=REASON), pytest.mark.usefixtures("shared_proofs")]

SMALL = [pair for pair in pairs() if not dense(pair) and pair.family != "large"]
UNKNOWN_TO_ALL = {
    "policies/moe_megatron_dp2_pp1_tp4_nm1_gbs16_ly4_h8_hi256_sq128_a2_r16",
    "policies/moe_megatron_dp2_pp2_tp2_nm2_gbs16_ly4_h8_hi256_sq128_a2_r16",
    "policies/gpt_mgener_dp1_pp1_tp4_nm1_gbs16_dim1024_ly4_h8_hi256_sq128",
    "policies/gpt_mgener_dp1_pp4_tp1_nm4_gbs16_dim1024_ly4_h8_hi256_sq128",
    "policies/gpt_mgener_dp2_pp2_tp2_nm2_gbs16_dim1024_ly4_h8_hi256_sq128",
}
"""Rows of the index without an expected verdict. Ours is PROVED for each of them."""


@pytest.mark.parametrize("pair", sampled(SMALL, 5), ids=lambda pair: pair.name)
def test_small_plans_get_their_verdict(pair):
    single, parallel = loaded(pair.single), load(str(pair.parallel))
    assert bool(pair.expected) == (pair.name not in UNKNOWN_TO_ALL)
    for assume, expected in ((frozenset(), pair.expected), (frozenset({CHUNK_ORDER}), pair.assumed)):
        report = ask(single, parallel, assume=assume)
        assert report.verdict.name == (expected or "PROVED"), report.findings or report.open


@cache
def plans(words: str) -> tuple[Plan, Plan]:
    pair = next(pair for pair in SMALL if words in pair.name)
    return load(str(pair.single)), load(str(pair.parallel))


EXPERTS = "moe_megatron_dp2_pp2_tp2_nm2"
GPT = "policies/gpt_mgener_dp2_pp2_tp2_nm2"


@pytest.mark.parametrize(
    ("words", "op", "attrs"),
    sampled([
        (EXPERTS, "moe_gmm", {"local_expert_start": 7, "local_expert_end": 15}),
        (EXPERTS, "moe_gmm.grad", {"local_expert_start": 1, "local_expert_end": 9}),
        (EXPERTS, "gate", {"topk_groups": 1}),
        (EXPERTS, "gate.grad", {"route_scale": 1.0}),
        (GPT, "dropout", {"p": 0.1}),
        (GPT, "dropout.grad", {"training": False}),
        (GPT, "self_attention", {"mask": True}),
        (GPT, "feedforward", {"dropout": 0.1}),
    ], 5),
)  # fmt: skip
def test_one_changed_node_is_refuted(words, op, attrs):
    single, parallel = plans(words)
    changed = (rewrite_where(parallel, op, lambda node: with_attrs(node, **attrs), device, 0) for device in (0, 1))
    report = ask(single, next(wrong for wrong in changed if wrong != parallel))
    assert report.verdict.name == "REFUTED"
    assert codes(report) <= {"wrong-constant", "wrong-scale", "not-equivalent", "law-fails"}


def test_a_router_gradient_that_is_not_summed_over_the_experts_is_refuted():
    single, parallel = plans(EXPERTS)

    def unsummed(node):
        whole = node.name.startswith("ggate_fw") and dict(node.attrs)["ranks"] == (0, 1)
        return node._replace(op="identity", attrs=()) if whole else node

    assert answer(single, rewrite_where(parallel, "all_reduce", unsummed)) == "REFUTED"
