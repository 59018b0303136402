"""Megatron-Core: its GPT from the local layer spec."""

from scripts.library_rows import Library, Row

FILE, SEQUENCE, PIPELINE = "megatron/gpt.py", "megatron/sequence.py", "megatron/pipeline.py"
FAULTS, DISTRIBUTED, EXPERTS = "megatron/faults.py", "megatron/distributed.py", "megatron/experts.py"

MEGATRON = Library(
    "megatron-core",
    "0.16.1",
    ("einops", "packaging"),
    (
        Row("GPT, tensor parallel, vocabulary-parallel loss", FILE, "build_tp", "build_single", "build_tp_averaged",
            "gradients are averaged over the tensor parallel ranks"),
        Row("GPT, tensor and sequence parallel, torch's norms", SEQUENCE, "build", "build_single", "build_unfinished",
            "nobody calls what sums the norms' gradients"),
        Row("GPT of two layers, pipeline, its 1F1B schedule, two microbatches", PIPELINE, "build_1f1b", "build_single",
            "build_1f1b_summed", "losses of microbatches are added"),
        Row("GPT of four layers, its interleaved schedule, two virtual stages a rank, two microbatches", PIPELINE,
            "build_interleaved", "build_four_layers", "build_interleaved_summed", "losses of microbatches are added"),
        Row("GPT, its DDP and distributed optimizer", DISTRIBUTED, "build", "build_single", "build_unfinished",
            "nobody calls `finish_grad_sync`", tensors="live"),
        Row("GPT, its DDP and ordinary optimizer", DISTRIBUTED, "build_replicated", "build_single",
            "build_replicated_unfinished", "nobody calls `finish_grad_sync`", tensors="live"),
        Row("GPT, a mixture of experts, its all-to-all dispatcher, expert parallel x data parallel", EXPERTS, "build",
            "build_single", "build_averaged", "gradients of different experts are averaged", tensors="live"),
        Row("GPT, a mixture of experts, its all-gather dispatcher, expert parallel x data parallel", EXPERTS,
            "build_gathered", "build_single", "build_gathered_undivided",
            "gradients of experts are not divided by the ranks", tensors="live"),
        Row("GPT, tensor parallel, label smoothing of its vocabulary-parallel loss", FAULTS, "build_smoothed",
            "build_smoothed_single", fault=True,
            reason="each rank smooths over its own part of the vocabulary, as the fourth finding says, at line 205 "
            "(NVIDIA/Megatron-LM#7452)"),
        Row("GPT, tensor parallel, `parallel_output=False` and labels", FAULTS, "build_gathered_logits", "build_single",
            fault=True, reason="gathered logits are taken for shards of the vocabulary (NVIDIA/Megatron-LM#7452)"),
    ),
    bare=("megatron-core==0.16.1",),
)  # fmt: skip
