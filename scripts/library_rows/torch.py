"""torch: its own ways of parallel training on small models of its modules."""

from scripts.library_rows import Library, Row

DATA, FLAT, STYLES = "torch/data_parallel.py", "torch/first_fsdp.py", "torch/styles.py"
SCHEDULES, PLAIN = "torch/schedules.py", "torch/plain.py"
TWICE = "the loss is divided by the ranks again"
ADDED = "`scale_grads=False` with losses that are means"
MIXED = "torch/mixed.py"
FACTOR = "gradients are added, `set_gradient_divide_factor(1)`"
AGAIN = "the loss is multiplied by the ranks"
TOLD = "torch/accumulated.py"

TORCH = Library(
    "torch",
    "2.13.0",
    (),
    (
        Row("a block, DDP, its 16-bit compression hook", DATA, "compressed", "adam_single", "compressed_summed",
            "a hook of one's own adds gradients, and nobody divides them"),
        Row("a block, DDP, two steps before PowerSGD compresses", DATA, "power", "power_single", "power_scaled",
            "losses are multiplied by the ranks"),
        Row("a block, local SGD: models averaged after each step", DATA, "local_sgd", "sgd_single", "local_adam",
            "AdamW in place of SGD"),
        Row("a block, DDP, `Join` of ranks with two batches and one", DATA, "uneven_joined", "uneven_single",
            "uneven_joined_doubled", "who goes on alone doubles its loss", tensors="live"),
        Row("a block, the first FSDP, SHARD_GRAD_OP, clipped norm", FLAT, "gradients_clipped", "clipped_single",
            "gradients_clipped_by_part", "`clip_grad_norm_` of torch.nn: each rank clips at the norm of its part"),
        Row("a block, the first FSDP, NO_SHARD, clipped by torch.nn", FLAT, "nothing_clipped", "clipped_single",
            "nothing_clipped_otherwise", "the ranks clip at another norm"),
        Row("a block, the first FSDP, HYBRID_SHARD", FLAT, "hybrid", "plain_single", "hybrid_scaled",
            "the loss is multiplied by the ranks", ranks=4),
        Row("a block, the first FSDP, two microbatches, `no_sync`", FLAT, "accumulated", "accumulated_single",
            "accumulated_added", "losses of microbatches are added"),
        Row("a transformer, column and row parallel styles", STYLES, "build_tensor", "build_single",
            "build_tensor_scaled", "the loss is divided by the ranks"),
        Row("a transformer, sequence parallel styles", STYLES, "build_sequence", "build_single", "build_sequence_norm",
            "one norm is not in the plan"),
        Row("a transformer, sequence parallel styles, `loss_parallel`", STYLES, "build_loss", "build_single",
            "build_loss_scaled", "the loss is divided by the ranks"),
        Row("four blocks, pipeline, LoopedBFS", SCHEDULES, "looped", "build_single", "looped_added", ADDED),
        Row("four blocks, pipeline, ZBVZeroBubble", SCHEDULES, "bubble", "build_single", "bubble_added", ADDED),
        Row("four blocks, pipeline, DualPipeV", SCHEDULES, "dual", "build_single", "dual_added", ADDED),
        Row("U-Net, DDP", PLAIN, "unet_ddp", "unet_single", "unet_ddp_scaled", TWICE),
        Row("a MobileNet block, DDP", PLAIN, "mobile_ddp", "mobile_single", "mobile_ddp_scaled", TWICE),
        Row("LSTM, DDP", PLAIN, "lstm_ddp", "lstm_single", "lstm_ddp_scaled", TWICE),
        Row("GRU, DDP", PLAIN, "gru_ddp", "gru_single", "gru_ddp_scaled", TWICE),
        Row("nn.TransformerEncoder, DDP", PLAIN, "encoder_ddp", "encoder_single", "encoder_ddp_scaled", TWICE),
        Row("blocks, FSDP2, weights in 16 bits, gradients added in 32", MIXED, "fsdp2_mixed", "fsdp2_mixed",
            "fsdp2_mixed_added", FACTOR),
        Row("blocks, FSDP2, all in 16 bits", MIXED, "fsdp2_halves", "fsdp2_halves", "fsdp2_halves_doubled", AGAIN),
        Row("blocks, FSDP2, weights that wait in the host's memory", MIXED, "fsdp2_host", "fsdp2_host",
            "fsdp2_host_added", FACTOR),
        Row("blocks, FSDP2 of two replicas, 16 and 32 bits", MIXED, "replicas_mixed", "replicas_mixed",
            "replicas_mixed_shards", "gradients are divided by the shards alone", ranks=4),
        Row("blocks, DDP, autocast", MIXED, "ddp_autocast", "ddp_autocast", "ddp_autocast_doubled", AGAIN),
        Row("blocks, DDP, two microbatches, `no_sync` in the first", TOLD, "ddp_no_sync", "plain_single",
            "ddp_no_sync_last", "`no_sync` in the last"),
        Row("blocks, DDP, two microbatches, clipped norm", TOLD, "ddp_clipped", "clipped_single", "ddp_clipped_each",
            "each microbatch is clipped"),
        Row("blocks, `replicate`, two microbatches", TOLD, "replicate_each", "plain_single", "replicate_undivided",
            "losses of microbatches are added"),
        Row("blocks, FSDP2, two microbatches, `set_requires_gradient_sync`", TOLD, "fsdp2_told", "plain_single",
            "fsdp2_told_otherwise", "the first is reduced, the last is not"),
        Row("blocks, FSDP2, two microbatches, `reshard_after_forward=False`", TOLD, "fsdp2_kept", "plain_single",
            "fsdp2_kept_undivided", "losses of microbatches are added"),
        Row("blocks, FSDP2 of two replicas, two microbatches, `set_requires_all_reduce`", TOLD, "hybrid_told",
            "plain_single", "hybrid_never", "replicas are never reduced", ranks=4),
    ),
)  # fmt: skip
