"""The tensors of a program that have names, before its step and after it: the same for a recording and for a run."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import torch
from torch.distributed.tensor import DTensor

from verdict.backends.torch.door import require_outputs
from verdict.backends.torch.program import Program, Share
from verdict.backends.torch.shares import local
from verdict.backends.torch.trace import UPDATED


class End(NamedTuple):
    """A tensor after the step. kind: loss, gradient, updated (what a parameter holds) or output. name: the program's.

    share: what it is of the single-device one; None where nothing says so.
    """

    kind: str
    name: str
    tensor: Any
    share: Share | None


def named(program: Program) -> dict[str, Any]:
    """The parameters by name."""
    if not isinstance(program.params, torch.nn.Module):
        return dict(program.params)
    return dict([*program.params.named_parameters(), *program.params.named_buffers()])


def ends_of(program: Program, params: Mapping[str, Any], shapes: Mapping[str, Any], loss: Any) -> Iterator[End]:
    """All that may be declared of a program whose step returned `loss`. shapes: of the local parameters before it.

    A plain tensor that belongs to a parameter and has its shape is the same share of it, where nothing else is said.
    """

    def same(name: str, tensor: Any) -> Share | None:
        return program.specs.get(name) if shapes.get(name) == tuple(local(tensor).shape) else None

    if isinstance(loss, torch.Tensor):
        yield End("loss", "loss", loss, program.loss)
    for name, tensor in params.items():
        if tensor.grad is not None:
            grad = as_placed(tensor.grad, tensor)
            yield End("gradient", name, grad, program.specs.get(f"{name}.grad", same(name, grad)))
        yield End(UPDATED, name, tensor, program.specs.get(name))
    for name, tensor in _further(program, params).items():
        yield End("output", name, tensor, program.specs.get(name, same(name.rpartition(".")[0], tensor)))


def as_placed(grad: Any, param: Any) -> Any:
    """A gradient of which every rank has all, cut as its parameter is: what a rank needs of it. Any other as it is."""
    if not (isinstance(grad, DTensor) and isinstance(param, DTensor)) or grad.placements == param.placements:
        return grad
    if grad.device_mesh != param.device_mesh or not all(place.is_replicate() for place in grad.placements):
        return grad
    with torch.no_grad():
        return grad.redistribute(param.device_mesh, param.placements)


def called(program: Program, name: str) -> str:
    """The name that a tensor of the program has in the single-device program."""
    names = program.names
    if name in names:
        return names[name]
    owner, dot, rest = name.rpartition(".")
    return f"{names[owner]}{dot}{rest}" if owner in names else name


def _further(program: Program, params: Mapping[str, Any]) -> dict[str, Any]:
    """Further outputs: those that the user names, and the states of the optimizer."""
    found = require_outputs(program.outputs) if program.outputs is not None else {}
    if program.optimizer is not None:
        for name, param in params.items():
            for key, state in program.optimizer.state.get(param, {}).items():
                if isinstance(state, torch.Tensor):
                    found[f"{name}.{key}"] = state
    return found
