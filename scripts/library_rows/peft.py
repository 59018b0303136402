"""peft: adapters, which alone are trained."""

from scripts.library_rows import Library, Row

FILE, OTHERS = "peft/lora.py", "peft/others.py"
TWICE = "the loss is divided by the ranks again"

PEFT = Library(
    "peft",
    "0.21.2",
    ("peft==0.21.2", "transformers==5.23.0"),
    (
        Row("Llama with LoRA, DDP", FILE, "build_ddp", "build_single", "build_ddp_one_half",
            "one half of each adapter is kept out of the reduction"),
        Row("Llama with LoRA, FSDP2", FILE, "build_fsdp2", "build_single", "build_fsdp2_scaled",
            TWICE),
        Row("Llama with LoRA, two microbatches, `no_sync`, DDP", FILE, "build_accumulated", "build_accumulated",
            "build_accumulated_added", "losses of microbatches are added"),
        Row("Llama with LoRA, transformers' tensor parallelism", "peft/tensor_parallel.py", "build", "build_single",
            "build_scaled", "the loss is divided by the ranks"),
        Row("Llama with IA3, DDP", OTHERS, "ia3_ddp", "ia3_single", "ia3_ddp_scaled", TWICE),
        Row("Llama with prompt tuning, DDP", OTHERS, "prompt_ddp", "prompt_single", "prompt_ddp_scaled", TWICE),
        Row("Llama with prefix tuning, DDP", OTHERS, "prefix_ddp", "prefix_single", "prefix_ddp_scaled", TWICE),
        Row("Llama with LoRA and a head of its own, DDP", OTHERS, "head_ddp", "head_single", "head_ddp_ignored",
            "the head is kept out of the reduction"),
        Row("Llama with LoRA and a head of its own, FSDP2", OTHERS, "head_fsdp2", "head_single", "head_fsdp2_layers",
            "the layers are sharded, the model around them is not"),
        Row("Llama with OFT, DDP", OTHERS, "oft_ddp", "oft_single", "oft_ddp_scaled", TWICE),
        Row("Llama with VeRA, DDP", OTHERS, "vera_ddp", "vera_single", "vera_ddp_scaled", TWICE),
        Row("Llama with trained tokens, DDP", OTHERS, "tokens_ddp", "tokens_single", "tokens_ddp_scaled", TWICE),
        Row("Llama with LoHa, DDP", OTHERS, "loha_ddp", "loha_single", "loha_ddp_scaled", TWICE, tensors="live"),
    ),
)  # fmt: skip
