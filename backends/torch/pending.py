"""Communication that has begun and was not waited for: what must not be read or written yet.

A receive is recorded where it is waited for, after all earlier ones from the same peer: a program that begins a
receive and a send before it waits for either must not look like one that waits for the receive first.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch.distributed as dist

_PYTHON_WORK = dist.Work


@dataclass
class _Receive:
    tensor: Any
    peer: int
    work: int


def _key(tensor: Any) -> int:
    return int(tensor.untyped_storage()._cdata)


class Pending:
    """receive: called with a tensor and a peer where a receive is recorded."""

    def __init__(self, receive: Callable[[Any, int], None]) -> None:
        self._receive = receive
        self._receives: list[_Receive] = []
        self._unread: dict[int, int] = {}
        self._unwritten: dict[int, int] = {}
        self._works: list[Any] = []

    def _number(self, work: Any) -> int:
        """A work by the address of its Python object, which is kept alive."""
        if work is None:
            return 0
        python = _PYTHON_WORK.unbox(work)
        self._works.append(python)
        return id(python)

    def receive(self, tensors: Iterable[Any], peer: int, work: Any) -> None:
        """A receive has begun."""
        number = self._number(work)
        self._receives += [_Receive(tensor, peer, number) for tensor in tensors]

    def sent(self, tensors: Iterable[Any], work: Any) -> None:
        """A send has begun."""
        number = self._number(work)
        for tensor in tensors:
            self._unwritten[_key(tensor)] = number

    def begun(self, tensors: Iterable[Any], work: Any) -> None:
        """A collective has begun that writes `tensors`."""
        number = self._number(work)
        for tensor in tensors:
            self._unread[_key(tensor)] = number

    def waited(self, work: Any) -> None:
        """`work`, a Python object, was waited for."""
        self._record([item for item in self._receives if item.work == id(work)])
        for table in (self._unread, self._unwritten):
            for key in [key for key, number in table.items() if number == id(work)]:
                del table[key]

    def waited_for(self, tensor: Any) -> None:
        """What a functional collective has written was waited for."""
        self._unread.pop(_key(tensor), None)

    def finish(self) -> None:
        """Record what was never waited for."""
        self._record(list(self._receives))

    def about_to_read(self, tensor: Any, complain: Callable[[str], None]) -> None:
        """Complain if what `tensor` holds has perhaps not arrived."""
        key = _key(tensor)
        early = [item for item in self._receives if _key(item.tensor) == key]
        if early:
            self._record(early)
            complain("a tensor is read before its receive was waited for")
        if self._unread.pop(key, None) is not None:
            complain("a tensor is read before its collective was waited for")

    def about_to_write(self, tensor: Any, complain: Callable[[str], None]) -> None:
        """Complain if `tensor` is perhaps still being sent or received."""
        key = _key(tensor)
        early = [item for item in self._receives if _key(item.tensor) == key]
        if early:
            self._record(early)
        if early or self._unwritten.pop(key, None) is not None:
            complain("a tensor is written to before its send or receive was waited for")

    def _record(self, wanted: list[_Receive]) -> None:
        """Record these receives, and before each of them the earlier ones from its peer."""
        for item in list(self._receives):
            if any(item.peer == other.peer for other in wanted):
                wanted = [other for other in wanted if other is not item]
                self._receives = [other for other in self._receives if other is not item]
                self._receive(item.tensor, item.peer)
