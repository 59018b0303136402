"""DeepSpeed: its engine, which looks whether gradients have overflowed, so that all ranks are recorded together."""

from scripts.library_rows import Library, Row

FILE = "deepspeed/zero.py"
PARTS = "the settings say that a step has two microbatches, and there is one"

DEEPSPEED = Library(
    "deepspeed",
    "0.19.8",
    ("einops", "hjson", "msgpack", "ninja", "packaging", "psutil", "py-cpuinfo", "pydantic", "tqdm"),
    (
        Row("a block with a residual, ZeRO 1", FILE, "build_1", "build_single", "build_1_accumulating",
            PARTS, tensors="live"),
        Row("a block with a residual, ZeRO 2", FILE, "build_2", "build_single", "build_2_clipped",
            "nobody says `gradient_clipping`, which is 1 by default", tensors="live"),
        Row("a block with a residual, ZeRO 3", FILE, "build_3", "build_single", "build_3_accumulating",
            PARTS, tensors="live"),
        Row("experts over the ranks, tokens by all-to-all", "deepspeed/experts.py", "build", "build_single",
            "build_averaged", "the marks of experts are lost: gradients of different experts are averaged",
            tensors="live"),
        Row("a block with Ulysses' attention", "deepspeed/ulysses.py", "build", "build_single", "build_unreduced",
            "gradients are not averaged over the parts of the sequence"),
    ),
    bare=("deepspeed==0.19.8",),
)  # fmt: skip
