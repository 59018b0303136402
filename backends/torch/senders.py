"""Messages that are received from whoever sends one: of two ranks the other, of more nobody that is known."""

import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import torch.distributed as dist

from verdict.errors import UsageError

_RECEIVES = ("recv", "irecv")
"""Functions of torch.distributed that receive a tensor."""


def patches() -> Iterator[tuple[ModuleType, str, Callable[..., Any]]]:
    """Every module that has one of the functions, its name, and what takes its place."""
    there: dict[str, Callable[..., Any]] = {name: getattr(dist, name) for name in _RECEIVES}
    for module in list(sys.modules.values()):
        for name, function in there.items():
            if getattr(module, "__dict__", {}).get(name) is function:
                yield module, name, _from_a_rank(function)


def _from_a_rank(function: Callable[..., Any]) -> Callable[..., Any]:
    said = inspect.signature(function)

    @functools.wraps(function)
    def receive(*args: Any, **given: Any) -> Any:
        asked = said.bind(*args, **given).arguments
        group = asked.get("group")
        own, size = dist.get_rank(group), dist.get_world_size(group)
        if own < 0 or asked.get("src") is not None or asked.get("group_src") is not None:
            return function(*args, **given)
        if size != 2:
            problem = f"it takes a message from any of {size - 1} ranks, and which one comes first is not known"
            raise UsageError(function.__name__, problem, "name the rank that sends it")
        return function(**{**asked, "group_src": 1 - own})

    return receive
