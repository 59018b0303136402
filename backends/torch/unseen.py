"""Writes to memory where nothing is recorded: dispatch that is switched off reaches neither the recorder nor anything
else that a program could be asked by.

Of real tensors a copy is kept of what each storage held when it was last written to by what is recorded. Whatever reads
it finds the same numbers there, at the end of the step too; a version counter may be set back, memory may not. Tensors
without data have none: the mode that computes their shapes runs within a call that is recorded, or is asked by nobody
that is seen.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._python_dispatch import _disable_current_modes

from verdict.backends.torch.arguments import Call, kernel_of, tensors_in

_BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
"""By the bytes of an element, a type whose numbers are equal where all bits are."""
_TALKS = frozenset({"c10d", "_c10d_functional", "_c10d_functional_autograd", "_dtensor"})
_UNSAID = _TALKS | {"fsdp"}
"""Namespaces of operators whose schemas do not say what they write."""
_WAITS = "wait_tensor"


class _Held(NamedTuple):
    """A storage, and a copy of it."""

    storage: Any
    copy: Any


class Unseen:
    """doubt: called with what is wrong, as a clause. live: whether what is communicated arrives, at some time."""

    def __init__(self, doubt: Callable[[str], None], live: bool) -> None:
        self._doubt, self._live = doubt, live
        self._held: dict[int, _Held] = {}
        self._own: dict[int, Any] = {}
        self._names: dict[int, str] = {}
        self._runs = self._apart = False

    def begin(self, named: Mapping[str, Any]) -> None:
        """The step begins; these tensors have names."""
        for name, tensor in named.items():
            self._names[_key(tensor)] = name
            self.hold([tensor])

    def recorded(self, call: Call, run: Callable[[Call], Any]) -> Any:
        """What `run` returns, which runs a call and records it."""
        with self._running(True):
            made = run(call)
        if kernel_of(call.func) is not None:  # what it runs is recorded by itself, and nothing besides
            return made
        if call.func.namespace not in _UNSAID:
            self.hold(call.written, tensors_in([made]))
        elif self._live and call.func.namespace in _TALKS and call.name != _WAITS:
            self._forget([*call.tensors, *tensors_in([made])])
        else:
            self.hold([*call.tensors, *tensors_in([made])])
        return made

    def kernel(self, run: Callable[[], Any]) -> Any:
        """What a function of the program's own returns, of which each call is recorded by itself."""
        with self._running(False):
            return run()

    def asked(self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Tensors without data are computed with."""
        if not self._runs and func._schema.is_mutable:
            for tensor in Call.of(func, args, kwargs).written:
                self._tell(tensor)

    def hold(self, written: Sequence[Any], made: Iterable[Any] = ()) -> None:
        """What is recorded wrote to `written`, and made other tensors, some of them in memory that is held already."""
        with _disable_current_modes(), torch.no_grad():
            for tensor in written:
                if _is_real(tensor):
                    self._copy(tensor)
            for tensor in made:
                if _is_real(tensor) and _key(tensor) not in self._held:
                    self._copy(tensor)

    def arrive(self, tensors: Sequence[Any]) -> None:
        """What others sent is in these tensors, where it arrives at all."""
        if self._live:
            self.hold(tensors)

    @contextmanager
    def own(self) -> Iterator[None]:
        """Whole numbers in memory that is made meanwhile are torch's own, which it writes to without an operator."""
        before, self._apart = self._apart, True
        try:
            yield
        finally:
            self._apart = before

    def used(self, tensor: Any) -> None:
        """What is recorded reads `tensor`."""
        held = self._held.get(_key(tensor)) if self._held and _is_real(tensor) else None
        if held is None or held.storage.nbytes() != held.copy.nbytes():
            return
        with _disable_current_modes(), torch.no_grad():
            same = torch.equal(_part(held.storage, tensor), _part(held.copy, tensor))
        if not same:
            self._tell(tensor)
            self.hold([tensor])

    def _copy(self, tensor: Any) -> None:
        storage = tensor.untyped_storage()
        held = self._held.get(storage._cdata)
        if storage._cdata in self._own:
            return
        if held is None and self._apart and not tensor.is_floating_point():
            self._own[storage._cdata] = storage
        elif held is None or held.copy.nbytes() != storage.nbytes() or not _is_apart(tensor):
            try:
                self._held[storage._cdata] = _Held(storage, storage.clone())
            except RuntimeError:  # it was never allocated: the memory of a tensor without data, given away
                self._forget([tensor])
        else:
            _part(held.copy, tensor).copy_(_part(storage, tensor))

    def _forget(self, tensors: Sequence[Any]) -> None:
        for tensor in tensors:
            self._held.pop(_key(tensor), None)

    def _tell(self, tensor: Any) -> None:
        self._doubt(f"{self._names.get(_key(tensor), 'memory')} is written to where nothing is recorded")

    @contextmanager
    def _running(self, runs: bool) -> Iterator[None]:
        before, self._runs = self._runs, runs
        try:
            yield
        finally:
            self._runs = before


class Shapes(FakeTensorMode):  # type: ignore[misc]
    """Tensors without data. unseen: told of every call that is computed with them, once there is something to tell."""

    unseen: Unseen | None = None

    def __deepcopy__(self, memo: Any) -> "Shapes":
        """A copy of a tensor is computed with by the same mode."""
        return self

    def dispatch(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """What a call makes."""
        if self.unseen is not None:
            self.unseen.asked(func, args, kwargs or {})
        return super().dispatch(func, types, args, kwargs)


def _is_real(tensor: Any) -> bool:
    """Whether a tensor has memory that can be looked at."""
    real = tensor.device.type == "cpu" and tensor.layout is torch.strided
    return real and type(tensor) is not FakeTensor and tensor.untyped_storage().device.type == "cpu"


def _is_apart(tensor: Any) -> bool:
    """Whether its elements lie apart, and are of a type that is compared by its bits."""
    strides = [stride for size, stride in zip(tensor.size(), tensor.stride(), strict=True) if size > 1]
    return tensor.element_size() in _BITS and 0 not in strides


def _part(storage: Any, tensor: Any) -> Any:
    """The place of a tensor in a storage, as bits; all of the storage where its type has none."""
    kind = _BITS.get(tensor.element_size())
    if kind is None:
        return torch.empty(0, dtype=torch.uint8).set_(storage, 0, (storage.nbytes(),), (1,))
    return torch.empty(0, dtype=kind).set_(storage, tensor.storage_offset(), tensor.size(), tensor.stride())


def _key(tensor: Any) -> int:
    return int(tensor.untyped_storage()._cdata)
