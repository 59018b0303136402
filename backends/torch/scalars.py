"""Numbers of Python's in place of tensors: they are tensors where no rule has a number there."""

from collections.abc import Callable
from typing import Any

import torch

from verdict.backends.torch.arguments import Call, type_of

_FIRST = frozenset({"add", "sub", "mul", "div"})
"""Operators of which a number may stand first, and is known in the second place alone."""


def of_numbers(call: Call) -> Callable[..., Any] | None:
    """The same call with tensors that hold the numbers, where these stand in place of all its tensors, or first."""
    first = call.name in _FIRST and "self" in call.numbers
    if not call.numbers or (call.tensors and not first):
        return None

    def run(*_: Any, **__: Any) -> Any:
        held = {name: torch.scalar_tensor(number, dtype=_type(call, number)) for name, number in call.numbers.items()}
        return call.func(**{**call.given, **held})

    return run


def _type(call: Call, number: complex) -> Any:
    """The type of a tensor in place of a number, which beside tensors is one that makes what they make with it."""
    return torch.result_type(call.tensors[0], number) if call.tensors else type_of(number)
