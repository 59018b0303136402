"""accelerate: what `prepare`, `backward`, `accumulate` and `clip_grad_norm_` make of a training step."""

from scripts.library_rows import Library, Row

FILE = "accelerate/data_parallel.py"
LOADERS = "accelerate/loaders.py"

ACCELERATE = Library(
    "accelerate",
    "1.15.0",
    ("accelerate==1.15.0", "transformers==5.23.0"),
    (
        Row("Llama, prepared", FILE, "build", "build_single", "build_scaled", "the loss is divided by the ranks again"),
        Row("Llama, clipped norm", FILE, "build_clipped", "build_clipped_single", "build_clipped_scaled",
            "the loss is divided by the ranks again"),
        Row("Llama, two microbatches", FILE, "build_accumulated", "build_accumulated_single", "build_accumulated_past",
            "`loss.backward()` instead of `accelerator.backward(loss)`"),
        Row("Llama, prepared with FSDP2", "accelerate/sharded.py", "build", "build_single", "build_scaled",
            "the loss is divided by the ranks again"),
        Row("Llama, prepared with FSDP2, clipped norm", "accelerate/sharded.py", "build_clipped",
            "build_clipped_single", "build_clipped_scaled", "the loss is divided by the ranks again"),
        Row("a network, its loader and schedule, batches split", LOADERS, "build", "build_single",
            "build_scheduled_twice", "a batch for each rank: the schedule goes on once for each"),
    ),
)  # fmt: skip
