"""Real plans get their expected verdicts, by default and under the assumption that the reference makes."""

import pytest

from tests.sampled import sampled
from tests.shared import HERE, REASON, Pair, dense, loaded, pairs
from verdict.backends import load
from verdict.lineage import CHUNK_ORDER
from verdict.options import Options
from verdict.pipeline import verify
from verdict.report import Report

pytestmark = [pytest.mark.skipif(not HERE, reason=REASON), pytest.mark.usefixtures("shared_proofs")]

SMALL = [pair for pair in pairs() if dense(pair) and pair.family not in ("large", "bugs")]
OTHERWISE = [pair for pair in SMALL if pair.expected != pair.assumed]
ASSUMED = [*OTHERWISE, *(pair for pair in SMALL if pair.assumed == "REFUTED"), *SMALL[::9]]
"""Asked under the assumption too; scripts/run_index.py asks of all plans."""

UNKNOWN_TO_ALL = {
    "policies/llama3_flex_dp2_pp2_tp2_nm2_gbs16_ly4_h8_hi256_sq128",
    "policies/llama3_megatron_dp1_pp1_tp4_nm1_gbs16_ly4_h8_hi256_sq128",
    "policies/llama3_megatron_dp2_pp2_tp2_nm2_gbs16_ly4_h8_hi256_sq128",
    "policies/llama3_megatron_dp2_pp2_tp2_nm4_gpipe_gbs16_ly4_h8_hi256_sq128",
    "policies/llama3_megatron_dp2_pp4_tp2_nm4_gbs32_ly8_h8_hi256_sq128",
    "policies/llama3_pp_dp1_pp8_tp1_nm8_gbs32_ly8_h8_hi256_sq128",
    "policies/llama3_tp_dp1_pp1_tp2_nm1_gbs16_ly4_h8_hi256_sq128",
    "policies/llama3_tp_dp2_pp1_tp4_nm1_gbs16_ly4_h8_hi256_sq128",
    "policies/mlp_mgener_dp1_pp1_tp4_nm1_gbs16_dim1024_ly8",
    "policies/mlp_mgener_dp1_pp4_tp1_nm4_gbs16_dim1024_ly8",
    "policies/mlp_mgener_dp2_pp2_tp2_nm2_gbs16_dim1024_ly8",
}
"""Rows of the index without an expected verdict. Ours is PROVED for each of them."""


EXHAUSTIVE = ("mlp_mgener_dp2_pp2_tp2", "llama3_tp_dp1_pp1_tp2", "llama3adpt_mgener_dp1_pp1_tp2")


def decide(pair: Pair, assume: frozenset[str] = frozenset()) -> Report:
    return verify(loaded(pair.single), load(str(pair.parallel)), Options(assume=assume))


@pytest.mark.parametrize("pair", sampled(SMALL, 10), ids=lambda pair: pair.name)
def test_small_plans_get_their_verdict(pair: Pair) -> None:
    report = decide(pair)
    assert report.verdict.name == (pair.expected or "PROVED"), report.findings or report.open
    assert bool(pair.expected) == (pair.name not in UNKNOWN_TO_ALL)


@pytest.mark.parametrize("pair", sampled(ASSUMED, 6), ids=lambda pair: pair.name)
def test_small_plans_get_their_verdict_under_the_assumption(pair: Pair) -> None:
    report = decide(pair, frozenset({CHUNK_ORDER}))
    assert report.verdict.name == (pair.assumed or "PROVED"), report.findings or report.open
    rests_on = CHUNK_ORDER in {assumption.name for assumption in report.assumptions}
    assert rests_on == (pair.expected != pair.assumed)


@pytest.mark.parametrize("pair", sampled(OTHERWISE[::2], 2), ids=lambda pair: pair.name)
def test_permuted_activations_are_one_finding(pair: Pair) -> None:
    assert [finding.code for finding in decide(pair).findings] == ["wrong-order"]


def test_distinct_stages_do_not_grow_with_replicas_or_microbatches() -> None:
    few, many = (
        next(pair for pair in SMALL if wanted in pair.name)
        for wanted in ("dp2_pp2_tp2_nm2_gbs512_ly2", "dp16_pp4_tp2_nm8_gbs512_ly2")
    )
    assert decide(few).proofs == decide(many).proofs


def test_distinct_stages_do_not_grow_with_layers() -> None:
    of_four, of_eight = (
        next(pair for pair in SMALL if wanted in pair.name)
        for wanted in ("llama3_megatron_dp2_pp2_tp2_nm2_gbs16_ly4", "llama3_megatron_dp2_pp4_tp2_nm4_gbs32_ly8")
    )
    four, eight = decide(of_four).proofs, decide(of_eight).proofs
    assert four.distinct == eight.distinct
    assert four.stages < eight.stages


@pytest.mark.parametrize("wanted", sampled(EXHAUSTIVE, 2))
def test_the_exhaustive_mode_agrees(wanted: str) -> None:
    pair = next(pair for pair in SMALL if wanted in pair.name)
    single, parallel = load(str(pair.single)), load(str(pair.parallel))
    quick, slow = (verify(single, parallel, Options(exhaustive=every)) for every in (False, True))
    assert quick.verdict is slow.verdict
    assert quick.findings == slow.findings
    assert slow.proofs.distinct > quick.proofs.distinct
