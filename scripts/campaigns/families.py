"""Every family of right plans that faults are put into, and how its pair is made."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from verdict.backends import load
from verdict.backends.generator import Sizes, generate
from verdict.graph import Plan

SHARED = Path(os.environ.get("VERDICT_SHARED", Path(__file__).resolve().parents[3] / "shared")) / "plans"
"""Plans of a real tool, where they are there."""
SMALL = Sizes(
    layers=2, hidden=16, heads=4, seq=4, batch=8, vocab=8, ffn=8,
    experts=8, topk=2, groups=2, topk_groups=1, moe_ffn=4, dp=1, tp=1, pp=1, microbatches=1,
)  # fmt: skip
Pair = tuple[Plan, Plan]


def generated(
    model: str, dp: int, pp: int, tp: int, microbatches: int, layers: int = 2, **more: Any
) -> Callable[[], Pair]:
    """A pair of the generator, at sizes that the oracle runs as they are. more: other fields of Sizes."""
    sizes = replace(SMALL, dp=dp, pp=pp, tp=tp, microbatches=microbatches, layers=layers, **more)
    return lambda: generate(model, sizes)


def shared(single: str, parallel: str) -> Callable[[], Pair]:
    """A pair of the shared plans."""
    return lambda: (load(str(SHARED / f"{single}.pkl.xz")), load(str(SHARED / f"{parallel}.pkl.xz")))


_LLAMA = "policies/llama3_default_dp1_pp1_tp1_nm1_gbs16_ly4_h8_hi256_sq128"
_MOE = "policies/moe_default_dp1_pp1_tp1_nm1_gbs16_ly4_h8_hi256_sq128_a2_r16"
_MLP = "policies/mlp_mgener_dp1_pp1_tp1_nm1_gbs16_dim1024_ly8"
_ADAPT = "llama3-adpt/llama3adpt_mgener_dp1_pp1_tp1_nm1_gbs64_ly2_h32_hi4096_sq128"
_GPT = "policies/gpt_mgener_dp1_pp1_tp1_nm1_gbs16_dim1024_ly4_h8_hi256_sq128"

FAMILIES: dict[str, Callable[[], Pair]] = {
    "mlp dp2 pp2 tp2 nm2": generated("mlp", 2, 2, 2, 2, 4),
    "mlp tp4": generated("mlp", 1, 1, 4, 1),
    "mlp pp4 nm4": generated("mlp", 1, 4, 1, 4, 4),
    "llama3 dp2 pp2 tp2 nm2": generated("llama3", 2, 2, 2, 2),
    "llama3 tp4": generated("llama3", 1, 1, 4, 1, 1),
    "llama3 dp2 nm2": generated("llama3", 2, 1, 1, 2, 1),
    "deepseek dp2 pp2 tp2 nm2": generated("deepseek", 2, 2, 2, 2),
    "deepseek tp4": generated("deepseek", 1, 1, 4, 1),
    "gpt dp2 pp2 tp2 nm2": generated("gpt", 2, 2, 2, 2, dropout=0.25),
    "gpt tp4 tied": generated("gpt", 1, 1, 4, 1, tied=True, dropout=0.25),
    "llama3 sp dp2 tp2": generated("llama3", 2, 1, 2, 1, 1, sp=True),
    "llama3 sp pp2 tp2 nm2": generated("llama3", 1, 2, 2, 2, sp=True),
    "gpt sp tp2": generated("gpt", 1, 1, 2, 1, 1, sp=True, dropout=0.25),
    "mlp step adamw dp2 tp2": generated("mlp", 2, 1, 2, 1, optimizer="adamw"),
    "mlp step adamw zero1 dp2": generated("mlp", 2, 1, 1, 1, optimizer="adamw", zero=1),
    "mlp step adamw zero2 clip dp2": generated("mlp", 2, 1, 1, 1, optimizer="adamw", zero=2, clip=1.0),
    "mlp step adamw zero3 dp2": generated("mlp", 2, 1, 1, 1, optimizer="adamw", zero=3),
    "mlp step adamw zero1 clip dp2 tp2 nm2": generated("mlp", 2, 1, 2, 2, optimizer="adamw", zero=1, clip=1.0),
    "mlp step adamw zero1 clip dp2 listed": generated(
        "mlp", 2, 1, 1, 1, optimizer="adamw", zero=1, clip=1.0, list_ranks=True
    ),
    "mlp step sgd clip dp2 pp2 tp2 nm2": generated("mlp", 2, 2, 2, 2, 4, optimizer="sgd", clip=1.0),
    "mlp steps2 sgd dp2 tp2": generated("mlp", 2, 1, 2, 1, optimizer="sgd", steps=2),
    "mlp steps2 adamw zero1 dp2": generated("mlp", 2, 1, 1, 1, optimizer="adamw", zero=1, steps=2),
    "mlp steps2 sgd zero3 pp2 dp2": generated("mlp", 2, 2, 1, 2, optimizer="sgd", zero=3, steps=2),
    "mlp step flat dp2": generated("mlp", 2, 1, 1, 1, optimizer="adamw", zero=1, flat=True, hidden=5, ffn=3),
    "mlp step master dp2 tp2": generated("mlp", 2, 1, 2, 1, optimizer="adamw", zero=1, master=True),
    "mlp uneven tp3": generated("mlp", 1, 1, 3, 1, ffn=8),
    "nnscaler mlp dp2 pp2 tp2 nm2": shared(_MLP, "policies/mlp_mgener_dp2_pp2_tp2_nm2_gbs16_dim1024_ly8"),
    "nnscaler mlp tp4": shared(_MLP, "policies/mlp_mgener_dp1_pp1_tp4_nm1_gbs16_dim1024_ly8"),
    "nnscaler llama3 default": shared(_LLAMA, "policies/llama3_default_dp4_pp2_tp2_nm2_gbs16_ly4_h8_hi256_sq128"),
    "nnscaler llama3 megatron": shared(_LLAMA, "policies/llama3_megatron_dp2_pp2_tp2_nm2_gbs16_ly4_h8_hi256_sq128"),
    "nnscaler llama3 gpipe": shared(_LLAMA, "policies/llama3_megatron_dp2_pp2_tp2_nm4_gpipe_gbs16_ly4_h8_hi256_sq128"),
    "nnscaler llama3 flex": shared(_LLAMA, "policies/llama3_flex_dp2_pp2_tp2_nm2_gbs16_ly4_h8_hi256_sq128"),
    "nnscaler llama3 tp": shared(_LLAMA, "policies/llama3_tp_dp2_pp1_tp4_nm1_gbs16_ly4_h8_hi256_sq128"),
    "nnscaler llama3-adpt": shared(_ADAPT, "llama3-adpt/llama3adpt_mgener_dp2_pp2_tp2_nm2_gbs64_ly2_h32_hi4096_sq128"),
    "nnscaler moe": shared(_MOE, "policies/moe_megatron_dp2_pp2_tp2_nm2_gbs16_ly4_h8_hi256_sq128_a2_r16"),
    "nnscaler gpt": shared(_GPT, "policies/gpt_mgener_dp2_pp2_tp2_nm2_gbs16_dim1024_ly4_h8_hi256_sq128"),
}
"""Every family of plans, and how its pair is made. Generated ones run at full shapes, the others shrink."""
