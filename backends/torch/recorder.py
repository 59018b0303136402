"""The dispatch mode that records: every operator below autograd, in the order in which it runs, on one rank."""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from verdict.backends.torch.arguments import Call, called, decimal, is_composite, is_plain, kernel_of, plain, tensors_in
from verdict.backends.torch.aten import record_aten
from verdict.backends.torch.calls import functional, in_flight, in_place
from verdict.backends.torch.collectives import Communication, Unknown, member, name_of, ranks_of
from verdict.backends.torch.draws import Draws
from verdict.backends.torch.meetings import BARRIERS, Meeting
from verdict.backends.torch.memory import Memory, Unfollowed, geometry, value_of
from verdict.backends.torch.moved import as_held, as_it_lies
from verdict.backends.torch.origin import Origin
from verdict.backends.torch.pending import Pending
from verdict.backends.torch.special import fsdp
from verdict.backends.torch.trace import COMMUNICATION, TALKS, UNMODELLED, Tape, Value
from verdict.backends.torch.watch import Watch
from verdict.errors import UsageError
from verdict.graph.effects import WAIT
from verdict.ops.domain import BITS

MOST_CONSTANTS = 4096
"""The most elements of a tensor whose values become part of the recording."""
_SILENT = frozenset({"prim", "profiler"})
_FUNCTIONAL = frozenset({"_c10d_functional", "_c10d_functional_autograd", "_dtensor"})
_MACHINE = frozenset({"mkldnn"})
"""Namespaces of operators that, where they take no tensors, tell what the machine can do."""
_SAME = frozenset({"wait_tensor", "_wrap_tensor_autograd"})
NAME_IT = "name it in Program.inputs or Program.params"


class Recorder(TorchDispatchMode):  # type: ignore[misc]
    """Records what runs under it. tape: what was recorded. memory: which value each tensor holds.

    meetings: groups, barriers and communication in their order. doubts: why nothing can be said of the program.
    notes: texts of what is assumed, by name. variances: values that are read as such, none of which is negative.
    heard: where Python read what ranks communicated.
    refused: errors that were raised into the program, which may have gone on. live: whether all ranks run together on
    real numbers, so that choices that data makes can be recorded.
    """

    def __init__(self, rank: int, origin: Origin, meetings: list[Meeting] | None = None, live: bool = False) -> None:
        super().__init__()
        self.live = live
        self.tape = Tape()
        self.origin = origin
        self.memory = Memory(self.tape, origin.name)
        self.pending = Pending(self._receive, self.tape.begin, self._arrived)
        self.watch = Watch(self.doubt, live)
        self.draws = Draws()
        self.meetings = [] if meetings is None else meetings
        self.doubts: dict[str, None] = {}
        self.heard: dict[str, None] = {}
        self.notes: dict[str, str] = {}
        self.variances: set[int] = set()
        self.refused: list[UsageError] = []
        self._sources: list[Any] = []
        self._touched: list[Any] = []
        self._apart = False
        self._communication = Communication(rank, self.emit, self._given, self._communicated)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run `func`, and record it."""
        kwargs = kwargs or {}
        if not all(map(is_plain, types)):
            return NotImplemented
        if func.namespace in _SILENT:
            return func(*args, **kwargs)
        if func.namespace == "aten" and is_composite(func):
            with self:
                return func.decompose(*args, **kwargs)
        call = Call.of(func, args, kwargs)
        if func.namespace in _MACHINE and not call.tensors:
            return call.run()
        return self.watch.unseen.recorded(call, self._followed)

    def doubt(self, why: str) -> None:
        """Nothing can be said of the program, for a reason: a clause, to which the place is added."""
        self.doubts[self.origin.name(why)] = None

    @contextmanager
    def apart(self) -> Iterator[None]:
        """What is communicated meanwhile are torch's own numbers: only that ranks meet is recorded."""
        before, self._apart = self._apart, True
        try:
            with self.watch.unseen.own():
                yield
        finally:
            self._apart = before

    def refuse(self, error: UsageError) -> UsageError:
        """An error to be raised into the program. It ends the recording, also where the program catches it."""
        self.refused.append(error)
        return error

    def emit(
        self,
        op: str,
        inputs: Iterable[int],
        outputs: Iterable[Value | None],
        attrs: Mapping[str, Hashable],
        keep: bool = False,
    ) -> tuple[int, ...]:
        """Record one node here. What is not modelled is called by the reason."""
        name = self.origin.name(str(attrs["reason"]) if op == UNMODELLED else op)
        return self.tape.emit(op, inputs, outputs, attrs, name, keep)

    def read(self, tensor: Any) -> int:
        """The value that a tensor holds; of one that was made outside of the recording, its constants."""
        self.pending.about_to_read(tensor, self._early)
        self.watch.used(tensor, constant=not self.memory.knows(tensor))
        if self.memory.from_before(tensor) and tensor.requires_grad and tensor.is_leaf:
            raise self.refuse(self._unnamed(tensor))
        if not self.memory.knows(tensor):
            self.memory.write(tensor, self.constant(tensor))
        return self.memory.read(tensor)

    def write(self, tensor: Any, value: int) -> None:
        """A tensor holds `value` from now on."""
        self.pending.about_to_write(tensor, self._early)
        self.watch.changed(tensor)
        self.memory.write(tensor, value)

    def constant(self, tensor: Any) -> int:
        """A node that makes the values of `tensor`, which no recorded operator made."""
        known = tensor.constant if isinstance(tensor, FakeTensor) else tensor
        where = self.origin.name("constant")
        if tensor.requires_grad and tensor.is_leaf:
            raise self.refuse(self._unnamed(tensor))
        if known is None or known.is_meta:
            problem = f"a tensor of shape {list(tensor.shape)} is read that is no input, parameter or buffer"
            raise self.refuse(UsageError(where, problem, NAME_IT))
        if known.numel() > MOST_CONSTANTS:
            problem = f"a tensor of {known.numel()} constants is read, which is too large to be part of a plan"
            raise self.refuse(UsageError(where, problem, NAME_IT))
        try:
            with _disable_current_modes():
                listed = known.detach().reshape(-1).tolist()
        except RuntimeError:  # its storage was never allocated: the memory of a tensor without data, given away
            raise self.refuse(UsageError(where, "memory is read that the recording does not have", NAME_IT)) from None
        made = value_of(tensor)
        values = plain(decimal(listed) if made.dtype == "float32" else listed)
        self.watch.constant(tensor, known, where)
        return self.numbers(made, values)

    def numbers(self, made: Value, values: Any) -> int:
        """A node that makes these numbers; integers of few bits are cast to their type."""
        held = made._replace(dtype="int64") if made.dtype in BITS else made
        (value,) = self.emit("constant", (), (held,), {"shape": made.shape, "values": values})
        if held == made:
            return value
        return self.emit("aten._to_copy", (value,), (made,), {"dtype": made.dtype})[0]

    def _unnamed(self, tensor: Any) -> UsageError:
        problem = f"a tensor of shape {list(tensor.shape)} that requires a gradient is read, and nobody names it"
        return UsageError(self.origin.name("read"), problem, NAME_IT)

    def instead(
        self, call: Call, reason: str, keep: bool = True, talks: bool = False, read: Iterable[Any] | None = None
    ) -> Any:
        """Run a call whose meaning is not known, and record that; what it returns. talks: whether it communicates.
        read: the tensors on which its result may depend; None for all that it is given.
        """
        found = list[int]()
        for tensor in call.tensors if read is None else read:  # as they are before the call writes to them
            try:
                found.append(self.read(tensor))
            except Unfollowed:
                keep = True
        output = call.run()
        changed = [*call.written, *(call.tensors if talks else ()), *tensors_in([output])]
        outputs = list({(t.untyped_storage()._cdata, geometry(t)): t for t in changed}.values())
        attrs = {"reason": reason, **({TALKS: True} if talks else {})}
        values = self.emit(UNMODELLED, found, [value_of(out) for out in outputs], attrs, keep)
        for out, value in zip(outputs, values, strict=True):
            try:
                self.memory.write(out, value)
            except Unfollowed:
                self.emit(UNMODELLED, (value,), (), {"reason": f"{reason}; its result cannot be followed"}, True)
        return output

    def _followed(self, call: Call) -> Any:
        try:
            return self._recorded(call)
        except (Unknown, Unfollowed) as problem:
            return self.instead(call, str(problem), talks=call.func.namespace in (*_FUNCTIONAL, "c10d"))

    def _recorded(self, call: Call) -> Any:
        namespace = call.func.namespace
        if namespace == "aten":
            return record_aten(self, call)
        if namespace == "c10d":
            return self._collective(call)
        if namespace in _FUNCTIONAL:
            return self._functional(call)
        if namespace == "fsdp" and fsdp.knows(call):
            output = call.run()
            fsdp.record(call, output, self.memory, self.emit)
            return output
        kernel = kernel_of(call.func)
        if kernel is None:
            return self.instead(call, f"the operator {called(call.func)} is not known")
        with self:
            return self.watch.unseen.kernel(partial(kernel, *call.args, **call.kwargs))

    def _collective(self, call: Call) -> Any:
        """An operator of c10d. What it reads and writes is in flight until its work is waited for."""
        group = call.given["process_group"]
        ranks = ranks_of(group)
        given, moved = as_held(call.name, as_it_lies(call), self.memory)
        if call.name == "recv_":
            output = call.run()
            tag = (name_of(group), given["tag"], moved)
            self.pending.receive(given["tensors"], member(ranks, given["src"]), tag, output)
            return output
        if self._apart:
            self._meet(call.name, group, ranks)
            return call.run()
        engine = self.origin.by_engine()
        if engine and not self.live and self.tape.constant.issuperset(map(self.read, call.tensors)):
            self.tape.communicated.update(map(self.read, call.tensors))
            self._meet(call.name, group, ranks)
            return call.run()
        self._sources.clear()
        self._touched.clear()
        first = len(self.tape.steps)
        if call.name == "send":
            to = (member(ranks, given["dst"]),)
            self.meetings.append(Meeting("send", name_of(group), to, given["tag"], moved))
        else:
            self._meet(call.name, group, ranks, moved)
        in_place(call.name, given, self._communication)
        output = call.run()
        work = output[-1] if isinstance(output, tuple) else output
        if call.name not in BARRIERS and not engine:
            made = range(first, len(self.tape.steps))
            steps = [number for number in made if self.tape.steps[number].op in COMMUNICATION]
            self.pending.begun(self._sources, self._touched, work, steps)
        return output

    def _meet(self, what: str, group: Any, ranks: tuple[int, ...], moved: str = "") -> None:
        self.meetings.append(Meeting(what, name_of(group), ranks, moved=moved))

    def _given(self, tensor: Any) -> int:
        self._sources.append(tensor)
        return self.read(tensor)

    def _communicated(self, tensor: Any, value: int) -> None:
        self.write(tensor, value)
        self.watch.arrives(tensor)
        self._touched.append(tensor)

    def _receive(self, tensor: Any, peer: int, tag: Any) -> int:
        self.meetings.append(Meeting("recv", tag[0], (peer,), tag[1], tag[2]))
        value = self.emit("recv", (), (value_of(tensor),), {"peer": peer})[0]
        number = len(self.tape.steps) - 1
        self.memory.write(tensor, value)
        self.watch.arrives(tensor)
        return number

    def _arrived(self, tensor: Any, steps: Sequence[int]) -> None:
        """What was read too early is there now."""
        value = self.memory.read(tensor)
        if any(value in self.tape.steps[number].outputs for number in steps):
            self.memory.write(tensor, self.emit(WAIT, (value,), (value_of(tensor),), {})[0])

    def _early(self, what: str) -> None:
        self.emit(UNMODELLED, (), (), {"reason": what}, keep=True)

    def _functional(self, call: Call) -> Any:
        if call.name in _SAME:
            output, source = call.run(), call.tensors[0]
            self.pending.waited_for(source, output)
            if not self.memory.knows(output):
                self.memory.write(output, self.read(source))
            return output
        group = call.given["group_name"]
        self._meet(call.name, group, ranks_of(group))
        values = functional(call.name, call.given, self._communication, self.read)
        output = call.run()
        made = list(tensors_in([output]))
        for tensor, value in zip(made, values, strict=True):
            self._communicated(tensor, value)
        self.pending.begun(in_flight(call.name, call.tensors), made, None)
        return output
