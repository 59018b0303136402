"""Where storages lie in the memory of this machine: two that overlap are one piece of memory under two names.

torch makes no such storages. What gives memory to other libraries and takes it back does (DLPack, a storage that is
constructed of an address), and a recording that knows memory by its storage does not see one written through the other.
"""

from bisect import bisect_right, insort
from collections.abc import Iterator
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor


class Addresses:
    """Storages that were seen. They are kept, so that their memory is given to no other while it is theirs."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._at: dict[int, list[Any]] = {}
        self._seen: set[int] = set()
        self._longest = 0

    def meeting(self, tensor: Any) -> list[Any]:
        """Storages seen before that overlap that of a tensor, which is seen now; none where it is no new one.

        One that has no memory is itself returned: what a tensor without data gave away.
        """
        if isinstance(tensor, FakeTensor) or tensor.device.type != "cpu" or tensor.layout != torch.strided:
            return []
        storage = tensor.untyped_storage()
        if storage._cdata in self._seen:
            return []
        self._seen.add(storage._cdata)
        try:
            start, stop = _reach(storage)
        except RuntimeError:
            return [storage]
        if start == stop:
            return []
        found = [other for other in self._near(start, stop) if _overlap(_reach(other), (start, stop))]
        if start not in self._at:
            insort(self._starts, start)
        self._at.setdefault(start, []).append(storage)
        self._longest = max(self._longest, stop - start)
        return found

    def _near(self, start: int, stop: int) -> Iterator[Any]:
        """Those that began where they may overlap; one that was resized since may lie elsewhere."""
        place = bisect_right(self._starts, start - self._longest)
        while place < len(self._starts) and self._starts[place] < stop:
            yield from self._at[self._starts[place]]
            place += 1


def _reach(storage: Any) -> tuple[int, int]:
    """The addresses of a storage: the first one, and the one behind it."""
    start = int(storage.data_ptr()) if storage.nbytes() else 0
    return (start, start + int(storage.nbytes())) if start else (0, 0)


def _overlap(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return max(one[0], other[0]) < min(one[1], other[1])
