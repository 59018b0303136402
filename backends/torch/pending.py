"""Communication that has begun and was not waited for: what must not be read or written yet, by places in memory.

A receive is recorded where it is waited for, after all earlier ones from the same peer: a program that begins a
receive and a send before it waits for either must not look like one that waits for the receive first.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch.distributed as dist

from verdict.backends.torch.runs import Runs, meet, runs_of

_PYTHON_WORK = dist.Work


class Span(NamedTuple):
    """Where a tensor lies: its storage, and the bytes of it."""

    storage: int
    runs: Runs

    @staticmethod
    def of(tensor: Any) -> "Span":
        """The bytes of a tensor."""
        item = tensor.element_size()
        runs = runs_of(tensor.size(), tensor.stride(), tensor.storage_offset())
        return Span(int(tensor.untyped_storage()._cdata), tuple((start * item, stop * item) for start, stop in runs))

    def meets(self, other: "Span") -> bool:
        """Whether some byte is in both."""
        return self.storage == other.storage and meet(self.runs, other.runs)


@dataclass(eq=False)
class _Receive:
    tensor: Any
    span: Span
    peer: int
    tag: Any
    work: int


@dataclass(frozen=True, eq=False)
class _Writing:
    """Communication that writes `tensor`: the work, 0 for a functional one, and the numbers of its steps."""

    tensor: Any
    span: Span
    work: int
    steps: tuple[int, ...]


class _Reading(NamedTuple):
    """Communication that reads memory. made: where a functional one writes, which is waited for by its tensor, and what
    else the program is handed for that. kept: the tensor that is read, so that no other one gets its memory.
    """

    span: Span
    work: int
    made: tuple[Span, ...] = ()
    kept: Any = None

    def waits_for(self, span: Span) -> bool:
        """Whether it has ended where what lies there is used."""
        return any(each.meets(span) for each in self.made)


class Pending:
    """receive: called with a tensor, a peer and a tag where a receive is recorded; the number of its step.

    race: called with the numbers of communication steps of which something is read before they were waited for.
    arrived: called with a tensor and those steps where they are waited for after that.
    """

    def __init__(
        self,
        receive: Callable[[Any, int, Any], int],
        race: Callable[[Sequence[int]], None],
        arrived: Callable[[Any, Sequence[int]], None],
    ) -> None:
        self._receive, self._race, self._arrived = receive, race, arrived
        self._receives: list[_Receive] = []
        self._writing: list[_Writing] = []
        self._reading: list[_Reading] = []
        self._raced: list[_Writing] = []
        self._otherwise: set[int] = set()
        self._works: list[Any] = []
        self._alone = self._later = False

    @contextmanager
    def later(self) -> Iterator[None]:
        """Functional collectives that are waited for meanwhile go on until what they make is used: torch hands on a
        tensor that waits then. Under tensors without data it waits at once.
        """
        before, self._later = self._later, True
        try:
            yield
        finally:
            self._later = before

    @contextmanager
    def alone(self) -> Iterator[None]:
        """What is begun meanwhile is waited for by who begins it, before anything of it is read or written."""
        before, self._alone = self._alone, True
        try:
            yield
        finally:
            self._alone = before

    def _number(self, work: Any) -> int:
        """A work by the address of its Python object, which is kept alive."""
        if work is None:
            return 0
        python = _PYTHON_WORK.unbox(work)
        self._works.append(python)
        return id(python)

    def receive(self, tensors: Iterable[Any], peer: int, tag: Any, work: Any) -> None:
        """A receive has begun."""
        number = self._number(work)
        self._receives += [_Receive(tensor, Span.of(tensor), peer, tag, number) for tensor in tensors]

    def begun(self, read: Iterable[Any], written: Iterable[Any], work: Any, steps: Iterable[int] = ()) -> None:
        """Communication has begun that reads and writes these tensors, recorded as these steps. work: None for a
        functional one, which is waited for by each tensor that it writes.
        """
        if self._alone:
            return
        number, steps, spans = self._number(work), tuple(steps), [(Span.of(tensor), tensor) for tensor in read]
        made = [_Writing(tensor, Span.of(tensor), number, steps) for tensor in written]
        self._writing += made
        if number:
            self._reading += [_Reading(span, number) for span, _ in spans]
        else:
            self._reading += [_Reading(span, 0, (each.span,), tensor) for span, tensor in spans for each in made]

    def waited(self, work: Any) -> list[Any]:
        """`work`, a Python object, is waited for; the tensors that it writes."""
        received = [item for item in self._receives if item.work == id(work)]
        tensors = [*(item.tensor for item in received), *self.written(work)]
        self._record(received)
        self._writing = [item for item in self._writing if item.work != id(work)]
        self._reading = [item for item in self._reading if item.work != id(work)]
        for item in [item for item in self._raced if item.work == id(work)]:
            self._raced.remove(item)
            self._arrived(item.tensor, item.steps)
        return tensors

    def written(self, work: Any) -> list[Any]:
        """The tensors that `work`, which is not waited for yet, writes."""
        return [item.tensor for item in self._writing if item.work == id(work)]

    def asked(self, work: Any) -> None:
        """The program looks after `work` in another way than by waiting for it, which is not followed."""
        self._otherwise.add(id(work))

    def waited_for(self, tensor: Any, handed: Any) -> None:
        """What a functional collective has written was waited for; `handed` is what the program gets for it."""
        span = Span.of(tensor)
        self._writing = [item for item in self._writing if item.work or not item.span.meets(span)]
        if self._later:
            told = (Span.of(handed),)
            self._reading = [r._replace(made=(*r.made, *told)) if r.waits_for(span) else r for r in self._reading]
        self._used(span)

    def _used(self, span: Span) -> None:
        """What functional collectives make is used."""
        if not self._later:
            self._reading = [item for item in self._reading if not item.waits_for(span)]

    def finish(self) -> None:
        """Record what was never waited for."""
        self._record(list(self._receives))

    def about_to_read(self, tensor: Any, complain: Callable[[str], None]) -> None:
        """Tell of a race, or complain, if what `tensor` holds has perhaps not arrived."""
        if not (self._receives or self._writing or self._reading):
            return
        span = Span.of(tensor)
        self._used(span)
        for item in [item for item in self._receives if item.span.meets(span)]:
            if item in self._receives:
                steps = self._record([item])
                self._early(_Writing(item.tensor, item.span, item.work, steps), "receive", complain)
        for begun in [item for item in self._writing if item.span.meets(span)]:
            self._writing.remove(begun)
            self._early(begun, "collective", complain)

    def _early(self, begun: _Writing, what: str, complain: Callable[[str], None]) -> None:
        if not begun.steps or not begun.work or begun.work in self._otherwise:
            complain(f"a tensor is read before its {what} was waited for")
            return
        self._race(begun.steps)
        self._raced.append(begun)

    def about_to_write(self, tensor: Any, complain: Callable[[str], None]) -> None:
        """Complain if `tensor` is perhaps still being read or written by communication."""
        if not (self._receives or self._writing or self._reading):
            return
        span = Span.of(tensor)
        early = [item for item in self._receives if item.span.meets(span)]
        self._record(early)
        writing = [item for item in self._writing if item.span.meets(span)]
        reading = [item for item in self._reading if item.span.meets(span)]
        self._writing = [item for item in self._writing if item not in writing]
        self._reading = [item for item in self._reading if item not in reading]
        if early or writing or reading:
            complain("a tensor is written to before communication that reads or writes it was waited for")

    def _record(self, wanted: list[_Receive]) -> tuple[int, ...]:
        """Record these receives, and before each of them the earlier ones from its peer; the steps of the former."""
        steps = []
        for item in list(self._receives):
            if any(item.peer == other.peer for other in wanted):
                asked = item in wanted
                wanted = [other for other in wanted if other is not item]
                self._receives.remove(item)
                step = self._receive(item.tensor, item.peer, item.tag)
                steps += [step] if asked else []
        return tuple(steps)
