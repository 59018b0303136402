"""Process groups: whatever backend a program asks for, its groups are of the one that it is recorded, or run, with."""

from collections.abc import Callable
from typing import Any

from torch.distributed import distributed_c10d

OWNER, NAME = distributed_c10d, "_new_group_with_tag"
"""Where torch makes all groups but the first."""
ASKED = ("backend", "backend_options")
"""Its third and fourth argument."""


def of_the_default_backend(make: Callable[..., Any]) -> Callable[..., Any]:
    """`make`, which has its arguments, without regard to the backend: programs for GPUs name "nccl", and "gloo" too."""

    def made(ranks: Any = None, timeout: Any = None, *asked: Any, **more: Any) -> Any:
        others = {name: each for name, each in more.items() if name not in ASKED}
        return make(ranks, timeout, None, None, *asked[2:], **others)

    return made
