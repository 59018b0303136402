"""Modules that are converted (`model.to(device)`, `.bfloat16()`, channels last) while their tensors have no data.

torch would exchange such a parameter for another one, and refuses where something else knows of it, as it always does.
With data it is the same parameter that gets the converted data, or a new one where either is on the meta device, and so
it is here.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

from verdict.backends.torch.host import replaced
from verdict.errors import UsageError


@contextmanager
def conversions() -> Iterator[None]:
    """Convert modules as those whose tensors have data."""
    before = torch.nn.Module._apply
    with replaced(torch.nn.Module, "_apply", _converting(before)):
        yield


def _converting(before: Callable[..., Any]) -> Callable[..., Any]:
    def convert(self: torch.nn.Module, fn: Callable[[Any], Any], recurse: bool = True) -> torch.nn.Module:
        own = [param for param in self._parameters.values() if param is not None]
        if not all(isinstance(param, FakeTensor) for param in own):
            return before(self, fn, recurse)
        for child in self.children() if recurse else ():
            child._apply(fn)
        for key, param in self._parameters.items():
            if param is not None:
                self._parameters[key] = _converted(param, fn)
        for key, held in self._buffers.items():
            self._buffers[key] = held if held is None else fn(held)
        return self

    return convert


def _converted(param: Any, fn: Callable[[Any], Any]) -> Any:
    """The parameter that takes the place of one: itself, with other data, where these are of its device."""
    grad = param.grad
    with torch.no_grad():
        made, made_grad = fn(param), None if grad is None else fn(grad)
    devices = {made.device.type, param.device.type}
    if len(devices) > 1 and "meta" not in devices:
        problem = f"a parameter without data is moved from {param.device} to {made.device}"
        raise UsageError("model.to", problem, "leave the model on the CPU, or record with --tensors real")
    if len(devices) > 1:
        found = torch.nn.Parameter(made, param.requires_grad)
        found.grad = made_grad
        return found
    param.data = made
    if grad is not None:
        grad.data = made_grad
        param.grad = grad
    return param
