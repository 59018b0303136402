"""A process that records: a process group that moves no data, and what of torch must run outside of the recording."""

import functools
import itertools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch._subclasses.fake_tensor import FakeTensor
from torch.distributed import _functional_collectives, _meta_registrations, device_mesh
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor._sharding_prop import ShardingPropagator
from torch.nn.parallel import DistributedDataParallel
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils._python_dispatch import _disable_current_modes

from verdict.backends.torch import coalesced, groups, pipelines, premultiplied, senders
from verdict.backends.torch.hooks import Arrived, Hooks
from verdict.backends.torch.importers import importers
from verdict.backends.torch.meetings import MAKING, Meeting
from verdict.errors import UsageError

_FAKE_WORK = torch._C._distributed_c10d.FakeWork
_WAITS = ((_FAKE_WORK, "wait"), (dist.Work, "wait"))
_FUTURES = ((_FAKE_WORK, "getFuture"), (dist.Work, "get_future"))
_OTHERWISE = tuple((dist.Work, name) for name in ("is_completed", "synchronize", "block_current_stream", "result"))

_COALESCED = "_broadcast_coalesced"
"""How DistributedDataParallel broadcasts parameters and buffers: in buckets, each waited for before it is read."""
_SHAPES = "_verify_params_across_processes"
"""How it makes sure that all ranks have the same parameters, when it is made: what it sends is its own."""
_META = "_propagate_tensor_meta_non_cached"
"""How a DTensor learns which shape an operator makes: of tensors without data, which are no part of the program."""
_WRAPPED = "_maybe_wrap_tensor"
"""How functional collectives hand on what they make: under tensors without data torch waits for it at once."""
_OWN = ((device_mesh, "init_device_mesh"), (groups.OWNER, groups.NAME))
BY_NAME = (*_OWN, *premultiplied.BY_NAME, *senders.BY_NAME)
"""What is replaced in all modules that have it."""
_REBUILD = "_rebuild_buckets"
"""What it does once, after the first backward pass: rank 0 tells which gradient goes into which bucket."""


class World(NamedTuple):
    """What a program made in its process group: device meshes, (name, text) of what is assumed, and what its ranks
    did with others, in order. hooks: of communication.
    """

    meshes: list[DeviceMesh]
    notes: list[tuple[str, str]]
    meetings: list[Meeting]
    hooks: Hooks


@contextmanager
def world(rank: int, size: int, join: Callable[[], None] | None = None) -> Iterator[World]:
    """The process group of `size` ranks, seen from `rank`. join: makes it, where it moves data.

    Meshes are real even under fake tensors: they decide which groups there are. The user's file must be imported
    within, as it may import `init_device_mesh` by name.
    """
    notes = list[tuple[str, str]]()
    found = World([], notes, [], Hooks(notes))
    mesh_init, ddp_init = DeviceMesh.__init__, DistributedDataParallel.__init__
    make_group = groups.of_the_default_backend(getattr(groups.OWNER, groups.NAME))

    def told(ranks: Any = None, *args: Any, use_local_synchronization: bool = False, **kwargs: Any) -> Any:
        members = tuple(sorted(range(size) if ranks is None else ranks))
        if rank in members or not use_local_synchronization:
            found.meetings.append(Meeting(MAKING, "", members, "members" if use_local_synchronization else None))
        return make_group(ranks, *args, use_local_synchronization=use_local_synchronization, **kwargs)

    def remember(self: DeviceMesh, *args: Any, **kwargs: Any) -> None:
        mesh_init(self, *args, **kwargs)
        found.meshes.append(self)

    def hooked(self: DistributedDataParallel, module: torch.nn.Module, *args: Any, **kwargs: Any) -> None:
        if any(isinstance(param, FakeTensor) for param in module.parameters()):
            problem = "its reducer works on memory, which tensors without data do not have"
            raise UsageError("DistributedDataParallel", problem, "record with --tensors real")
        ddp_init(self, module, *args, **kwargs)
        found.hooks.stand_in(self)

    patches = [(DistributedDataParallel, "__init__", hooked), (DeviceMesh, "__init__", _outside(remember))]
    patches += [(DeviceMesh, name, _outside(getattr(DeviceMesh, name))) for name in ("_flatten", "_unflatten")]
    patches += [(DeviceMesh, "__getitem__", _outside(DeviceMesh.__getitem__))]
    mesh, group = (importers(*each) for each in _OWN)
    patches += [(owner, "init_device_mesh", _outside(init_device_mesh)) for owner in mesh]
    patches += [(dist, _SHAPES, _outside(getattr(dist, _SHAPES)))]
    patches += [(ShardingPropagator, _META, _outside(getattr(ShardingPropagator, _META)))]
    patches += [*premultiplied.patches(), *senders.patches()]
    patches += [] if join else [(pipelines.OWNER, pipelines.NAME, pipelines.vote)]
    patches += [(owner, groups.NAME, told) for owner in group]
    patches += [(_meta_registrations, "generate_unique_id", itertools.count(1).__next__)]
    coalesced.register()
    with ExitStack() as stack:
        for owner, name, function in patches:
            stack.enter_context(replaced(owner, name, function))
        if join:
            join()
        else:
            dist.init_process_group("fake", rank=rank, world_size=size, store=FakeStore())
        stack.callback(dist.destroy_process_group)
        yield found


@contextmanager
def replaced(owner: Any, name: str, function: Callable[..., Any]) -> Iterator[None]:
    """`owner.name` is `function` for a while."""
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
def waits(
    waited: Callable[[Any], Callable[[], None]],
    asked: Callable[[Any], None],
    within: tuple[Callable[[], AbstractContextManager[None]], ...],
    future: Callable[[Any], Arrived | None],
) -> Iterator[None]:
    """Tell of every wait for communication, and when it has ended, and of works that are looked after in any other way.
    What a back end computes of what arrived while it is waited for is its own.

    within: three contexts. The first is entered where torch's own C++ begins communication, waits for it before reading
    and hands on no work, the second where what it communicates are numbers of its own, of which the program sees
    nothing, the third where a functional collective hands on a tensor that is waited for when it is used.
    future: what stands for the future of a work, where that is followed.
    """
    alone, apart, later = within

    def telling(told: Callable[[Any], Callable[[], None] | None], before: Callable[..., Any]) -> Callable[..., Any]:
        def run(self: Any, *args: Any) -> Any:
            ended = told(self)
            with _disable_current_modes():
                found = before(self, *args)
            if ended:
                ended()
            return found

        return run

    def followed(before: Callable[..., Any]) -> Callable[..., Any]:
        otherwise = telling(asked, before)
        return lambda self: future(self) or otherwise(self)

    with ExitStack() as stack:
        for owner, name in _FUTURES:
            stack.enter_context(replaced(owner, name, followed(getattr(owner, name))))
        for owner, name in _WAITS:
            stack.enter_context(replaced(owner, name, telling(waited, getattr(owner, name))))
        for owner, name in _OTHERWISE:
            stack.enter_context(replaced(owner, name, telling(asked, getattr(owner, name))))
        stack.enter_context(replaced(dist, _COALESCED, _to_others(_within(alone, getattr(dist, _COALESCED)))))
        wrapped = _within(later, getattr(_functional_collectives, _WRAPPED))
        stack.enter_context(replaced(_functional_collectives, _WRAPPED, wrapped))
        stack.enter_context(replaced(dist.Reducer, _REBUILD, _within(apart, getattr(dist.Reducer, _REBUILD))))
        yield


def _within(context: Callable[[], AbstractContextManager[None]], function: Callable[..., Any]) -> Callable[..., Any]:
    def run(*args: Any, **given: Any) -> Any:
        with context():
            return function(*args, **given)

    return run


def _to_others(broadcast: Callable[..., Any]) -> Callable[..., Any]:
    """A broadcast within a group, which one that is alone in it leaves out: torch would join its tensors in a bucket,
    and take them out again.
    """

    def run(group: dist.ProcessGroup, *args: Any, **given: Any) -> Any:
        return broadcast(group, *args, **given) if group.size() > 1 else None

    return run
