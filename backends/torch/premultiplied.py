"""NCCL's PREMUL_SUM, the sum of what each rank multiplies by a factor, as what it is: a product, and a sum.

FSDP2 asks for it where its gradients are divided by a number that is not that of the ranks. gloo does not know it.
"""

import functools
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import torch
import torch.distributed as dist

from verdict.backends.torch.importers import importers

_READS = {
    "all_reduce": "tensor",
    "reduce": "tensor",
    "reduce_scatter_tensor": "input",
    "reduce_scatter_single": "input",
}
"""Functions of torch.distributed that reduce one tensor, and what they call it."""
BY_NAME = tuple((dist, name) for name in _READS if hasattr(dist, name))
"""What is replaced in all modules that have it."""


def patches() -> Iterator[tuple[ModuleType, str, Callable[..., Any]]]:
    """Every module that has one of the functions, its name, and what takes its place."""
    for owner, name in BY_NAME:
        for module in importers(owner, name):
            yield module, name, _taken_apart(getattr(owner, name), _READS[name])


def _taken_apart(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    place = 0 if name == "tensor" else 1

    @functools.wraps(function)
    def reduce(*args: Any, **given: Any) -> Any:
        op = given.get("op", next((arg for arg in args if isinstance(arg, dist.ReduceOp)), None))
        factor = op.__getstate__()[1] if isinstance(op, dist.ReduceOp) and op == dist.ReduceOp.PREMUL_SUM else None
        if factor is None:
            return function(*args, **given)
        tensor = given[name] if name in given else args[place]
        args = tuple(dist.ReduceOp.SUM if arg is op else arg for arg in args)
        given = {key: dist.ReduceOp.SUM if key == "op" else value for key, value in given.items()}
        with torch.no_grad():
            if name == "tensor":
                tensor.mul_(factor)
                return function(*args, **given)
            multiplied = tensor * factor
        if name in given:
            return function(*args, **{**given, name: multiplied})
        return function(*args[:place], multiplied, *args[place + 1 :], **given)

    return reduce
