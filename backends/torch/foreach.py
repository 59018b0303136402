"""The operators on lists of tensors (torch._foreach_*), as one operator for each element of the lists."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from verdict.backends.torch.arguments import bound

_NAMES = {"norm": "linalg_vector_norm"}
_OF_NUMBERS = {"maximum": "clamp_min", "minimum": "clamp_max"}
"""What operators on two tensors are called where the second one is a number."""
_RENAMED = {"tensors1": "end", "scalar": "value", "scalars": "value"}


def elements(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[tuple[Any, list[Any], dict[str, Any]]]:
    """For each element the operator and its arguments that compute what `func` computes; [] where it is not known, or
    takes numbers from a tensor.
    """
    name = func._schema.name.removeprefix("aten::_foreach_").removesuffix("_")
    given = [(argument, value) for argument, value in bound(func, args, kwargs) if value is not None]
    if any(argument.name == "scalars" and isinstance(value, torch.Tensor) for argument, value in given):
        return []
    count = next((len(value) for argument, value in given if _is_list(argument)), 0)
    found = []
    for position in range(count):
        each = [(argument, value[position] if isinstance(value, list | tuple) else value) for argument, value in given]
        overload = _overload(name, [value for _, value in each])
        if overload is None:
            return []
        found.append((overload, *_call(overload, each)))
    return found


def _is_list(argument: Any) -> bool:
    return str(argument.type) == "List[Tensor]"


def _overload(name: str, values: Sequence[Any]) -> Any | None:
    """The overload that plain Python code with these arguments would call; None where there is none."""
    tensors = [isinstance(value, torch.Tensor) for value in values]
    called = _NAMES.get(name) or (name if all(tensors) else _OF_NUMBERS.get(name, name))
    packet = getattr(torch.ops.aten, called, None)
    if packet is None:
        return None
    wanted = ["default"]
    if packet.__name__ in ("add", "sub", "mul", "div") or (called in _OF_NUMBERS.values() and all(tensors)):
        wanted = ["Tensor"]
    elif packet.__name__ == "pow":
        wanted = ["Tensor_Tensor" if all(tensors[:2]) else "Tensor_Scalar" if tensors[0] else "Scalar"]
    elif packet.__name__ == "lerp":
        wanted = ["Tensor" if tensors[2] else "Scalar"]
    return next((getattr(packet, name) for name in wanted if name in packet.overloads()), None)


def _call(overload: Any, each: Sequence[tuple[Any, Any]]) -> tuple[list[Any], dict[str, Any]]:
    """Arguments by position as far as the schema takes them so, the others by the name they have there."""
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    known = {argument.name: argument for argument in overload._schema.arguments}
    for position, (argument, value) in enumerate(each):
        schema = overload._schema.arguments[position] if position < len(overload._schema.arguments) else None
        if schema is not None and not schema.kwarg_only:
            args.append(value)
            continue
        name = argument.name if argument.name in known else _RENAMED.get(argument.name, argument.name)
        if name in known:
            kwargs[name] = value
    return args, kwargs
