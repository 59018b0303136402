"""CPU tensors behind the word "cuda", for libraries that have it written in."""

from contextlib import ExitStack, nullcontext
from typing import Any

import torch
from torch.autograd.graph import _engine_run_backward
from torch.overrides import TorchFunctionMode

from verdict.backends.torch.host import replaced

FIRST = 0
"""The number that the one device has."""


class OneEvent:
    """Something on the one stream, which has happened."""

    def __init__(self, *args: Any, **given: Any) -> None:
        """One of any kind."""

    def record(self, stream: "OneStream | None" = None) -> None:
        """What runs there has ended."""

    def wait(self, stream: "OneStream | None" = None) -> None:
        """It has happened."""

    def synchronize(self) -> None:
        """It has happened."""

    def query(self) -> bool:
        """Whether it has happened."""
        return True


class OneStream:
    """The one stream that a CPU has: what is begun on it has ended when the next line runs, so nobody need wait."""

    def __init__(self, *args: Any, **given: Any) -> None:
        """One with any device and any priority."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OneStream)

    __hash__ = object.__hash__

    def wait_stream(self, other: "OneStream") -> None:
        """What runs there has ended."""

    def wait_event(self, event: "OneEvent") -> None:
        """What was recorded has ended."""

    def record_event(self, event: "OneEvent | None" = None) -> "OneEvent":
        """An event behind what runs here."""
        return event or OneEvent()

    def synchronize(self) -> None:
        """What runs here has ended."""


class CudaAsCpu(TorchFunctionMode):  # type: ignore[misc]
    """While it is entered, what asks for a GPU gets the CPU, and torch.cuda says that device 0 is the present one.

    A tensor that is there says that it is on the CPU, but for the name of its type, which optimizers of libraries ask
    for; and `torch.cuda.is_available()` says what is true.
    """

    def __init__(self) -> None:
        super().__init__()
        self._stack = ExitStack()

    def __enter__(self) -> "CudaAsCpu":
        """Enter it."""
        self._stack.enter_context(replaced(torch.cuda, "current_device", lambda: FIRST))
        for name in ("synchronize", "set_device", "empty_cache"):
            self._stack.enter_context(replaced(torch.cuda, name, lambda *args, **given: None))
        self._stack.enter_context(replaced(torch.cuda, "Stream", OneStream))
        self._stack.enter_context(replaced(torch.cuda, "Event", OneEvent))
        for name in ("current_stream", "default_stream"):
            self._stack.enter_context(replaced(torch.cuda, name, OneStream))
        self._stack.enter_context(replaced(torch.cuda, "stream", nullcontext))
        self._stack.enter_context(replaced(torch.autograd, "_engine_run_backward", self._passed_back))
        super().__enter__()
        return self

    def __exit__(self, *why: Any) -> None:
        """Leave it."""
        super().__exit__(*why)
        self._stack.close()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run `func` with the CPU for every GPU among its arguments."""
        kwargs = kwargs or {}
        if func is torch.Tensor.cuda:
            return args[0]
        if func is torch.Tensor.type and len(args) == 1 and not kwargs:
            return func(*args).replace("torch.", "torch.cuda.")
        moved = func is torch.Tensor.to
        args = tuple(_on_cpu(arg, moved and place == 1) for place, arg in enumerate(args))
        return func(*args, **{name: _on_cpu(value, name == "device") for name, value in kwargs.items()})

    def _passed_back(self, *args: Any, **given: Any) -> Any:
        """Take gradients. torch leaves the modes of the call for that, but functions ask for GPUs on the way, too."""
        super().__enter__()
        try:
            return _engine_run_backward(*args, **given)
        finally:
            super().__exit__(None, None, None)


def _on_cpu(value: Any, is_device: bool) -> Any:
    """An argument, or the CPU in place of a GPU. is_device: whether a number or a text is one."""
    if isinstance(value, torch.device):
        return torch.device("cpu") if value.type == "cuda" else value
    if is_device and (isinstance(value, int) and not isinstance(value, bool)):
        return torch.device("cpu")
    if is_device and isinstance(value, str) and value.split(":")[0] == "cuda":
        return torch.device("cpu")
    return value
