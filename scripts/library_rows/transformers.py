"""transformers: its models and their own losses, default attention and cache, under torch's and its own parallelism."""

from scripts.library_rows import Library, Row

DATA, OWN = "transformers/data_parallel.py", "transformers/parallel.py"
TWICE = "the loss is divided by the ranks again"
AGAIN = "the loss is multiplied by the ranks"
NO_ROOT = "the layers are sharded, the model around them is not"

TRANSFORMERS = Library(
    "transformers",
    "5.23.0",
    ("transformers==5.23.0",),
    (
        Row("Llama, DDP", DATA, "llama_ddp", "llama_single", "llama_ddp_scaled", TWICE),
        Row("Llama, FSDP2", DATA, "llama_fsdp2", "llama_single", "llama_fsdp2_without_root", NO_ROOT),
        Row("Llama with grouped heads, DDP", DATA, "grouped_ddp", "grouped_single", "grouped_ddp_scaled", TWICE),
        Row("Llama, gradient checkpointing, FSDP2", DATA, "checkpointed_fsdp2", "checkpointed_single",
            "checkpointed_fsdp2_scaled", TWICE),
        Row("Llama, clipped norm, DDP", DATA, "clipped_ddp", "clipped_single", "clipped_ddp_otherwise",
            "the ranks clip at another norm"),
        Row("Llama, clipped norm, FSDP2", DATA, "clipped_fsdp2", "clipped_single", "clipped_fsdp2_scaled", TWICE),
        Row("Llama, two microbatches with `num_items_in_batch`, DDP", DATA, "accumulated_ddp", "accumulated_single",
            "accumulated_ddp_own_count", "the labels of one microbatch are counted"),
        Row("Qwen2, DDP", DATA, "qwen2_ddp", "qwen2_single", "qwen2_ddp_scaled", AGAIN),
        Row("Qwen3, DDP", DATA, "qwen3_ddp", "qwen3_single", "qwen3_ddp_scaled", TWICE),
        Row("Qwen3, FSDP2", DATA, "qwen3_fsdp2", "qwen3_single", "qwen3_fsdp2_without_root", NO_ROOT),
        Row("Mistral, FSDP2", DATA, "mistral_fsdp2", "mistral_single", "mistral_fsdp2_without_root", NO_ROOT),
        Row("Gemma 2, FSDP2", DATA, "gemma2_fsdp2", "gemma2_single", "gemma2_fsdp2_without_root", NO_ROOT),
        Row("Phi-3, DDP", DATA, "phi3_ddp", "phi3_single", "phi3_ddp_scaled", AGAIN),
        Row("OLMo 2, FSDP2", DATA, "olmo2_fsdp2", "olmo2_single", "olmo2_fsdp2_without_root", NO_ROOT),
        Row("Gemma, FSDP2", DATA, "gemma_fsdp2", "gemma_single", "gemma_fsdp2_added",
            "gradients are added, `set_gradient_divide_factor(1)`"),
        Row("Gemma 3, FSDP2", DATA, "gemma3_fsdp2", "gemma3_single", "gemma3_fsdp2_without_root", NO_ROOT),
        Row("Granite, FSDP2", DATA, "granite_fsdp2", "granite_single", "granite_fsdp2_without_root", NO_ROOT),
        Row("SmolLM3, FSDP2", DATA, "smollm3_fsdp2", "smollm3_single", "smollm3_fsdp2_without_root", NO_ROOT),
        Row("StarCoder2, DDP", DATA, "starcoder2_ddp", "starcoder2_single", "starcoder2_ddp_scaled", TWICE),
        Row("GLM-4, FSDP2", DATA, "glm4_fsdp2", "glm4_single", "glm4_fsdp2_without_root", NO_ROOT),
        Row("OLMo 3, FSDP2", DATA, "olmo3_fsdp2", "olmo3_single", "olmo3_fsdp2_without_root", NO_ROOT),
        Row("StableLM, FSDP2", DATA, "stablelm_fsdp2", "stablelm_single", "stablelm_fsdp2_without_root", NO_ROOT),
        Row("Cohere, FSDP2", DATA, "cohere_fsdp2", "cohere_single", "cohere_fsdp2_without_root", NO_ROOT),
        Row("GPT-NeoX, FSDP2", DATA, "gpt_neox_fsdp2", "gpt_neox_single", "gpt_neox_fsdp2_without_root", NO_ROOT),
        Row("BLOOM, DDP", DATA, "bloom_ddp", "bloom_single", "bloom_ddp_scaled", TWICE),
        Row("GPT-2, tied embedding, DDP", DATA, "gpt2_ddp", "gpt2_single", "gpt2_ddp_scaled", TWICE),
        Row("GPT-2, tied embedding, FSDP2", DATA, "gpt2_fsdp2", "gpt2_single", "gpt2_fsdp2_scaled", AGAIN),
        Row("Llama, the library's tensor parallelism", OWN, "llama_tp", "llama_single", "llama_tp_scaled", TWICE),
        Row("Qwen3, the library's tensor parallelism", OWN, "qwen3_tp", "qwen3_single", "qwen3_tp_norms",
            "the plan calls the queries' norm `replicate`"),
        Row("OLMo 2, the library's tensor parallelism", OWN, "olmo2_tp", "olmo2_single", "olmo2_tp_scaled", TWICE),
        Row("Phi-3, the library's tensor parallelism", OWN, "phi3_tp", "phi3_single", "phi3_tp_scaled", TWICE),
        Row("Llama, the library's FSDP", OWN, "llama_fsdp", "llama_single", "llama_fsdp_scaled", TWICE),
        Row("Llama, the library's FSDP x tensor parallelism", OWN, "llama_fsdp_tp", "llama_single",
            "llama_fsdp_tp_scaled", TWICE, ranks=4),
        Row("BERT, FSDP2", DATA, "bert_fsdp2", "bert_single", "bert_fsdp2_scaled", AGAIN,
            reason="positions and types are buffers of integers, which may hold anything; with constants in their "
            "place the proof has no answer either: the gradient of the keys' bias is zero, which is far from plain"),
        Row("OPT, DDP", DATA, "opt_ddp", "opt_single", "opt_ddp_scaled", TWICE),
        Row("Mixtral, DDP", DATA, "mixtral_ddp", "mixtral_single", "mixtral_ddp_scaled", TWICE, tensors="live"),
        Row("Mixtral, FSDP2", DATA, "mixtral_fsdp2", "mixtral_single", "mixtral_fsdp2_without_root", NO_ROOT,
            tensors="live"),
        Row("Qwen3-MoE, DDP", DATA, "qwen3_moe_ddp", "qwen3_moe_single", "qwen3_moe_ddp_scaled", TWICE, tensors="live"),
        Row("Qwen3-MoE, FSDP2", DATA, "qwen3_moe_fsdp2", "qwen3_moe_single", "qwen3_moe_fsdp2_without_root", NO_ROOT,
            tensors="live"),
        Row("ViT, DDP", DATA, "vit_ddp", "vit_single", "vit_ddp_scaled", TWICE),
        Row("ResNet, batch norm with its running statistics, DDP", DATA, "resnet_ddp", "resnet_single",
            "resnet_ddp_batch_norm", "the model is left in training mode"),
    ),
)  # fmt: skip
