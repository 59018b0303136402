"""What a program states of its numbers, those of inputs and of buffers, held against what they hold."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import _disable_current_modes

from verdict.backends.torch.confirmation import REMEDY
from verdict.backends.torch.program import Program
from verdict.backends.torch.shares import local
from verdict.backends.torch.trace import Bound
from verdict.errors import UsageError

Range = tuple[str, int, int | None]
"""A name, the least number and the greatest one, None for none."""


def ranges_of(program: Program, params: Mapping[str, Any]) -> tuple[Range, ...]:
    """What the program states of its inputs and buffers, by their names in the single-device program.

    params: its parameters and buffers by name. Raises UsageError where it does not fit them, or what they hold in this
    recording.
    """
    found = []
    for name, (low, high) in sorted(program.ranges.items()):
        tensor = program.inputs.get(name, params.get(name))
        where = f"Program.ranges[{name!r}]"
        if not isinstance(tensor, torch.Tensor) or tensor.is_complex():
            raise UsageError(where, "there is no input or buffer of that name", "name one")
        if tensor.is_floating_point() and (low, high) != (0, None):
            raise UsageError(where, "it holds real numbers", "say (0, None) where none is negative")
        if high is not None and low > high:
            raise UsageError(where, f"nothing lies between {low} and {high}", "give the least and the greatest integer")
        outside = beyond(local(tensor), low, high)
        if outside is not None:
            raise UsageError(where, f"it is {said(low, high)}, and it holds {outside}", REMEDY)
        told = name if name in program.inputs else program.names.get(name, name)
        found.append((told, int(low), None if high is None else int(high)))
    return tuple(found)


def with_variances(ranges: Sequence[Range], bound: Sequence[Bound], variances: Collection[int]) -> tuple[Range, ...]:
    """The ranges, and those of buffers among what is bound that are read as `variances`, which are not negative."""
    stated = {name for name, _, _ in ranges}
    found = (each.name for each in bound if each.kind == "buffer" and each.value in variances)
    return *ranges, *((name, 0, None) for name in found if name not in stated)


def beyond(held: Any, low: int, high: int | None) -> float | None:
    """An element that is not in a range, of a tensor that has numbers; None where there is none."""
    with _disable_current_modes():
        if isinstance(held, FakeTensor) or held.is_meta or held.dtype is torch.bool:
            return None
        wrong = held[held < low] if high is None else held[(held < low) | (held > high)]
        return wrong[0].item() if wrong.numel() else None


def said(low: int, high: int | None) -> str:
    """A range in words."""
    return f"{low} or more" if high is None else f"from {low} to {high}"
