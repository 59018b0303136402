"""accelerate: what `prepare`, `backward`, `accumulate` and `clip_grad_norm_` make of a training step."""

from scripts.library_rows import Library, Row

FILE = "accelerate/data_parallel.py"
LOADERS, TOKENS = "accelerate/loaders.py", "accelerate/tokens.py"

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
        Row("a network, two microbatches and one, the loader's end makes a step", LOADERS, "build_accumulated",
            "build_accumulated_single", "build_accumulated_untold", "nobody calls `accumulate`"),
        Row("a network, two microbatches and one, reduced in each", LOADERS, "build_accumulated_each",
            "build_accumulated_single", "build_accumulated_untold", "nobody calls `accumulate`"),
        Row("Llama, two microbatches divided by the labels of all ranks", TOKENS, "build", "build_single", "build_own",
            "means of microbatches are averaged, whose labels are not equally many"),
        Row("Llama, two microbatches divided by the labels of all ranks, clipped norm", TOKENS, "build_clipped",
            "build_clipped_single", "build_clipped_one_rank", "nobody multiplies by the ranks"),
        Row("Llama, two microbatches divided by the labels of all ranks, clipped norm, FSDP2", TOKENS,
            "build_sharded", "build_clipped_single", "build_sharded_own",
            "means of microbatches are averaged, whose labels are not equally many"),
    ),
)  # fmt: skip
