"""torchtitan: its Llama 3 as its own parallelize_llama makes it parallel, attention by torch's kernel for CPUs."""

from scripts.library_rows import Library, Row

FILE = "torchtitan/llama3.py"
STAGES, LATENT, QWEN = "torchtitan/pipeline.py", "torchtitan/deepseek.py", "torchtitan/qwen3.py"
OWN = "each rank divides by its own tokens"
PARTS = "each microbatch divides by its own tokens, and nobody by the microbatches"

TORCHTITAN = Library(
    "torchtitan",
    "0.3.0",
    ("spmd_types==0.2.3", "tyro", "torchdata", "triton"),
    (
        Row("Llama 3, tensor and sequence parallel", FILE, "build_tp_sp", "build_single", "build_tp_sp_scaled",
            "each rank divides its loss by the ranks"),
        Row("Llama 3, FSDP2", FILE, "build_fsdp", "build_single", "build_fsdp_own_tokens", OWN),
        Row("Llama 3, FSDP2 x tensor and sequence parallel", FILE, "build_fsdp_tp", "build_single",
            "build_fsdp_tp_own_tokens", OWN, ranks=4),
        Row("Llama 3, tensor parallel alone", FILE, "build_tp", "build_single", "build_tp_scaled",
            "each rank divides its loss by the ranks"),
        Row("Llama 3, FSDP2, selective activation checkpointing", FILE, "build_checkpointed", "build_single",
            "build_checkpointed_own_tokens", OWN),
        Row("Llama 3, FSDP2 of two replicas", FILE, "build_replicated", "build_single", "build_replicated_own_tokens",
            OWN, ranks=4),
        Row("Llama 3, FSDP2 x tensor and sequence parallel, recorded together", FILE, "build_fsdp_tp", "build_single",
            "build_fsdp_tp_own_tokens", OWN, ranks=4, tensors="live"),
        Row("Llama 3 of two layers, pipeline, 1F1B, four microbatches", STAGES, "build_1f1b", "build_single",
            "build_1f1b_own_tokens", PARTS, tensors="live"),
        Row("Llama 3 of two layers, interleaved 1F1B, two stages a rank", STAGES, "build_interleaved", "build_single",
            "build_interleaved_own_tokens", PARTS, tensors="live"),
        Row("Llama 3 of two layers, pipeline x FSDP2", STAGES, "build_fsdp", "build_single", "build_fsdp_own_tokens",
            PARTS, ranks=4, tensors="live"),
        Row("DeepSeek-V3, FSDP2", LATENT, "build_fsdp", "build_single", "build_fsdp_own_tokens", OWN, tensors="live"),
        Row("DeepSeek-V3, FSDP2 x expert parallel", LATENT, "build_experts", "build_single",
            "build_experts_own_tokens", OWN, tensors="live"),
        Row("DeepSeek-V3, tensor parallel alone", LATENT, "build_tp", "build_single", "build_tp_scaled",
            "each rank divides its loss by the ranks", tensors="live"),
        Row("Qwen3 of one layer, FSDP2", QWEN, "dense_fsdp", "dense_single", "dense_fsdp_own_tokens", OWN),
        Row("Qwen3 of one layer, tensor and sequence parallel", QWEN, "dense_sequence", "dense_single",
            "dense_sequence_scaled", "each rank divides its loss by the ranks"),
        Row("Qwen3 of experts, FSDP2", QWEN, "experts_fsdp", "experts_single", "experts_fsdp_own_tokens", OWN,
            tensors="live"),
        Row("Qwen3 of experts, FSDP2 x expert parallel", QWEN, "experts_spread", "experts_single",
            "experts_spread_own_tokens", OWN, tensors="live"),
        Row("Qwen3 of experts, tensor parallel alone", QWEN, "experts_tp", "experts_single", "experts_tp_scaled",
            "each rank divides its loss by the ranks", tensors="live"),
    ),
    bare=("torchtitan==0.3.0",),
)  # fmt: skip
