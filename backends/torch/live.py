"""One rank of a program that is recorded together with all others: gloo, and the single-device program's numbers.

The numbers that the single-device program was built on are those of the parallel one, each rank its share of them. So
both choose by the same numbers.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d
from torch.utils._python_dispatch import _disable_current_modes

from verdict.backends.torch.ends import called, named
from verdict.backends.torch.host import replaced
from verdict.backends.torch.importers import importers
from verdict.backends.torch.meeting_place import store_of
from verdict.backends.torch.numbers import Given, taken
from verdict.backends.torch.program import Program
from verdict.backends.torch.recorder import Recorder
from verdict.backends.torch.shares import local, share_of

_OBJECTS = (
    "all_gather_object", "broadcast_object_list", "gather_object", "recv_object_list", "scatter_object_list",
    "send_object_list",
)  # fmt: skip
"""What communicates objects of Python's. What they hold was read from tensors before, or is no number of the data."""
BY_NAME = tuple((distributed_c10d, name) for name in _OBJECTS)
"""What is replaced in all modules that have it."""


class Live(NamedTuple):
    """store: a file by which the ranks find each other. seconds: after which a rank no longer waits for another.

    given: a file with the numbers of the single-device program; None for that program. numbers: the file to which
    rank 0 writes those that the step began with.
    """

    store: Path
    seconds: float
    given: Path | None
    numbers: Path


def join(live: Live, rank: int, ranks: int) -> None:
    """Make the process group."""
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    store, wait = store_of(live.store, ranks, live.seconds), timedelta(seconds=live.seconds)
    dist.init_process_group("gloo", rank=rank, world_size=ranks, store=store, timeout=wait)


def take(program: Program, live: Live, recorder: Recorder) -> None:
    """Put the numbers into the inputs and parameters that the step begins with."""
    with _disable_current_modes(), torch.no_grad():
        given = Given(torch.load(live.given) if live.given else {})
        found = dict(_taken(program, name, tensor, given) for name, tensor in _listed(program).items())
        for tensor in _listed(program).values():
            recorder.watch.changed(local(tensor))
        if live.given is None:
            torch.save(found, live.numbers)


def _listed(program: Program) -> dict[str, Any]:
    return {**program.inputs, **named(program)}


def _taken(program: Program, name: str, tensor: Any, given: Given) -> tuple[str, Any]:
    """The name that a tensor has in the single-device program, and what it holds from now on: its share of what is
    given, or what it holds where nothing is.
    """
    shape, region, part, _ = share_of(name, tensor, program.specs.get(name))
    held, title = local(tensor), called(program, name)
    numbers = taken(title, held, region, shape, part, given)
    if not torch.equal(numbers, held.detach()):
        held.copy_(numbers)
    return title, numbers.clone()


@contextmanager
def objects(recorder: Recorder) -> Iterator[None]:
    """Objects of Python's are communicated outside of the recording; a tensor among them leaves a doubt."""
    with ExitStack() as stack:
        for owner, name in BY_NAME:
            function = getattr(owner, name)
            for module in importers(owner, name):
                stack.enter_context(replaced(module, name, partial(_apart, recorder, function)))
        yield


def _apart(recorder: Recorder, function: Callable[..., Any], *args: Any, **given: Any) -> Any:
    pickled = torch.Tensor.__reduce_ex__

    def told(self: Any, protocol: Any) -> Any:
        recorder.doubt("a tensor is sent as an object of Python's")
        return pickled(self, protocol)

    with replaced(torch.Tensor, "__reduce_ex__", told), _disable_current_modes():
        return function(*args, **given)
