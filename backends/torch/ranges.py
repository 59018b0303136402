"""What a program states of its integers, those of inputs and of buffers, held against what they hold."""

from collections.abc import Mapping
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import _disable_current_modes

from verdict.backends.torch.confirmation import REMEDY
from verdict.backends.torch.program import Program
from verdict.backends.torch.shares import local
from verdict.errors import UsageError


def ranges_of(program: Program, params: Mapping[str, Any]) -> tuple[tuple[str, int, int], ...]:
    """What the program states of its inputs and buffers of integers, by their names in the single-device program.

    params: its parameters and buffers by name. Raises UsageError where it does not fit them, or what they hold in this
    recording.
    """
    found = []
    for name, (low, high) in sorted(program.ranges.items()):
        tensor = program.inputs.get(name, params.get(name))
        where = f"Program.ranges[{name!r}]"
        if not isinstance(tensor, torch.Tensor) or tensor.is_floating_point() or tensor.is_complex():
            raise UsageError(where, "there is no input or buffer of integers of that name", "name one")
        if low > high:
            raise UsageError(where, f"nothing lies between {low} and {high}", "give the least and the greatest integer")
        outside = beyond(local(tensor), low, high)
        if outside is not None:
            raise UsageError(where, f"it is from {low} to {high}, and it holds {outside}", REMEDY)
        found.append((name if name in program.inputs else program.names.get(name, name), int(low), int(high)))
    return tuple(found)


def beyond(held: Any, low: int, high: int) -> int | None:
    """An element that is not in a range, of a tensor that has numbers; None where there is none."""
    with _disable_current_modes():
        if isinstance(held, FakeTensor) or held.is_meta or held.dtype is torch.bool:
            return None
        wrong = held[(held < low) | (held > high)]
        return int(wrong[0]) if wrong.numel() else None
