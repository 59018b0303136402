"""torchtitan: its Llama 3 as its own parallelize_llama makes it parallel, attention by torch's kernel for CPUs."""

from scripts.library_rows import Library, Row

FILE = "torchtitan/llama3.py"
OWN = "each rank divides by its own tokens"

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
    ),
    bare=("torchtitan==0.3.0",),
)  # fmt: skip
