"""Generated plans in the place of published ones: the same models on the same meshes, whose files anybody can have.

The published plans are those of TrainVerify's artifact (SOSP 2025), made by nnScaler; they are no part of this project.
"""

import re
from collections.abc import Iterable, Iterator

from scripts.runs import REGION, Run

PROVENANCE = "they are of the artifact of TrainVerify (SOSP 2025): give its folder as --plans, or --generated"
NAME = re.compile(
    r"dp(?P<num_dp>\d+)_pp(?P<num_pp>\d+)_tp(?P<num_tp>\d+)_nm(?P<num_mb>\d+)_gbs(?P<gbs>\d+)_ly(?P<num_layers>\d+)"
    r"_h(?P<num_heads>\d+)_hi(?P<hidden_size>\d+)_sq(?P<seqlen>\d+)"
    r"(_a(?P<n_activated_experts>\d+)_r(?P<n_routed_experts>\d+))?"
)
"""The sizes that names of nnScaler's plans tell, for tables and for generated plans. Verdicts go by the content."""
_SIZES = {
    "num_dp": "dp", "num_pp": "pp", "num_tp": "tp", "num_mb": "microbatches", "gbs": "batch", "num_layers": "layers",
    "num_heads": "heads", "hidden_size": "hidden", "seqlen": "seq", "n_activated_experts": "topk",
    "n_routed_experts": "experts",
}  # fmt: skip
_GROUPS = {"64": (1, 1), "160": (8, 3), "256": (8, 4)}
"""Groups of experts, and from how many of them a token's are, by the number of experts: DeepSeek's own."""
_SMALL = {"layers": 2, "seq": 128, "vocab": 512, "ffn": 256}
"""Sizes of the plans into which single faults are put: on the mesh of the published ones, and as quickly decided."""
_FAULTS = (
    "drop-collective", "skip-node", "regroup", "duplicate-collective", "exchange-inputs", "remove-node",
    "exchange-weights", "change-constant", "change-axis", "exchange-slices", "drop-call", "permute-ranks", "move-node",
    "drop-input",
)  # fmt: skip
"""A fault for each of the published bugs: of which each is another one."""


def generated(runs: Iterable[Run]) -> Iterator[Run]:
    """The runs, with generated plans for published ones; as these need no assumption, two runs of a pair are one."""
    faults = iter(_FAULTS)
    for run in runs:
        if run.model:
            yield run
        elif run.assumed != REGION:
            mutation = (next(faults), 0) if run.pair[1].startswith("bugs/") and run.expected == "REFUTED" else None
            expected = "REFUTED" if mutation else "PROVED"
            name = f"{run.name}, generated{f' with {mutation[0]}' if mutation else ''}"
            small = _SMALL if run.pair[1].startswith("bugs/") else {}
            yield Run(name, expected, model=_model(run), sizes=_sizes(run) | small, mutation=mutation)


def _model(run: Run) -> str:
    return "deepseek" if "_r" in run.pair[1].rpartition("_sq")[2] else "llama3"


def _sizes(run: Run) -> dict[str, int]:
    found = NAME.search(run.pair[1])
    assert found is not None, run.pair
    told = {name: value for name, value in found.groupdict().items() if value}
    sizes = {_SIZES[name]: int(value) for name, value in told.items()}
    if "experts" in sizes:
        sizes["groups"], sizes["topk_groups"] = _GROUPS[told["n_routed_experts"]]
    return sizes
