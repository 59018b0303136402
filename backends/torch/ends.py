"""The tensors of a program that have names, before its step and after it: the same for a recording and for a run."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import torch
from torch.distributed.tensor import DTensor

from verdict.backends.torch.door import require_outputs
from verdict.backends.torch.program import Program, Share
from verdict.backends.torch.shares import local
from verdict.backends.torch.trace import UPDATED
from verdict.errors import UsageError


class End(NamedTuple):
    """A tensor after the step. kind: loss, gradient, updated (what a parameter holds) or output. name: the program's.

    share: what it is of the single-device one; None where nothing says so.
    """

    kind: str
    name: str
    tensor: Any
    share: Share | None


def named(program: Program) -> dict[str, Any]:
    """The parameters by name. Raises UsageError where an input has the name of one: specs go by names."""
    params = program.params
    if isinstance(params, torch.nn.Module):
        params = dict([*params.named_parameters(), *params.named_buffers()])
    for name in sorted(program.inputs.keys() & {called(program, name) for name in params}):
        raise UsageError(f"Program.inputs[{name!r}]", "a parameter has this name, too", "give each a name of its own")
    return dict(params)


def ends_of(program: Program, params: Mapping[str, Any], shapes: Mapping[str, Any], loss: Any) -> Iterator[End]:
    """All that may be declared of a program whose step returned `loss`. params: the parameters before it; shapes: of
    their local tensors. Where the step put another tensor in a parameter's place, the parameter is that one.

    A plain tensor that belongs to a parameter and has its shape is the same share of it, where nothing else is said.
    Raises UsageError where a parameter is gone.
    """

    def same(name: str, tensor: Any) -> Share | None:
        return program.specs.get(name) if shapes.get(name) == tuple(local(tensor).shape) else None

    if isinstance(loss, torch.Tensor):
        yield End("loss", "loss", loss, program.loss)
    ended = _ended(program, params)
    for name, tensor in ended.items():
        if (tensor.is_leaf or tensor.retains_grad) and tensor.grad is not None:
            grad = as_placed(tensor.grad, tensor)
            yield End("gradient", name, grad, program.specs.get(f"{name}.grad", same(name, grad)))
        yield End(UPDATED, name, tensor, program.specs.get(name))
    for name, tensor in _further(program, params, ended).items():
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


def _ended(program: Program, params: Mapping[str, Any]) -> dict[str, Any]:
    """What the program's names of parameters stand for when its step has ended."""
    now = named(program)
    for name in params:
        if not isinstance(now.get(name), torch.Tensor):
            raise UsageError(name, "the step takes it out of Program.params", "let the name stand for a tensor")
    return {name: now[name] for name in params}


def _further(program: Program, params: Mapping[str, Any], ended: Mapping[str, Any]) -> dict[str, Any]:
    """Further outputs: those that the user names, what the step itself gave a name among the parameters, and the states
    of the optimizer, which may still go by what a parameter was before the step.
    """
    found = {name: tensor for name, tensor in named(program).items() if name not in params}
    found |= require_outputs(program.outputs) if program.outputs is not None else {}
    for states in _states(program.optimizer):
        for name, param in ended.items():
            for key, state in states.get(param, states.get(params[name], {})).items():
                found |= _tensors(f"{name}.{key}", state)
    return found


def _states(optimizer: Any) -> Iterator[Mapping[Any, Any]]:
    """The states of an optimizer, and those of the optimizers that it holds: one that shards them steps another one, in
    which this rank's are.
    """
    if optimizer is None:
        return
    yield optimizer.state
    for held in vars(optimizer).values():
        if isinstance(held, torch.optim.Optimizer):
            yield from _states(held)


def _tensors(name: str, state: Any) -> dict[str, Any]:
    """The tensors of one state of an optimizer by name: itself, or what its lists and dictionaries hold."""
    if isinstance(state, torch.Tensor):
        return {name: state}
    items = state.items() if isinstance(state, Mapping) else enumerate(state) if isinstance(state, list | tuple) else ()
    found: dict[str, Any] = {}
    for key, item in items:
        found |= _tensors(f"{name}[{key}]", item)
    return found
