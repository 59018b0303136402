"""Memory that changes without a recorded operator: constants that numpy shares, storages that lie in one place, and
writes where nothing is recorded.

What the recording calls a constant was read from real memory. It is read again whenever it is used, and at the end.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import _disable_current_modes

from verdict.backends.torch.addresses import Addresses
from verdict.backends.torch.unseen import Unseen


@dataclass
class _Constant:
    """Real memory, what it held when it was read, and where that was. foreign: whether others may write there."""

    memory: Any
    held: Any
    where: str
    foreign: bool = False


class Watch:
    """doubt: called with what is wrong, as a clause. live: whether what is communicated arrives, at some time."""

    def __init__(self, doubt: Callable[[str], None], live: bool) -> None:
        self._doubt = doubt
        self.unseen = Unseen(doubt, live)
        self._constants: dict[int, _Constant] = {}
        self._foreign: set[int] = set()
        self._kept: list[Any] = []
        self._addresses = Addresses()

    def constant(self, tensor: Any, memory: Any, where: str) -> None:
        """The values of `tensor` were read from `memory`."""
        key = _key(tensor)
        self._constants[key] = _Constant(memory, _copy(memory), where, key in self._foreign)

    def same(self, tensor: Any, source: Any) -> None:
        """`tensor` stands for `source` from now on."""
        if _key(source) in self._constants:
            self._constants[_key(tensor)] = self._constants[_key(source)]
            self._kept += [tensor, source]

    def shared(self, tensor: Any) -> None:
        """Something that is not torch may read and write the memory of `tensor`."""
        key = _key(tensor)
        self._foreign.add(key)
        self._kept.append(tensor)
        if key in self._constants:
            self._constants[key].foreign = True

    def _met(self, tensor: Any, constant: bool = False) -> None:
        """`tensor` is read or written: what else lies in its memory is that of something that is not torch, too.
        constant: whether its numbers are taken as they are, which those of recorded operators are not.
        """
        for storage in self._addresses.meeting(tensor):
            if storage._cdata == _key(tensor) or (constant and storage._cdata not in self._constants):
                self._doubt("a tensor lies in the memory of another")
            self._foreign.add(storage._cdata)
            self.shared(tensor)

    def used(self, tensor: Any, constant: bool = False) -> None:
        """`tensor` is read: if it is a constant, it must be what it was. constant: whether it becomes one."""
        self._met(tensor, constant)
        known = self._constants.get(_key(tensor)) if self._constants else None
        if known is not None:
            self._compare(known)
        self.unseen.used(tensor)

    def changed(self, tensor: Any) -> None:
        """A recorded operator wrote to `tensor`."""
        self._met(tensor)
        key = _key(tensor)
        known = self._constants.pop(key, None)
        if (known is not None and known.foreign) or key in self._foreign:
            self._doubt("torch writes to memory that something else reads, too")
        elif known is not None and not isinstance(tensor, FakeTensor):
            self._constants[key] = _Constant(known.memory, _copy(known.memory), known.where)

    def arrives(self, tensor: Any) -> None:
        """What others send is in `tensor` from some time on, and what it held is no constant any more."""
        self._constants.pop(_key(tensor), None)

    def begin(self, named: Mapping[str, Any]) -> None:
        """The step begins; these tensors have names."""
        for tensor in named.values():
            self._met(tensor)
        self.unseen.begin(named)

    def finish(self) -> None:
        """The step has ended."""
        for known in list(self._constants.values()):
            self._compare(known)

    def _compare(self, known: _Constant) -> None:
        now = _copy(known.memory)
        with _disable_current_modes():
            same = now.shape == known.held.shape and torch.allclose(now, known.held, 0.0, 0.0, equal_nan=True)
        if not same:
            self._doubt(f"memory is changed behind torch's back that was read by {known.where}")
            known.held = now


def _key(tensor: Any) -> int:
    return int(tensor.untyped_storage()._cdata)


def _copy(memory: Any) -> Any:
    with _disable_current_modes(), torch.no_grad():
        return memory.detach().clone()
