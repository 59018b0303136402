"""How a call of a torch operator becomes inputs and attributes of a node, and back.

Inputs are the tensor arguments in the order of the schema, lists flattened. Every other argument that has not its
default value is an attribute named by the schema; what says where and how memory lies is left out. A list's length
is the attribute `<argument>_count`. Absent tensors that a later tensor follows are named in `absent`, truth values
among indices, by their places in the list, in `masks`. `add` and `bitwise_not` of truth values have dtype bool.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
import torch
from torch._library.custom_ops import OPDEFS
from torch._subclasses.fake_tensor import FakeTensor

from verdict.backends.torch.composites import TAKEN_APART

PLACES = frozenset({"device", "layout", "pin_memory", "memory_format", "non_blocking", "generator"})
"""Arguments that do not change a value."""


DIGITS = 6
"""Of a decimal that somebody wrote; hardly any other number of 32 bits, which has up to nine, is as short as that."""
_OF_TRUTH = frozenset({"aten::add", "aten::bitwise_not"})
"""Operators that mean something else for truth values; `dtype` says then that theirs are such."""


def is_plain(kind: type) -> bool:
    """Whether tensors of a kind are no wrappers of others: a library's class that says nothing of how operators are
    dispatched (a parameter with a few attributes) holds what it is given.
    """
    return kind is FakeTensor or getattr(kind, "__torch_dispatch__", None) is torch.Tensor.__torch_dispatch__


def bound(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Iterator[tuple[Any, Any]]:
    """Each argument of the schema and its value in this call, defaults included."""
    for position, argument in enumerate(func._schema.arguments):
        if position < len(args):
            yield argument, args[position]
        elif argument.name in kwargs:
            yield argument, kwargs[argument.name]
        else:
            yield argument, argument.default_value if argument.has_default_value() else None


def type_of(number: complex) -> Any:
    """The type of a tensor that holds a number of Python's."""
    if isinstance(number, bool):
        return torch.bool
    if isinstance(number, int):
        return torch.int64
    return torch.get_default_dtype() if isinstance(number, float) else torch.get_default_dtype().to_complex()


def is_tensors(argument: Any) -> bool:
    """Whether an argument of the schema is a tensor or a list of tensors."""
    return "Tensor" in str(argument.type)


def tensors_in(value: Any) -> Iterator[Any]:
    """The tensors in an argument, lists flattened."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from tensors_in(item)


def encode(
    func: Any, args: Sequence[Any], kwargs: Mapping[str, Any], number: Callable[[Any], int]
) -> tuple[tuple[int, ...], dict[str, Hashable]]:
    """Inputs and attributes of the node for this call. number: of a tensor's value."""
    inputs: list[int] = []
    attrs: dict[str, Hashable] = {}
    absent: list[str] = []
    waiting: list[str] = []
    floats = {t.dtype for t in tensors_in([*args, *kwargs.values()]) if t.is_floating_point()}
    single = floats == {torch.float32}
    for argument, value in bound(func, args, kwargs):
        name = argument.name
        if isinstance(value, torch.Tensor):
            absent += waiting
            waiting = []
            inputs.append(number(value))
        elif is_tensors(argument) and isinstance(value, list | tuple):
            listed = value[: max((k + 1 for k, item in enumerate(value) if item is not None), default=0)]
            attrs[f"{name}_count"] = len(listed)
            masks = tuple(k for k, item in enumerate(listed) if item is not None and item.dtype is torch.bool)
            if name == "indices" and masks:
                attrs["masks"] = masks
            for position, item in enumerate(listed):
                if item is None:
                    waiting.append(f"{name}.{position}")
                    continue
                absent += waiting
                waiting = []
                inputs.append(number(item))
        elif is_tensors(argument) and value is None:
            waiting.append(name)
        elif name not in PLACES and not _is_default(argument, value):
            attrs[name] = plain(decimal(value) if single else value)
    if absent:
        attrs["absent"] = tuple(absent)
    operands = (value for argument, value in bound(func, args, kwargs) if argument.name in ("self", "other"))
    if func._schema.name in _OF_TRUTH and all(map(_is_truth, operands)):
        attrs["dtype"] = "bool"
    return tuple(inputs), attrs


def _is_truth(value: Any) -> bool:
    """Whether an operand is a truth value, or holds such: beside another number, truth values are numbers, too."""
    return value.dtype is torch.bool if isinstance(value, torch.Tensor) else isinstance(value, bool)


def _is_default(argument: Any, value: Any) -> bool:
    if not argument.has_default_value():
        return False
    default = argument.default_value
    return type(default) is type(value) and bool(plain(default) == plain(value))


def decimal(value: Any) -> Any:
    """The short decimal (at most DIGITS digits) of which a number with a fraction, or each of a list, is the nearest of
    32 bits: beside tensors of these it is the same number. Anything else as it is.
    """
    if isinstance(value, list | tuple):
        return [decimal(item) for item in value]
    if not isinstance(value, float) or not isfinite(value) or value == int(value):
        return value
    text = str(np.float32(value))
    short = len(text.partition("e")[0].strip("-0.").replace(".", "")) <= DIGITS
    return float(text) if short and float(np.float32(value)) == value else value


def plain(value: Any) -> Hashable:
    """A non-tensor argument as an attribute."""
    if isinstance(value, torch.dtype):
        return str(value).removeprefix("torch.")
    if isinstance(value, list | tuple):
        return tuple(plain(item) for item in value)
    if isinstance(value, torch.SymInt):
        return int(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)


def decode(func: Any, tensors: Sequence[Any], attrs: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of the call that `encode` made `tensors` and `attrs` of."""
    left = list(tensors)
    absent = frozenset(attrs.get("absent", ()))
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for argument in func._schema.arguments:
        name = argument.name
        if f"{name}_count" in attrs:
            value: Any = [
                None if f"{name}.{position}" in absent or not left else left.pop(0)
                for position in range(attrs[f"{name}_count"])
            ]
        elif name in attrs:
            value = _typed(argument, attrs[name])
        elif is_tensors(argument) and name not in absent and left:
            value = left.pop(0)
        elif argument.has_default_value():
            continue
        else:
            value = None
        if argument.kwarg_only or len(args) < func._schema.arguments.index(argument):
            kwargs[name] = value
        else:
            args.append(value)
    return args, kwargs


def _typed(argument: Any, value: Any) -> Any:
    if argument.name in ("dtype", "input_dtype") and isinstance(value, str):
        return getattr(torch, value)
    return list(value) if isinstance(value, tuple) else value


@lru_cache(maxsize=4096)
def is_composite(func: Any) -> bool:
    """Whether torch defines `func` by other operators. Below autograd such calls come from DTensor's own code, but for
    those that are kept whole.
    """
    if func._schema.name.removeprefix("aten::") in TAKEN_APART:
        return False
    return bool(torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CompositeImplicitAutograd"))


def kernel_of(func: Any) -> Callable[..., Any] | None:
    """The function of Python's that an operator of `torch.library.custom_op` runs on the CPU; None of any other."""
    made = OPDEFS.get(func._schema.name)
    return None if made is None else made._backend_fns.get("cpu", made._backend_fns.get(None))


@lru_cache(maxsize=4096)
def functional_of(func: Any) -> Any | None:
    """The operator that computes what `func` writes, and writes nothing; None where there is none."""
    wanted = _signature(func)
    name = func._schema.name.split("::")[1]
    packet = getattr(getattr(torch.ops, func.namespace), name.removesuffix("_"), None)
    for overload in packet.overloads() if packet is not None else ():
        found = getattr(packet, overload)
        if not found._schema.is_mutable and _signature(found) == wanted:
            return found
    return None


def _signature(func: Any) -> tuple[tuple[str, str], ...]:
    """Names and types of the arguments, what is written out of place aside."""
    return tuple(
        (argument.name, str(argument.type).replace("(a!)", ""))
        for argument in func._schema.arguments
        if not (argument.is_write and argument.kwarg_only)
    )


def written(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
    """The tensors that the schema says this call writes to."""
    return [
        tensor
        for argument, value in bound(func, args, kwargs)
        if argument.alias_info is not None and argument.alias_info.is_write
        for tensor in tensors_in(value)
    ]


def called(func: Any) -> str:
    """The name of the operator in a plan: the overload is left out where it is the default."""
    name, overload = func._schema.name.replace("::", "."), func._schema.overload_name
    return f"{name}.{overload}" if overload else str(name)


def operator(name: str) -> Any:
    """The torch operator that `called` names."""
    parts = name.split(".")
    packet = getattr(getattr(torch.ops, parts[0]), parts[1])
    return getattr(packet, parts[2] if len(parts) > 2 else "default")


class Call(NamedTuple):
    """One call of a torch operator. given: its arguments by name, defaults included."""

    func: Any
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    name: str
    given: Mapping[str, Any]

    @staticmethod
    def of(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> "Call":
        """The call of `func` with these arguments."""
        given = {argument.name: value for argument, value in bound(func, args, kwargs)}
        return Call(func, args, kwargs, func._schema.name.split("::")[1], given)

    @property
    def overload(self) -> str:
        """Which overload of the operator; "" for the default one."""
        return str(self.func._schema.overload_name)

    @property
    def tensors(self) -> list[Any]:
        """All tensors among the arguments."""
        return list(tensors_in(list(self.given.values())))

    @property
    def numbers(self) -> dict[str, Any]:
        """The arguments by name that are numbers where the schema has tensors."""
        kinds = {argument.name for argument in self.func._schema.arguments if str(argument.type) == "Tensor"}
        return {name: v for name, v in self.given.items() if name in kinds and isinstance(v, int | float | complex)}

    @property
    def written(self) -> list[Any]:
        """The tensors that it writes to, as the schema says."""
        return written(self.func, self.args, self.kwargs)

    def run(self) -> Any:
        """What the call returns."""
        return self.func(*self.args, **self.kwargs)
