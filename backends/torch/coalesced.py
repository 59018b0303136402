"""Collectives of several tensors at once, for which torch has no kernel on tensors without data: what they return."""

import torch
from torch.distributed import _meta_registrations as registered

_RETURN_WORK = (
    "allreduce_coalesced_", "allgather_coalesced_", "allgather_into_tensor_coalesced_",
    "reduce_scatter_tensor_coalesced_",
)  # fmt: skip
"""Operators of c10d that write to tensors, and return a work alone."""
_OWN = torch.library.Library("c10d", "IMPL")


def register() -> None:
    """Let them run on tensors without data."""
    for name in _RETURN_WORK:
        there = hasattr(torch.ops.c10d, name)
        if there and not torch._C._dispatch_has_kernel_for_dispatch_key(f"c10d::{name}", "Meta"):
            _OWN.impl(name, lambda *args: registered.create_fakework(args, return_first_arg=False), "Meta")
