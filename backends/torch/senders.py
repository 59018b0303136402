"""Messages that are received from whoever sends one: of two ranks the other, of more nobody that is known."""

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import torch.distributed as dist

from verdict.backends.torch.importers import importers
from verdict.errors import UsageError

_ANYBODY = "recv_anysource"
"""The method of a process group that `irecv` calls where no rank is named. `irecv` itself stays what it is: a `P2POp`
asks whether it is given this very function.
"""
BY_NAME = ((dist, "recv"),)
"""What is replaced in all modules that have it."""


def patches() -> Iterator[tuple[Any, str, Callable[..., Any]]]:
    """What has a function, its name, and what takes its place."""
    yield dist.ProcessGroup, _ANYBODY, _anybody
    named = _named(dist.recv)
    for module in importers(*BY_NAME[0]):
        yield module, "recv", named


def _anybody(group: Any, tensors: Any, tag: int) -> Any:
    return group.recv(tensors, _other(group, "irecv"), tag)


def _other(group: Any, asked: str) -> int:
    """The rank of a group of two, counted within it, that is not this one."""
    if group.size() != 2:
        problem = f"it takes a message from any of {group.size() - 1} ranks, and which one comes first is not known"
        raise UsageError(asked, problem, "name the rank that sends it")
    return 1 - int(group.rank())


def _named(function: Callable[..., Any]) -> Callable[..., Any]:
    """`recv`, which asks afterwards who it was: that is named before."""
    said = inspect.signature(function)

    @functools.wraps(function)
    def receive(*args: Any, **given: Any) -> Any:
        asked = said.bind(*args, **given).arguments
        group = asked.get("group") or dist.group.WORLD
        if asked.get("src") is None and asked.get("group_src") is None and isinstance(group, dist.ProcessGroup):
            return function(**{**asked, "group_src": _other(group, "recv")})
        return function(*args, **given)

    return receive
