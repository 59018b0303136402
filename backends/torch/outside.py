"""What a program does outside of what is recorded: threads, processes, and memory that it hands to others.

Each of these leaves a doubt, or, where a value is read that no recording has, a refusal that the program cannot catch.
"""

import _thread
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing.process import BaseProcess
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from verdict.backends.torch.arguments import called
from verdict.backends.torch.choices import decide
from verdict.backends.torch.folded import folded
from verdict.backends.torch.host import replaced
from verdict.backends.torch.recorder import NAME_IT, Recorder
from verdict.backends.torch.trace import BY_PYTHON
from verdict.backends.torch.unordered import is_foreign
from verdict.errors import UsageError

_READERS = ("numpy", "__array__", "tolist", "data_ptr", "storage", "__dlpack__")
"""Methods of a tensor that give its memory, or what stands there, to something that is not torch."""
_STORAGE_READERS = ("data_ptr", "tolist", "__getitem__", "__setitem__")
"""Methods of a storage that do."""
_SHARERS = ("from_numpy", "frombuffer", "from_dlpack", "asarray", "as_tensor")
"""Functions of torch that make a tensor of memory that something else has."""
_STARTERS: tuple[tuple[Any, str], ...] = (
    (_thread, "start_new_thread"),
    (threading, "_start_new_thread"),
    (_thread, "start_joinable_thread"),
    (threading, "_start_joinable_thread"),
)
"""What begins threads: the first two in Python 3.11 and 3.12, the first and the last two in 3.13."""
_AWAY = "memory is given away that the recording does not have ({})"
_SILENT = frozenset({"prim", "profiler"})


@contextmanager
def outside(recorder: Recorder) -> Iterator[None]:
    """Tell `recorder` of what happens outside of it."""
    with ExitStack() as stack:
        for owner, name in _STARTERS:
            if hasattr(owner, name):
                stack.enter_context(replaced(owner, name, _threads(recorder, getattr(owner, name))))
        begins: tuple[tuple[Any, str], ...] = ((os, "fork"), (BaseProcess, "start"))
        for owner, name in begins:
            stack.enter_context(replaced(owner, name, _processes(recorder, getattr(owner, name))))
        for name in _READERS:
            before = getattr(torch.Tensor, name)
            stack.enter_context(given(torch.Tensor, name, _reads(recorder, name, before)))
        for name in _STORAGE_READERS:
            before = getattr(torch.UntypedStorage, name)
            stack.enter_context(given(torch.UntypedStorage, name, _gives(recorder, name, before)))
        for name in _SHARERS:
            stack.enter_context(replaced(torch, name, _shares(recorder, getattr(torch, name))))
        yield


class _Unseen(TorchDispatchMode):  # type: ignore[misc]
    """Tells of every operator that runs under it."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self._recorder = recorder

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.namespace not in _SILENT:
            self._recorder.doubt(f"a thread of the program runs {called(func)}")
        return func(*args, **(kwargs or {}))


def _threads(recorder: Recorder, start: Callable[..., Any]) -> Callable[..., Any]:
    def run(function: Callable[..., Any], *how: Any, **named: Any) -> Any:
        def watched(*args: Any, **kwargs: Any) -> None:
            with _Unseen(recorder):
                function(*args, **kwargs)

        return start(watched, *how, **named)

    return run


def _processes(recorder: Recorder, begin: Callable[..., Any]) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        recorder.doubt("the program begins a process")
        return begin(*args, **kwargs)

    return run


def _reads(recorder: Recorder, name: str, before: Callable[..., Any]) -> Callable[..., Any]:
    """A method that a user's file calls to look at memory."""

    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        if is_foreign(sys._getframe(1).f_code.co_filename):
            return before(self, *args, **kwargs)
        value = recorder.read(self)
        if name == "tolist" and recorder.tape.known([value]):
            return folded(recorder.tape, value).tolist()
        if isinstance(self, FakeTensor) and name != "tolist":
            raise recorder.refuse(UsageError(recorder.origin.name(name), _AWAY.format(name), NAME_IT))
        if name != "tolist":
            if recorder.live:
                recorder.watch.constant(self, self, recorder.origin.name(name))
            recorder.watch.shared(self)
        if isinstance(self, FakeTensor):
            return before(self, *args, **kwargs)
        if not decide(recorder, self, name):
            recorder.doubt(f"{BY_PYTHON}: {name}")
        with _disable_current_modes():
            return before(self, *args, **kwargs)

    return run


def _gives(recorder: Recorder, name: str, before: Callable[..., Any]) -> Callable[..., Any]:
    """A method of a storage that a user's file calls to look at memory, or to change it."""

    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_foreign(sys._getframe(1).f_code.co_filename):
            if self.device.type == "meta":
                raise recorder.refuse(UsageError(recorder.origin.name(name), _AWAY.format(name), NAME_IT))
            recorder.doubt(f"the memory of a storage is given away: {name}")
        return before(self, *args, **kwargs)

    return run


def _shares(recorder: Recorder, before: Callable[..., Any]) -> Callable[..., Any]:
    """A function that makes a tensor, of memory that is not torch's where its first argument is no tensor."""

    def run(*args: Any, **kwargs: Any) -> Any:
        made = before(*args, **kwargs)
        source = args[0] if args else None
        if isinstance(made, torch.Tensor) and not isinstance(source, torch.Tensor | list | tuple | int | float):
            recorder.watch.shared(made)
        return made

    return run


@contextmanager
def given(owner: Any, name: str, function: Callable[..., Any]) -> Iterator[None]:
    """`owner.name` is `function` for a while, also where the owner only inherits it."""
    own = owner.__dict__.get(name)
    setattr(owner, name, function)
    try:
        yield
    finally:
        if own is None:
            delattr(owner, name)
        else:
            setattr(owner, name, own)
