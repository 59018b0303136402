"""Storages, views and versions: which value a tensor holds now, when tensors share memory and are written to.

A tensor is known by its storage and its geometry (dtype, size, stride, offset), never by its Python object: two
tensors of one geometry on one storage are the same elements. Every storage has one current value, that of the
tensor that was seen of it first; views are made of it again after it has been written to, and what is written
through a view is put back into it. So nothing recorded ever changes.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import prod
from typing import Any, NamedTuple

from verdict.backends.torch.runs import Blank, Runs, meet, runs_of, without
from verdict.backends.torch.trace import Shape, Tape, Value
from verdict.backends.torch.views import View, permuted, reshaped, sliced, strided
from verdict.errors import UsageError


class Unfollowed(Exception):
    """Something about memory that cannot be followed; the message says what."""


@contextmanager
def followed(name: str) -> Iterator[None]:
    """What is done with the memory of the tensor `name`. Raises UsageError where it cannot be followed."""
    try:
        yield
    except Unfollowed as problem:
        raise UsageError(name, f"it cannot be followed: {problem}", "name a clone of it") from None


class Geometry(NamedTuple):
    """How a tensor lies in its storage. Strides of dimensions of size one are 0."""

    dtype: str
    size: Shape
    stride: Shape
    offset: int
    flags: int = 0


@dataclass
class _Held:
    """A known view: its base (None for the storage's own tensor), and its value at a version of the storage."""

    base: Geometry | None
    view: View | None
    version: int
    value: int
    name: str = ""


@dataclass
class _Root:
    storage: Any
    own: Geometry
    version: int = 0
    held: dict[Geometry, _Held] = field(default_factory=dict)
    blank: Runs = ()
    """Of memory that began uninitialised: where in the storage it still is."""
    maker: int = -1
    carried: Runs = ()
    """Of memory that was there before the step: where it still holds what it held then."""
    began: int = -1


def geometry(tensor: Any) -> Geometry:
    """How `tensor` lies in its storage."""
    size = tuple(int(n) for n in tensor.size())
    empty = 0 in size
    stride = tuple(0 if n == 1 or empty else int(s) for n, s in zip(size, tensor.stride(), strict=True))
    return Geometry(
        str(tensor.dtype).removeprefix("torch."),
        size,
        stride,
        0 if empty else int(tensor.storage_offset()),
        int(tensor.is_conj()) + 2 * int(tensor.is_neg()),
    )


def value_of(tensor: Any) -> Value:
    """Shape and dtype of a tensor."""
    where = geometry(tensor)
    return Value(where.size, where.dtype)


class Memory:
    """All storages that were seen. name: called for the name of a node that a view needs."""

    def __init__(self, tape: Tape, name: Callable[[str], str]) -> None:
        self._tape = tape
        self._name = name
        self._roots: dict[int, _Root] = {}
        self.unwritten: dict[int, Blank] = {}
        """What is read of memory that is not all written, by the value that is read."""
        self._read_back: dict[int, str] = {}

    def knows(self, tensor: Any) -> bool:
        """Whether the tensor's storage was seen."""
        return tensor.untyped_storage()._cdata in self._roots

    def dtype_in(self, storage: Any) -> str | None:
        """The type of the numbers in a storage; None where it was not seen."""
        root = self._roots.get(storage._cdata)
        return None if root is None else root.own.dtype

    def blank(self, tensor: Any, value: int, maker: int) -> None:
        """A tensor in new, uninitialised memory, allocated by step number `maker`."""
        self.write(tensor, value)
        root = self._root(tensor)
        root.maker, root.blank = maker, _places(root.own)

    def is_blank(self, tensor: Any) -> bool:
        """Whether some of a tensor's memory was never written."""
        root = self._roots.get(tensor.untyped_storage()._cdata)
        return root is not None and bool(root.blank) and meet(root.blank, _places(geometry(tensor)))

    def read(self, tensor: Any) -> int:
        """The value that `tensor` holds now. Raises Unfollowed, or KeyError for memory that was never seen."""
        root, where = self._root(tensor), geometry(tensor)
        if root.carried and meet(root.carried, _places(where)):
            self._read_back.setdefault(root.storage._cdata, self._name("read"))
        value = self._value(root, where)
        if root.blank and meet(root.blank, _places(where)):
            self.unwritten[value] = Blank(root.maker, root.blank, where.size, where.stride, where.offset)
        return value

    def carry(self, listed: Iterable[Any]) -> None:
        """The step begins. What it reads of memory that is there already, and is of none of `listed`, is looked at."""
        known = {tensor.untyped_storage()._cdata for tensor in listed}
        for key, root in self._roots.items():
            if key not in known:
                root.carried, root.began = _places(root.own), self._value(root, root.own)

    def from_before(self, tensor: Any) -> bool:
        """Whether the memory was there before the step, and is none of what is listed."""
        root = self._roots.get(tensor.untyped_storage()._cdata)
        return root is not None and root.began >= 0

    def carried(self, listed: Iterable[Any]) -> Iterator[tuple[str, int, int]]:
        """Memory from before the step, of none of `listed`, of which the step has read what it held then: where it did
        so first, the value that it held, and the one that it holds now.
        """
        known = {tensor.untyped_storage()._cdata for tensor in listed}
        for key, where in self._read_back.items():
            if key not in known:
                root = self._roots[key]
                yield where, root.began, self._value(root, root.own)

    def write(self, tensor: Any, value: int) -> None:
        """`tensor` holds `value` from now on, and so does whatever shares its memory."""
        key, where = tensor.untyped_storage()._cdata, geometry(tensor)
        root = self._roots.get(key)
        if root is None:
            root = self._roots[key] = _Root(tensor.untyped_storage(), where)
            root.held[where] = _Held(None, None, 0, value)
            return
        changed = self._changed(root, where, value)
        for place, held in root.held.items():
            if held.version == root.version and _apart(place, where):
                held.version += 1
        root.version += 1
        for place, now in changed:
            root.held[place].version, root.held[place].value = root.version, now
        if root.blank:
            root.blank = without(root.blank, _places(where))
        if root.carried:
            root.carried = without(root.carried, _places(where))

    def alias(self, tensor: Any, base: Any, view: View | None, name: str) -> None:
        """`tensor` is a view of `base`, made by `view`, or in a way that is not known. name: of the node."""
        root, where, source = self._root(base), geometry(tensor), geometry(base)
        if where in root.held or where == source:
            return
        self._entry(root, where if view is None else source)
        if view is not None:
            root.held[where] = _Held(source, view, -1, -1, name)

    def _root(self, tensor: Any) -> _Root:
        return self._roots[tensor.untyped_storage()._cdata]

    def _entry(self, root: _Root, where: Geometry) -> _Held:
        if where not in root.held:
            self._derive(root, where)
        return root.held[where]

    def _value(self, root: _Root, where: Geometry) -> int:
        held = self._entry(root, where)
        if held.version != root.version:
            assert held.base is not None, "the storage's own tensor is always current"
            assert held.view is not None
            base = self._value(root, held.base)
            view, made = held.view, Value(held.view.shape, where.dtype)
            held.value = self._tape.emit(view.op, (base,), (made,), view.attrs, held.name or self._name(view.op))[0]
            held.version = root.version
        return held.value

    def _changed(self, root: _Root, where: Geometry, value: int) -> list[tuple[Geometry, int]]:
        """The new values along the chain from the view at `where` to its storage's own tensor."""
        held = self._entry(root, where)
        changed = [(where, value)]
        while held.base is not None:
            base, view = held.base, held.view
            if view is None or view.undo is None:
                raise Unfollowed("it writes through a view in which elements repeat")
            value = view.undo(
                lambda op, inputs, shape, attrs: self._emit(op, inputs, shape, attrs, root.own.dtype),
                lambda base=base: self._value(root, base),  # type: ignore[misc]
                value,
            )
            changed.append((base, value))
            held = root.held[base]
        return changed

    def _emit(self, op: str, inputs: tuple[int, ...], shape: Shape, attrs: Any, dtype: str) -> int:
        return self._tape.emit(op, inputs, (Value(shape, dtype),), attrs, self._name(op))[0]

    def _derive(self, root: _Root, where: Geometry) -> None:
        """A view that no known operator made: by its place in the storage."""
        own = root.own
        if where.dtype != own.dtype or where.flags != own.flags:
            raise Unfollowed(f"memory of dtype {own.dtype} is seen as {where.dtype}")
        order = tuple(sorted(range(len(own.size)), key=lambda dim: (-own.stride[dim], dim)))
        dense = 1
        for dim in reversed(order):
            if own.size[dim] != 1 and own.stride[dim] != dense:
                raise Unfollowed("it looks at a part of memory of which the whole was never seen")
            dense *= own.size[dim]
        if 0 not in where.size and not own.offset <= where.offset <= _last(where) < own.offset + dense:
            raise Unfollowed("it looks at memory beside the tensor that was allocated")
        base = own
        if order != tuple(range(len(order))):
            base = self._step(root, base, permuted(order, own.size), _dense(own, tuple(own.size[d] for d in order)))
        self._place(root, base, where, dense)

    def _place(self, root: _Root, base: Geometry, where: Geometry, dense: int) -> None:
        """`where` from `base`, whose elements lie in row-major order without gaps."""
        count = prod(where.size)
        if _dense(where, where.size) != where:
            offset = where.offset - root.own.offset
            self._step(root, base, strided(where.size, where.stride, offset, base.size), where)
            return
        if count == dense:
            self._step(root, base, reshaped(base.size, where.size), where)
            return
        flat = Geometry(where.dtype, (dense,), (0 if dense == 1 else 1,), root.own.offset, where.flags)
        if base != flat:
            base = self._step(root, base, reshaped(base.size, (dense,)), flat)
        start = where.offset - root.own.offset
        part = Geometry(where.dtype, (count,), (0 if count == 1 else 1,), where.offset, where.flags)
        base = self._step(root, base, sliced(0, start, start + count, 1, (dense,)), part)
        if part != where:
            self._step(root, base, reshaped((count,), where.size), where)

    def _step(self, root: _Root, base: Geometry, view: View, where: Geometry) -> Geometry:
        if where not in root.held:
            root.held[where] = _Held(base, view, -1, -1)
        return where


def _dense(where: Geometry, size: Shape) -> Geometry:
    """Row-major, without gaps, from the same offset."""
    stride = tuple(0 if n == 1 else prod(size[dim + 1 :]) for dim, n in enumerate(size))
    return where._replace(size=size, stride=stride)


def _apart(one: Geometry, other: Geometry) -> bool:
    """Whether two tensors of one storage lie one behind the other, so that a write to one leaves the other alone."""
    if one.dtype != other.dtype:
        return False
    ends = [_last(place) for place in (one, other)]
    return ends[0] < other.offset or ends[1] < one.offset


def _last(where: Geometry) -> int:
    """The last place in the storage."""
    return where.offset + sum((n - 1) * s for n, s in zip(where.size, where.stride, strict=True))


def _places(where: Geometry) -> Runs:
    return runs_of(where.size, where.stride, where.offset)
