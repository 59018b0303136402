"""Communication that has begun and was not waited for: what must not be read or written yet.

A receive is recorded where it is waited for, after all earlier ones from the same peer: a program that begins a
receive and a send before it waits for either must not look like one that waits for the receive first.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch.distributed as dist

_PYTHON_WORK = dist.Work


@dataclass
class _Receive:
    tensor: Any
    peer: int
    work: int


def _key(tensor: Any) -> int:
    return int(tensor.untyped_storage()._cdata)


class _Begun(NamedTuple):
    """Communication that writes `tensor`: the work, 0 for a functional one, and the numbers of its steps."""

    tensor: Any
    work: int
    steps: tuple[int, ...]


class Pending:
    """receive: called with a tensor and a peer where a receive is recorded; the number of its step.

    race: called with the numbers of communication steps of which something is read before they were waited for.
    arrived: called with a tensor and those steps where they are waited for after that.
    """

    def __init__(
        self,
        receive: Callable[[Any, int], int],
        race: Callable[[Sequence[int]], None],
        arrived: Callable[[Any, Sequence[int]], None],
    ) -> None:
        self._receive, self._race, self._arrived = receive, race, arrived
        self._receives: list[_Receive] = []
        self._unread: dict[int, _Begun] = {}
        self._raced: list[_Begun] = []
        self._otherwise: set[int] = set()
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

    def begun(self, tensors: Iterable[Any], work: Any, steps: Iterable[int] = ()) -> None:
        """A collective has begun that writes `tensors`, recorded as these steps."""
        number, steps = self._number(work), tuple(steps)
        for tensor in tensors:
            self._unread[_key(tensor)] = _Begun(tensor, number, steps)

    def waited(self, work: Any) -> None:
        """`work`, a Python object, was waited for."""
        self._record([item for item in self._receives if item.work == id(work)])
        self._unread = {key: item for key, item in self._unread.items() if item.work != id(work)}
        self._unwritten = {key: number for key, number in self._unwritten.items() if number != id(work)}
        for item in [item for item in self._raced if item.work == id(work)]:
            self._raced.remove(item)
            self._arrived(item.tensor, item.steps)

    def asked(self, work: Any) -> None:
        """The program looks after `work` in another way than by waiting for it, which is not followed."""
        self._otherwise.add(id(work))

    def waited_for(self, tensor: Any) -> None:
        """What a functional collective has written was waited for."""
        self._unread.pop(_key(tensor), None)

    def finish(self) -> None:
        """Record what was never waited for."""
        self._record(list(self._receives))

    def about_to_read(self, tensor: Any, complain: Callable[[str], None]) -> None:
        """Tell of a race, or complain, if what `tensor` holds has perhaps not arrived."""
        key = _key(tensor)
        early = [item for item in self._receives if _key(item.tensor) == key]
        for item in early:
            if any(item is other for other in self._receives):
                steps = self._record([item])
                self._early(_Begun(tensor, item.work, steps), "receive", complain)
        begun = self._unread.pop(key, None)
        if begun is not None:
            self._early(begun, "collective", complain)

    def _early(self, begun: _Begun, what: str, complain: Callable[[str], None]) -> None:
        if not begun.steps or not begun.work or begun.work in self._otherwise:
            complain(f"a tensor is read before its {what} was waited for")
            return
        self._race(begun.steps)
        self._raced.append(begun)

    def about_to_write(self, tensor: Any, complain: Callable[[str], None]) -> None:
        """Complain if `tensor` is perhaps still being sent or received."""
        key = _key(tensor)
        early = [item for item in self._receives if _key(item.tensor) == key]
        if early:
            self._record(early)
        if early or self._unwritten.pop(key, None) is not None:
            complain("a tensor is written to before its send or receive was waited for")

    def _record(self, wanted: list[_Receive]) -> tuple[int, ...]:
        """Record these receives, and before each of them the earlier ones from its peer; the steps of the former."""
        steps = []
        for item in list(self._receives):
            if any(item.peer == other.peer for other in wanted):
                asked = any(item is other for other in wanted)
                wanted = [other for other in wanted if other is not item]
                self._receives = [other for other in self._receives if other is not item]
                step = self._receive(item.tensor, item.peer)
                steps += [step] if asked else []
        return tuple(steps)
