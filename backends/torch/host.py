"""A process that records: a process group that moves no data, and what of torch must run outside of the recording."""

import functools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import device_mesh
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils._python_dispatch import _disable_current_modes

_FAKE_WORK = torch._C._distributed_c10d.FakeWork


@contextmanager
def world(rank: int, size: int) -> Iterator[list[DeviceMesh]]:
    """The process group of `size` ranks, seen from `rank`; the device meshes that are made in it.

    Meshes are real even under fake tensors: they decide which groups there are. The user's file must be imported
    within, as it may import `init_device_mesh` by name.
    """
    meshes: list[DeviceMesh] = []
    made = DeviceMesh.__init__

    def remember(self: DeviceMesh, *args: Any, **kwargs: Any) -> None:
        made(self, *args, **kwargs)
        meshes.append(self)

    patches = [(DeviceMesh, "__init__", remember)]
    patches += [(DeviceMesh, name, getattr(DeviceMesh, name)) for name in ("_flatten", "_unflatten", "__getitem__")]
    patches += [(owner, "init_device_mesh", init_device_mesh) for owner in (device_mesh, dist)]
    with ExitStack() as stack:
        for owner, name, function in patches:
            stack.enter_context(_replaced(owner, name, _outside(function)))
        dist.init_process_group("fake", rank=rank, world_size=size, store=FakeStore())
        stack.callback(dist.destroy_process_group)
        yield meshes


@contextmanager
def _replaced(owner: Any, name: str, function: Callable[..., Any]) -> Iterator[None]:
    before = owner.__dict__[name]
    setattr(owner, name, function)
    try:
        yield
    finally:
        setattr(owner, name, before)


def _outside(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, run outside of all dispatch modes."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        with _disable_current_modes():
            return function(*args, **kwargs)

    return run


@contextmanager
def waits(told: Callable[[Any], None]) -> Iterator[None]:
    """Tell of every wait for communication."""
    before = _FAKE_WORK.wait

    def wait(self: Any, *args: Any) -> Any:
        told(self)
        return before(self, *args)

    with _replaced(_FAKE_WORK, "wait", wait):
        yield
