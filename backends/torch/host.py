"""A process that records: a process group that moves no data, and what of torch must run outside of the recording."""

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils._python_dispatch import _disable_current_modes

_FAKE_WORK = torch._C._distributed_c10d.FakeWork


@contextmanager
def world(rank: int, size: int) -> Iterator[list[DeviceMesh]]:
    """The process group of `size` ranks, seen from `rank`; the device meshes that are made in it."""
    meshes: list[DeviceMesh] = []
    made = DeviceMesh.__init__
    undo = [_outside(DeviceMesh, name) for name in ("_setup_world_group_and_device", "_init_process_groups")]

    @functools.wraps(made)
    def remember(self: DeviceMesh, *args: Any, **kwargs: Any) -> None:
        with _disable_current_modes():
            made(self, *args, **kwargs)
        meshes.append(self)

    DeviceMesh.__init__ = remember
    dist.init_process_group("fake", rank=rank, world_size=size, store=FakeStore())
    try:
        yield meshes
    finally:
        DeviceMesh.__init__ = made
        for back in undo:
            back()
        dist.destroy_process_group()


def _outside(owner: Any, name: str) -> Callable[[], None]:
    """Make a method run outside of all dispatch modes; what undoes that."""
    before = owner.__dict__.get(name)
    if before is None:
        return lambda: None
    static = isinstance(before, staticmethod)
    function = before.__func__ if static else before

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        with _disable_current_modes():
            return function(*args, **kwargs)

    setattr(owner, name, staticmethod(run) if static else run)
    return lambda: setattr(owner, name, before)


@contextmanager
def waits(told: Callable[[Any], None]) -> Iterator[None]:
    """Tell of every wait for communication."""
    before = _FAKE_WORK.wait

    def wait(self: Any, *args: Any) -> Any:
        told(self)
        return before(self, *args)

    _FAKE_WORK.wait = wait
    try:
        yield
    finally:
        _FAKE_WORK.wait = before
