"""Record every example of examples/torch, verify it, and print the table of docs/pytorch.md.

python scripts/run_torch_examples.py [NAME ...] [--bugs] [--timeout SECONDS]
"""

import argparse
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from scripts import processes  # noqa: E402


class Example(NamedTuple):
    """A program: its file, builder, what is parallel in it, ranks, and the verdict that is right.

    one: the builder of the single-device program in the same file.
    """

    file: str
    builder: str
    parallelism: str
    ranks: int
    right: str = "PROVED"
    tensors: str = "fake"
    one: str = "build_single"

    @property
    def options(self) -> tuple[str, ...]:
        """How the command is told to record it."""
        return ("--live",) if self.tensors == "live" else ("--tensors", self.tensors)


EXAMPLES = (
    Example("mlp_megatron", "build", "tensor parallel, Megatron's f and g", 4),
    Example("mlp_megatron", "build_async", "the same, asynchronous", 4),
    Example("ddp_manual", "build", "data parallel, flat bucket, AdamW", 2),
    Example("ddp", "build", "DistributedDataParallel, SGD", 2, tensors="real"),
    Example("llama_tp", "build", "DTensor tensor parallel", 2),
    Example("llama_tp_sp", "build", "DTensor tensor and sequence parallel, loss parallel", 2),
    Example("llama_fsdp2", "build", "FSDP2, AdamW", 2),
    Example("llama_fsdp2_tp", "build", "FSDP2 x tensor and sequence parallel", 4),
    Example("pipeline", "build", "pipeline, GPipe", 2),
    Example("pipeline", "build_1f1b", "pipeline, 1F1B", 2),
    Example("pipelining", "build", "torch.distributed.pipelining, GPipe", 2),
    Example("pipelining", "build_1f1b", "the same, 1F1B", 2),
    Example("pipelining", "build_interleaved", "the same, two stages a rank", 2),
    Example("pipelining", "build_zero_bubble", "the same, weights' gradients apart", 2),
    Example("ring_attention", "build", "context parallel, ring attention", 2),
    Example("ep_all_to_all", "build", "expert parallel, all_to_all", 2),
    Example("moe", "build", "expert parallel, learned top-2 router, capacity, AdamW", 2),
    Example("moe_dispatch", "build", "expert parallel, tokens travel by split sizes from data", 2, tensors="live"),
    Example("moe_dispatch", "build", "the same, two replicas of each expert", 4, tensors="live"),
    Example("checkpoints", "build", "FSDP2, a checkpoint, tensor parallel, AdamW", 2, tensors="live"),
    Example("checkpoints", "build_by_hand", "FSDP2, files of each rank, data parallel, AdamW", 2, tensors="live"),
    Example("zero1", "build", "ZeRO-1, Adam", 2),
    Example("zero2_clip", "build", "ZeRO-2, Adam, global norm clipped", 2),
    Example("llama_uneven", "build", "the same as llama_tp_sp, 7 words on 2 ranks", 2),
    Example("hand_cut", "build", "tensor parallel, shards cut by hand and probed", 2),
    Example("dropout", "build", "tensor parallel, dropout by masks that are inputs", 2),
    Example("clip", "build", "tensor parallel, global norm clipped, AdamW", 2),
    Example("clip", "build_ddp", "data parallel, clipped, AdamW", 2),
    Example("llama_clip", "build", "tensor and sequence parallel, clipped, AdamW", 2),
    Example("llama_clip", "build_fsdp2", "FSDP2, clipped, AdamW", 2),
    Example("gpt2", "build", "GPT-2, DistributedDataParallel, AdamW", 2, tensors="real"),
    Example("gpt2_megatron", "build", "GPT-2, Megatron's tensor parallelism, AdamW", 2),
    Example("gpt_tokens", "build", "a GPT block by hand, two microbatches, mean over all ranks' tokens, AdamW", 2),
    Example("gpt_tokens", "build_pipeline", "the same in two stages, tied embedding", 2, one="build_tied_single"),
    Example("gpt_tokens", "build_vocabulary", "the same, tensor parallel, vocabulary parallel loss", 2),
    Example("convnet", "build", "DistributedDataParallel, convolutions, group norm, pooling", 2, tensors="real"),
    Example("convnet", "build_frozen_norm", "the same, batch norm with its running statistics", 2, tensors="real",
            one="build_frozen_norm_single"),
    Example("convnet", "build_batch_norm", "batch norm of each rank's own images", 2, "REFUTED", "real",
            "build_batch_norm_single"),
    Example("mlp_megatron", "build_missing_f", "no all-reduce of the block's gradient", 2, "REFUTED"),
    Example("mlp_megatron", "build_missing_g", "no all-reduce of the block's output", 2, "REFUTED"),
    Example("mlp_megatron", "build_double_reduction", "two all-reduces", 2, "REFUTED"),
    Example("ddp_manual", "build_wrong_group", "groups of two of four ranks", 4, "REFUTED"),
    Example("ddp_manual", "build_missing_reduction", "gradients are not averaged", 2, "REFUTED"),
    Example("ddp_manual", "build_loss_scale", "gradients are summed", 2, "REFUTED"),
    Example("ddp_manual", "build_overwritten", "one gradient is another's", 2, "REFUTED"),
    Example("ddp", "build_loss_scale", "averaged twice", 2, "REFUTED", "real"),
    Example("ddp", "build_unwrapped", "the module is used beside its wrapper", 2, "REFUTED", "real"),
    Example("llama_tp", "build_missing_g", "partial outputs taken for whole", 2, "REFUTED"),
    Example("llama_tp_sp", "build_norm_weights_not_reduced", "norm weights' gradients of own rows only", 2, "REFUTED"),
    Example("llama_fsdp2", "build_mean_of_means", "mean of the means of unequally many tokens", 2, "REFUTED"),
    Example("llama_fsdp2", "build_loss_scale", "averaged twice", 2, "REFUTED"),
    Example("llama_fsdp2", "build_summed", "means are summed", 2, "REFUTED"),
    Example("pipeline", "build_loss_scale", "microbatch losses are added", 2, "REFUTED"),
    Example("pipeline", "build_missing_microbatch", "one microbatch is left out", 2, "REFUTED"),
    Example("pipeline", "build_wrong_order", "gradients of other microbatches", 2, "REFUTED"),
    Example("pipeline", "build_deadlock", "both ranks wait for each other", 2, "REFUTED"),
    Example("pipelining", "build_loss_scale", "nobody divides by the number of microbatches", 2, "REFUTED"),
    Example("pipelining", "build_last_loss", "the last microbatch's loss is reported", 2, "REFUTED"),
    Example("ring_attention", "build_missing_round", "one block of keys is never seen", 2, "REFUTED"),
    Example("ring_attention", "build_missing_wait", "what is received is used before it is there", 2, "REFUTED"),
    Example("ep_all_to_all", "build_gradients_stay", "gradients are not sent back", 2, "REFUTED"),
    Example("ep_all_to_all", "build_wrong_chunk", "each other's experts", 2, "REFUTED"),
    Example("zero2_clip", "build_local_norm", "each rank clips by the norm of its own rows", 2, "REFUTED"),
    Example("dropout", "build_same_masks", "one mask for unlike shards", 2, "REFUTED"),
    Example("hand_cut", "build_wrong_chunk", "each rank keeps its neighbour's columns", 2, "REFUTED"),
    Example("moe", "build_router_not_reduced", "each rank's router learns from its own tokens", 2, "REFUTED"),
    Example("moe", "build_wrong_order", "slots go home in another order", 2, "REFUTED"),
    Example("moe_dispatch", "build_wrong_order", "pieces taken for sorted otherwise", 2, "REFUTED", "live"),
    Example("moe_dispatch", "build_not_unpermuted", "tokens come home in another order", 2, "REFUTED", "live"),
    Example("moe_dispatch", "build_local_balance", "each rank balances its own choices", 2, "REFUTED", "live"),
    Example("moe_dispatch", "build_experts_not_reduced", "replicas of experts not reduced", 4, "REFUTED", "live"),
    Example("checkpoints", "build_forgotten_optimizer", "the optimizer begins anew", 2, "REFUTED", "live"),
    Example("checkpoints", "build_forgotten_count", "the optimizer counts its steps anew", 2, "REFUTED", "live"),
    Example("checkpoints", "build_wrong_order", "rows of ranks are joined from the last", 2, "REFUTED", "live"),
    Example("checkpoints", "build_own_files", "each rank reads its own file alone", 2, "REFUTED", "live"),
    Example("zero1", "build_wrong_chunk", "the neighbour's rows are updated", 2, "REFUTED"),
    Example("zero1", "build_missing_gather", "updated rows are not gathered", 2, "REFUTED"),
    Example("clip", "build_local_norm", "each rank divides by the norm of its own shards", 2, "REFUTED"),
    Example("clip", "build_counted_twice", "what every rank has counts once for each rank", 2, "REFUTED"),
    Example("clip", "build_ddp_clipped_first", "clipped before it is averaged", 2, "REFUTED"),
    Example("gpt2", "build_untied", "the output has a copy of the embedding", 2, "REFUTED", "real"),
    Example("gpt2_megatron", "build_bias_twice", "each rank adds the bias", 2, "REFUTED"),
    Example("gpt2_megatron", "build_unmasked", "other ranks' tokens get the rank's first row", 2, "REFUTED"),
    Example("gpt2_megatron", "build_wrong_layout", "fused projections in another order", 2, "REFUTED"),
    Example("gpt_tokens", "build_own_tokens", "each rank divides by its own tokens", 2, "REFUTED"),
    Example(
        "gpt_tokens",
        "build_pipeline_untied",
        "the tied embedding's gradients stay apart",
        2,
        "REFUTED",
        one="build_tied_single",
    ),
    Example("gpt_tokens", "build_vocabulary_own_gradient", "the hidden state's gradient stays apart", 2, "REFUTED"),
    Example("llama_clip", "build_local_norm", "each rank divides by the norm of its own shards", 2, "REFUTED"),
    Example("llama_clip", "build_fsdp2_local_norm", "the same under FSDP2", 2, "REFUTED"),
)


class Row(NamedTuple):
    """What was measured: nodes of all ranks, seconds of the recording and of the verdict, and the verdict.

    runs: what runs of the parallel program say of its recording.
    """

    example: Example
    nodes: int
    runs: str
    recording: float
    proof: float
    verdict: str
    first: str


def run(example: Example, timeout: float) -> Row:
    """Record and verify one example."""
    file = ROOT / "examples" / "torch" / f"{example.file}.py"
    with tempfile.TemporaryDirectory() as folder:
        words = (file, example.builder, example.one, example.ranks, Path(folder), *example.options)
        recorded, *plans = processes.record(*words)
        if recorded.status:
            return Row(example, 0, "", recorded.seconds, 0.0, "not recorded", _last(recorded))
        runs = recorded.errors.strip().splitlines()[-2].rpartition("; ")[2].replace("two runs ", "")
        nodes = sum(" = " in line or "send(" in line for line in plans[1].read_text().splitlines())
        done = processes.ask(*plans, "--no-repair", timeout=timeout)
        return Row(example, nodes, runs, recorded.seconds, done.seconds, done.verdict, _first(done))


def _first(done: processes.Done) -> str:
    """The first thing that the report says went wrong."""
    listed = done.data.get("findings") or done.data.get("unknown") or [{}]
    return str(listed[0].get("title") or listed[0].get("where") or _last(done))


def _last(done: processes.Done) -> str:
    """The last line of what a process complained of."""
    return "".join(done.errors.strip().splitlines()[-1:])


def main() -> int:
    """Print the table; 1 if some verdict is not the right one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="files whose examples are run (default: all)")
    parser.add_argument("--bugs", action="store_true", help="the wrong programs too")
    parser.add_argument("--timeout", type=float, default=600.0)
    given = parser.parse_args()
    chosen = [e for e in EXAMPLES if (given.bugs or e.right == "PROVED") and (not given.names or e.file in given.names)]
    print("| program | parallelism, or what is wrong | ranks | nodes | runs | recording s | verdict s | verdict |")
    print("|---|---|---|---|---|---|---|---|")
    wrong = 0
    for example in chosen:
        row = run(example, given.timeout)
        name = f"{example.file}.py:{example.builder}"
        times = f"{row.recording:.1f} | {row.proof:.1f}"
        size = f"{example.ranks} | {row.nodes}"
        print(f"| {name} | {example.parallelism} | {size} | {row.runs} | {times} | {row.verdict} |", flush=True)
        if row.verdict != example.right:
            wrong += 1
            print(f"{name}: {row.verdict} {row.first}", file=sys.stderr, flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
