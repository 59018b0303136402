"""The runs of the evaluation: which pairs, what is expected of them, and what the predecessor took.

Published: the statistics of TrainVerify (SOSP 2025), on 32 cores and 1 TB. Its LLaMA3-405B and DeepSeek-V3-671B plans
have hidden sizes of 1,024 and 512; the generated ones here have the models' own. Heads are not grouped and attention
is not latent in the generated plans. Sizes of DeepSeek's: the configurations of its inference code.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from verdict.graph import Node

REGION = "chunk-order-by-region"


class Run(NamedTuple):
    """A pair of plan files or of generated plans (`model` and `sizes`), and what is expected of it.

    change: a fault that is put into the generated parallel plan. mutation: one of `verdict mutate`, and its seed.
    published: the predecessor's seconds.
    """

    name: str
    expected: str
    pair: tuple[str, str] = ("", "")
    model: str = ""
    sizes: Mapping[str, Any] = {}
    assumed: str = ""
    published: float | None = None
    change: Callable[[Node], Node | None] | None = None
    mutation: tuple[str, int] | None = None


def _real(name: str, single: str, parallel: str, published: float, plain: str = "REFUTED") -> tuple[Run, ...]:
    pair = tuple(f"large/{which}.pkl.xz" for which in (single, parallel))
    run = Run(name, plain, (pair[0], pair[1]), published=published)
    region = run._replace(name=f"{name}, by region", expected="PROVED", assumed=REGION)
    return (run,) if plain == "PROVED" else (run, region)


def _llama3(layers: int, hidden: int, heads: int, ffn: int, batch: int, *mesh: int) -> dict[str, int]:
    names = ("dp", "pp", "tp", "microbatches")
    return {"layers": layers, "hidden": hidden, "heads": heads, "ffn": ffn, "vocab": 128256, "batch": batch,
            **dict(zip(names, mesh, strict=True))}  # fmt: skip


def _deepseek(experts: int, topk: int, groups: int, kept: int, shared: int, width: int, dense: int) -> dict[str, int]:
    return {"experts": experts, "topk": topk, "groups": groups, "topk_groups": kept, "shared_experts": shared,
            "moe_ffn": width, "dense_layers": dense, "vocab": 102400 if dense == 1 else 129280}  # fmt: skip


_L, _M = "llama3_default_dp", "moe_default_dp"
_OURS = "generated, real widths"
_8B, _70B = _llama3(32, 4096, 32, 14336, 512, 512, 1, 1, 1), _llama3(80, 8192, 64, 28672, 512, 16, 4, 8, 32)
_405B = _llama3(126, 16384, 128, 53248, 2048, 64, 16, 8, 16)
_16B = _llama3(27, 2048, 16, 10944, 1024, 16, 2, 4, 16) | _deepseek(64, 6, 1, 1, 2, 1408, 1)
_236B = _llama3(60, 5120, 128, 12288, 1024, 16, 4, 8, 16) | _deepseek(160, 6, 8, 3, 2, 1536, 1)
_671B = _llama3(61, 7168, 128, 18432, 1024, 32, 8, 8, 16) | _deepseek(256, 8, 8, 4, 1, 2048, 3)
LARGE = (
    *_real("L1 LLaMA3-8B", f"{_L}1_pp1_tp1_nm1_gbs512_ly32_h32_hi4096_sq128",
           f"{_L}512_pp1_tp1_nm1_gbs512_ly32_h32_hi4096_sq128", 685, "PROVED"),
    *_real("L2 LLaMA3-70B", f"{_L}1_pp1_tp1_nm1_gbs512_ly80_h64_hi4096_sq128",
           f"{_L}16_pp4_tp8_nm32_gbs512_ly80_h64_hi4096_sq128", 8532),
    *_real("L3 LLaMA3-405B", f"{_L}1_pp1_tp1_nm1_gbs2048_ly126_h128_hi1024_sq128",
           f"{_L}64_pp16_tp8_nm16_gbs2048_ly126_h128_hi1024_sq128", 28786),
    *_real("D1 DeepSeek-V3-16B", f"{_M}1_pp1_tp1_nm1_gbs1024_ly27_h16_hi512_sq128_a6_r64",
           f"{_M}16_pp2_tp4_nm16_gbs1024_ly27_h16_hi512_sq128_a6_r64", 1351),
    *_real("D2 DeepSeek-V3-236B", f"{_M}1_pp1_tp1_nm1_gbs1024_ly60_h128_hi512_sq128_a6_r160",
           f"{_M}16_pp4_tp8_nm16_gbs1024_ly60_h128_hi512_sq128_a6_r160", 8484),
    *_real("D3 DeepSeek-V3-671B", f"{_M}1_pp1_tp1_nm1_gbs1024_ly61_h128_hi512_sq128_a8_r256",
           f"{_M}32_pp8_tp8_nm16_gbs1024_ly61_h128_hi512_sq128_a8_r256", 32371),
    Run(f"LLaMA3-8B {_OURS}", "PROVED", model="llama3", sizes=_8B, published=685),
    Run(f"LLaMA3-70B {_OURS}", "PROVED", model="llama3", sizes=_70B, published=8532),
    Run(f"LLaMA3-405B {_OURS}", "PROVED", model="llama3", sizes=_405B, published=28786),
    Run(f"DeepSeek-16B {_OURS}", "PROVED", model="deepseek", sizes=_16B, published=1351),
    Run(f"DeepSeek-236B {_OURS}", "PROVED", model="deepseek", sizes=_236B, published=8484),
    Run(f"DeepSeek-671B {_OURS}", "PROVED", model="deepseek", sizes=_671B, published=32371),
)  # fmt: skip

TARGETS = {"L1": 2, "L2": 7, "L3": 10, "D1": 4, "D2": 8, "D3": 12}
"""Seconds on 2 idle cores that a run, by the first word of its name, should not take longer than, either verdict."""

BASE = {"layers": 4, "hidden": 4096, "heads": 32, "seq": 128, "batch": 512, "dp": 16, "pp": 4, "tp": 8,
        "microbatches": 8}  # fmt: skip
SMALL_MESH = {"dp": 2, "pp": 2, "tp": 2, "microbatches": 2}
SERIES: Mapping[str, tuple[Mapping[str, int], tuple[int, ...]]] = {
    "microbatches": ({}, (2, 4, 8, 16, 32)),
    "tp": ({}, (1, 2, 4, 8)),
    "dp": ({}, (2, 4, 8, 16, 32, 64)),
    "pp": ({"layers": 16}, (2, 4, 8, 16)),
    "layers": ({}, (4, 8, 16, 32)),
    "batch": ({}, (512, 1024, 2048, 4096)),
    "heads": (SMALL_MESH, (8, 16, 32, 64)),
    "hidden": (SMALL_MESH, (1024, 2048, 4096, 8192, 16384)),
    "seq": (SMALL_MESH, (128, 512, 2048, 8192)),
}
TRENDS = tuple(
    Run(f"{size} {value}", "PROVED", model="llama3", sizes={**BASE, **fixed, size: value})
    for size, (fixed, values) in SERIES.items()
    for value in values
)

_BUG_SIZES = "dp2_pp2_tp2_nm2_gbs32_ly32_h32_hi128_sq8192.pkl.xz"
_BUG_BASE = "bugs/llama3_default_dp1_pp1_tp1_nm1_gbs32_ly32_h32_hi128_sq8192.pkl.xz"
BUGS = (
    Run("the plan without a bug", "PROVED", (_BUG_BASE, f"bugs/llama3_default_{_BUG_SIZES}"), published=15),
    *(Run(f"bug {n}", "REFUTED", (_BUG_BASE, f"bugs/llama3_br{n}_{_BUG_SIZES}")) for n in range(1, 15)),
)


def _unsummed(node: Node) -> Node:
    at = "layers.0.attention.wo"
    return node._replace(op="identity", attrs=()) if (node.op, node.name) == ("all_reduce", at) else node


def _next_experts(node: Node) -> Node:
    attrs = dict(node.attrs)
    if node.op != "moe_gmm" or attrs["local_expert_start"]:
        return node
    attrs |= {"local_expert_start": 1, "local_expert_end": int(str(attrs["local_expert_end"])) + 1}
    return node._replace(attrs=tuple(sorted(attrs.items())))


FAULTY = (
    Run(f"LLaMA3-405B {_OURS}, a sum left out", "REFUTED", model="llama3", sizes=_405B, change=_unsummed,
        published=28786),
    Run(f"DeepSeek-671B {_OURS}, experts off by one", "REFUTED", model="deepseek", sizes=_671B, change=_next_experts,
        published=32371),
)  # fmt: skip
_DEMO = {"layers": 2, "hidden": 64, "heads": 4, "seq": 16, "batch": 8, "vocab": 128, "ffn": 96}
_DEMO_MOE = _DEMO | {"experts": 16, "topk": 4, "moe_ffn": 32}
DEMOS = {
    "demo_llama3": (
        Run("LLaMA3 on 8 ranks", "PROVED", model="llama3", sizes=_DEMO),
        Run("without the sum after an attention", "REFUTED", model="llama3", sizes=_DEMO, change=_unsummed),
    ),
    "demo_moe": (
        Run("DeepSeek-style experts on 8 ranks", "PROVED", model="deepseek", sizes=_DEMO_MOE),
        Run("with an expert range off by one", "REFUTED", model="deepseek", sizes=_DEMO_MOE, change=_next_experts),
    ),
}
WORK: Mapping[str, tuple[Run, ...]] = {"large": (*LARGE, *FAULTY), "trends": TRENDS, "bugs": BUGS, **DEMOS}
