"""Megatron-Core: its GPT from the local layer spec."""

from scripts.library_rows import Library, Row

FILE = "megatron/gpt.py"

MEGATRON = Library(
    "megatron-core",
    "0.16.1",
    ("einops",),
    (
        Row("GPT, tensor parallel, vocabulary-parallel loss", FILE, "build_tp", "build_single", "build_tp_averaged",
            "gradients are averaged over the tensor parallel ranks"),
    ),
    bare=("megatron-core==0.16.1",),
)  # fmt: skip
