"""The plan's communication nodes, made of what torch.distributed's operators mean."""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import torch
import torch.distributed as dist

from verdict.backends.torch.memory import value_of
from verdict.backends.torch.trace import UNMODELLED, Shape, Value
from verdict.graph.draws import FLOATS
from verdict.graph.unsaid import UNSAID

PRODUCT = "product"
REDUCTIONS = {0: "sum", 1: "avg", 2: PRODUCT, 3: "min", 4: "max"}
"""c10d's ReduceOp by number."""

Emit = Callable[..., tuple[int, ...]]


class Unknown(Exception):
    """Communication that the plan has no node for; the message says what."""


def ranks_of(group: Any) -> tuple[int, ...]:
    """The ranks of a group in its order: of a process group, its script object, or its name."""
    if isinstance(group, str):
        group = torch._C._distributed_c10d._resolve_process_group(group)
    elif not isinstance(group, dist.ProcessGroup):
        group = dist.ProcessGroup.unbox(group)
    return tuple(dist.get_process_group_ranks(group))


def member(ranks: tuple[int, ...], place: int) -> int:
    """The rank at a place of a group. Raises Unknown where the group has no such place."""
    if not 0 <= place < len(ranks):
        raise Unknown(f"a message to or from rank {place} of a group of {len(ranks)}")
    return ranks[place]


def name_of(group: Any) -> str:
    """The name of a process group, of its script object, or of what is its name."""
    if isinstance(group, str):
        return group
    return str((group if isinstance(group, dist.ProcessGroup) else dist.ProcessGroup.unbox(group)).group_name)


def reduction_of(how: Any) -> str:
    """The plan's word for a reduction: c10d's ReduceOp, or the word of a functional collective."""
    if isinstance(how, str):
        if how.lower() not in REDUCTIONS.values():
            raise Unknown(f"the reduction {how}")
        return how.lower()
    number = int(how.op())
    if number not in REDUCTIONS:
        raise Unknown(f"the reduction {dist.ReduceOp.RedOpType(number).name}")
    return REDUCTIONS[number]


def reduction_for(how: str, dtype: str) -> str:
    """What back ends make of a reduction of a type: their sum of truth values is true where one of them is. A mean of
    whole numbers is cut by one, and refused by another. Raises Unknown.
    """
    if how == "sum" and dtype == "bool":
        return "max"
    if how == PRODUCT and dtype == "bool":
        raise Unknown("a product of truth values")
    if how == "avg" and (dtype == "bool" or dtype.startswith(("int", "uint"))):
        raise Unknown(f"a mean of {dtype}, which backends cut or refuse")
    return how


class Communication:
    """Makes nodes of calls. read, write: a tensor's value. emit: records a node."""

    def __init__(self, rank: int, emit: Emit, read: Callable[[Any], int], write: Callable[[Any, int], None]) -> None:
        self.rank = rank
        self._emit = emit
        self._read = read
        self.write = write

    def one(self, op: str, inputs: Sequence[int], made: Value, **attrs: Any) -> int:
        """One communication node that everybody gets something from."""
        return self._emit(op, tuple(inputs), (made,), attrs)[0]

    def view(self, value: int, found: Shape, wanted: Shape, dtype: str) -> int:
        """The same elements in another shape."""
        if found == wanted:
            return value
        return self._emit("aten.view", (value,), (Value(wanted, dtype),), {"size": wanted})[0]

    def reduced(self, tensor: Any, how: str, ranks: tuple[int, ...]) -> int:
        """all_reduce of a tensor."""
        made = value_of(tensor)
        how = reduction_for(how, made.dtype)
        if how == PRODUCT:
            return self._multiplied(tensor, ranks)
        return self.one("all_reduce", (self._read(tensor),), made, ranks=ranks, reduce=how)

    def gathered(self, tensor: Any, ranks: tuple[int, ...]) -> tuple[int, Value]:
        """all_gather along the first dimension; a number counts as a vector of one."""
        shape, dtype = value_of(tensor)
        base = shape or (1,)
        value = self.view(self._read(tensor), shape, base, dtype)
        made = Value((base[0] * len(ranks), *base[1:]), dtype)
        return self.one("all_gather", (value,), made, ranks=ranks, dim=0), made

    def gather_into(self, output: Any, source: Any, ranks: tuple[int, ...]) -> None:
        """all_gather_into_tensor: `output` is the concatenation, or the stack."""
        value, made = self.gathered(source, ranks)
        self.write(output, self.view(value, made.shape, value_of(output).shape, made.dtype))

    def gather_list(self, outputs: Sequence[Any], source: Any, ranks: tuple[int, ...]) -> None:
        """all_gather: one tensor for each member."""
        value, made = self.gathered(source, ranks)
        self.spread(value, made, outputs)

    def spread(self, value: int, made: Value, outputs: Sequence[Any]) -> None:
        """Consecutive pieces of `value` along its first dimension go to `outputs`."""
        start = 0
        for output in outputs:
            shape = value_of(output).shape
            count = (shape or (1,))[0]
            part = (count, *made.shape[1:])
            attrs = {"start": start, "end": start + count}
            cut = self._emit("aten.slice.Tensor", (value,), (Value(part, made.dtype),), attrs)[0]
            self.write(output, self.view(cut, part, shape, made.dtype))
            start += count

    def joined(self, tensors: Sequence[Any]) -> tuple[int, Value]:
        """Tensors one after the other along the first dimension."""
        shapes = [value_of(tensor).shape or (1,) for tensor in tensors]
        dtype = value_of(tensors[0]).dtype
        values = [
            self.view(self._read(tensor), value_of(tensor).shape, shape, dtype)
            for tensor, shape in zip(tensors, shapes, strict=True)
        ]
        made = Value((sum(shape[0] for shape in shapes), *shapes[0][1:]), dtype)
        return self._emit("aten.cat", tuple(values), (made,), {"tensors_count": len(values)})[0], made

    def scattered(self, value: int, made: Value, how: str, ranks: tuple[int, ...]) -> tuple[int, Value]:
        """reduce_scatter along the first dimension."""
        if made.shape[0] % len(ranks):
            raise Unknown(f"reduce_scatter of {made.shape[0]} rows over {len(ranks)} ranks")
        out = Value((made.shape[0] // len(ranks), *made.shape[1:]), made.dtype)
        how = reduction_for(how, made.dtype)
        if how == PRODUCT:
            return self._product(self.exchange(value, made, (), (), ranks), out, len(ranks)), out
        return self.one("reduce_scatter", (value,), out, ranks=ranks, dim=0, reduce=how), out

    def _multiplied(self, tensor: Any, ranks: tuple[int, ...]) -> int:
        """The product of all members' values: these have no node of their own, and are gathered."""
        value, _ = self.gathered(tensor, ranks)
        return self._product(value, value_of(tensor), len(ranks))

    def _product(self, value: int, made: Value, count: int) -> int:
        """Of so many values one after the other along the first dimension."""
        stacked = self.view(value, (), (count, *made.shape), made.dtype)
        return self._emit("aten.prod.dim_int", (stacked,), (made,), {"dim": 0, "dtype": made.dtype})[0]

    def scatter_from(self, output: Any, source: Any, how: str, ranks: tuple[int, ...]) -> None:
        """reduce_scatter_tensor: `source` is the concatenation, or the stack."""
        shape = value_of(output).shape
        base = shape or (1,)
        found = value_of(source)
        whole = Value((base[0] * len(ranks), *base[1:]), found.dtype)
        value = self.view(self._read(source), found.shape, whole.shape, found.dtype)
        out, made = self.scattered(value, whole, how, ranks)
        self.write(output, self.view(out, made.shape, shape, made.dtype))

    def exchanged(
        self, source: Any, into: Sequence[int], out_of: Sequence[int], ranks: tuple[int, ...]
    ) -> tuple[int, Value]:
        """all_to_all_single with the rows that go to each member (`out_of`) and come from each (`into`)."""
        whole = value_of(source)
        made = Value((sum(into) if into else whole.shape[0], *whole.shape[1:]), whole.dtype)
        return self.exchange(self._read(source), whole, into, out_of, ranks), made

    def exchange(
        self, value: int, whole: Value, into: Sequence[int], out_of: Sequence[int], ranks: tuple[int, ...]
    ) -> int:
        """all_to_all along the first dimension; without sizes the pieces are even."""
        if len(set(into)) <= 1 and len(set(out_of)) <= 1 and whole.shape[0] % len(ranks) == 0:
            made = Value((sum(into) if into else whole.shape[0], *whole.shape[1:]), whole.dtype)
            return self.one("all_to_all", (value,), made, ranks=ranks, split_dim=0, concat_dim=0)
        return self._uneven(value, whole, into, out_of, ranks)

    def exchange_flat(self, output: Any, source: Any, ranks: tuple[int, ...]) -> None:
        """all_to_all_single into memory of another shape: of both, each member's piece is what lies there."""
        found, wanted = value_of(source), value_of(output)
        if prod(found.shape) != prod(wanted.shape) or any(value.shape[0] % len(ranks) for value in (found, wanted)):
            raise Unknown(f"an all_to_all_single of {found.shape} into {wanted.shape} over {len(ranks)} ranks")
        lies = Value((prod(found.shape),), found.dtype)
        value = self.exchange(self.view(self._read(source), found.shape, lies.shape, found.dtype), lies, (), (), ranks)
        self.write(output, self.view(value, lies.shape, wanted.shape, found.dtype))

    def _uneven(
        self, value: int, whole: Value, into: Sequence[int], out_of: Sequence[int], ranks: tuple[int, ...]
    ) -> int:
        """An all_to_all of uneven pieces, as sends and receives."""
        own, start = -1, 0
        for peer, rows in zip(ranks, out_of, strict=True):
            part = Value((rows, *whole.shape[1:]), whole.dtype)
            if rows:
                attrs = {"start": start, "end": start + rows}
                cut = self._emit("aten.slice.Tensor", (value,), (part,), attrs)[0]
                if peer == self.rank:
                    own = cut
                else:
                    self._emit("send", (cut,), (), {"peer": peer})
            start += rows
        parts = []
        for peer, rows in zip(ranks, into, strict=True):
            if rows:
                part = Value((rows, *whole.shape[1:]), whole.dtype)
                parts.append(own if peer == self.rank else self._emit("recv", (), (part,), {"peer": peer})[0])
        made = Value((sum(into), *whole.shape[1:]), whole.dtype)
        if not parts:
            none: dict[str, Any] = {"dtype": made.dtype, "fill_value": 0, "size": made.shape}
            return self._emit("aten.full", (), (made,), none)[0]
        return self._emit("aten.cat", tuple(parts), (made,), {"tensors_count": len(parts)})[0]

    def broadcast(self, tensor: Any, root: int, ranks: tuple[int, ...]) -> int:
        """Everybody gets the root's."""
        inputs = (self._read(tensor),) if self.rank == root else ()
        return self.one("broadcast", inputs, value_of(tensor), ranks=ranks, root=root)

    def deal(self, output: Any, sources: Sequence[Any], root: int, ranks: tuple[int, ...]) -> None:
        """scatter: each member gets its piece of what the root has. sources: the pieces, at the root."""
        shape, dtype = value_of(output)
        base = shape or (1,)
        made = Value((base[0] * len(ranks), *base[1:]), dtype)
        inputs = (self.joined(sources)[0],) if self.rank == root else ()
        value = self.one("broadcast", inputs, made, ranks=ranks, root=root)
        start = ranks.index(self.rank) * base[0]
        attrs = {"start": start, "end": start + base[0]}
        piece = self._emit("aten.slice.Tensor", (value,), (Value(base, dtype),), attrs)[0]
        self.write(output, self.view(piece, base, shape, dtype))

    def send(self, tensor: Any, peer: int) -> None:
        """The tensor's value goes to `peer`."""
        self._emit("send", (self._read(tensor),), (), {"peer": peer})

    def to_root(self, tensor: Any, root: int, how: str, ranks: tuple[int, ...]) -> int:
        """reduce: the root's result. What it leaves on the others is not said, and differs from backend to backend."""
        made = value_of(tensor)
        how = reduction_for(how, made.dtype)
        if how == PRODUCT:
            found: tuple[int, ...] = (self._multiplied(tensor, ranks),)
        else:
            attrs = {"ranks": ranks, "root": root, "reduce": how}
            found = self._emit("reduce", (self._read(tensor),), (made,) if self.rank == root else (), attrs)
        if self.rank == root:
            return found[0]
        op = UNSAID if made.dtype in FLOATS else UNMODELLED
        left = {"reason": "what reduce leaves beside its root", "ranks": ranks, "root": root, "reduce": how}
        return self._emit(op, (), (made,), left)[0]
