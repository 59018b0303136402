"""The program of one device: which line each cell runs, on which tensors of which microbatch.

Between cells, values are handed on by name, as in the code that nnScaler generates: writing a name again
overwrites it. Every microbatch has names of its own, so a name tells which microbatch it is of. A template is
written as nodes once for each way its inputs are bound; in a regular plan that is once.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from verdict.backends.nnscaler.lines import Device, Forward, Line
from verdict.backends.nnscaler.microbatches import Numbering, template
from verdict.backends.nnscaler.nodes import Writer
from verdict.backends.nnscaler.records import (
    IRAdapter,
    IRSegment,
    IRSubTensor,
    IRWeightReducer,
    MalformedError,
    Record,
    integer,
)
from verdict.backends.nnscaler.tensors import Share, Tensors
from verdict.graph import Call, Segment


class _Instance(NamedTuple):
    """A template written as nodes: the segment's index, what its outputs are, what its nodes make (other outputs are
    inputs that it hands on), what its forward operators read.
    """

    segment: int
    outputs: tuple[int | None, ...]
    made: frozenset[int]
    done: dict[int, Forward]


class _Ends(NamedTuple):
    """The shares that a template takes and gives, by position; None for what is no tensor."""

    inputs: tuple[Share | None, ...]
    outputs: tuple[Share | None, ...]


class Program:
    """The program of one device, cell by cell. New segments are appended to the plan's `segments`."""

    def __init__(
        self,
        number: int,
        sequence: Sequence[Record],
        numbering: Numbering,
        tensors: Tensors,
        writer: Writer,
        segments: list[Segment],
    ) -> None:
        self.device = Device(number, tensors, lambda: _written(sequence))
        self.calls: list[Call] = []
        self.seeds: set[int] = set()
        self._numbering = numbering
        self._tensors = tensors
        self._writer = writer
        self._segments = segments
        self._values: dict[int, tuple[int, int]] = {}
        self._known_ends: dict[int, _Ends] = {}
        self._instances: dict[tuple[int, tuple[int | None, ...], int], _Instance] = {}
        self._ran: dict[tuple[int, int], _Instance] = {}

    def run(self, cell: Record) -> None:
        """Append the call of one cell."""
        inner, microbatch = template(cell), self._numbering.of(cell)
        ends = self._ends(inner)
        bound: list[int | None] = []
        given: dict[int, int] = {}
        for record, share in zip(_outer(cell, inner, "_inputs"), ends.inputs, strict=True):
            value = None if share is None else self._value(record, share)
            bound.append(None if value is None else value[1])
            if value is not None and given.setdefault(value[1], value[0]) != value[0]:
                raise MalformedError(f"{inner[0]['name']} {inner[0]['_id']} takes one tensor from two microbatches")
        instance = self._instance(inner, microbatch, tuple(bound))
        self._ran[id(inner), microbatch] = instance
        for record, output in zip(_outer(cell, inner, "_outputs"), instance.outputs, strict=True):
            if output is not None:
                of = microbatch if output in instance.made else given.get(output, microbatch)
                self._values[_tid(record)] = (of, output)
        crossed = tuple((tensor, other) for tensor, other in given.items() if other != microbatch)
        self.calls.append(Call(instance.segment, microbatch, crossed))

    def value_of(self, record: Record) -> tuple[int, int] | None:
        """The (microbatch, tensor) that a name stands for at the end of the step; None where nothing has written it."""
        return self._values.get(_tid(record))

    def _ends(self, inner: Record) -> _Ends:
        """What goes into and comes out of a template. Reducers work in place and have no ends."""
        known = self._known_ends.get(id(inner))
        if known is None:
            known = self._known_ends[id(inner)] = _Ends(
                *(
                    tuple(
                        self._tensors.share(record) if type(record) is IRSubTensor else None
                        for record in _outer(inner, inner, side)
                    )
                    for side in ("_inputs", "_outputs")
                )
            )
        return known

    def _value(self, record: Record, share: Share) -> tuple[int, int] | None:
        """The (microbatch, tensor) that a cell gets for `share`, None where nobody has written it."""
        self._tensors.check_same(record, share)
        if not share.weight:
            return self._values.get(_tid(record))
        if _tid(record) != share.tid:
            raise MalformedError(f"a microbatch with weights of its own: {share.parent.name}")
        return None

    def _instance(self, inner: Record, microbatch: int, bound: tuple[int | None, ...]) -> _Instance:
        forward = self._forward(inner, microbatch)
        key = (id(inner), bound, -1 if forward is None else forward.segment)
        known = self._instances.get(key)
        if known is not None:
            return known
        ends = self._ends(inner)
        start = {
            share.tid: value
            for share, value in zip(ends.inputs, bound, strict=True)
            if share is not None and value is not None
        }
        line = Line(self.device, start, {} if forward is None else forward.done)
        self._writer.write(line, inner)
        self.seeds |= line.seeds
        outputs = tuple(None if share is None else line.bound.get(share.tid) for share in ends.outputs)
        if not self._numbering.is_backward(inner):
            _require_made(inner, ends.outputs, outputs)
        nodes_make = frozenset(tensor for node in line.nodes for tensor in node.outputs)
        made = self._instances[key] = _Instance(len(self._segments), outputs, nodes_make, line.done)
        self._segments.append(Segment(self._title(inner), self.device.number, tuple(line.nodes)))
        return made

    def _title(self, inner: Record) -> str:
        fields = inner[0]
        if type(inner) not in {IRSegment, IRAdapter}:
            return f"{fields['name']} {fields['_id']}"
        direction = "backward" if self._numbering.is_backward(inner) else "forward"
        return f"{fields['name']} {fields['_id']} {direction}"

    def _forward(self, inner: Record, microbatch: int) -> _Instance | None:
        """The run whose gradient `inner` computes: that of its microbatch, or any one where that is missing."""
        mirror = inner[0]["_mirror"] if self._numbering.is_backward(inner) else None
        if mirror is None:
            return None
        own = self._ran.get((id(mirror), microbatch))
        return own or next((run for (cell, _), run in self._ran.items() if cell == id(mirror)), None)


def programs(
    sequences: dict[int, Sequence[Record]], numbering: Numbering, tensors: Tensors, writer: Writer
) -> tuple[list[Program], list[Segment]]:
    """The programs of all devices, in their order, and all segments."""
    segments: list[Segment] = []
    made = []
    for number, sequence in sequences.items():
        program = Program(number, sequence, numbering, tensors, writer, segments)
        for cell in sequence:
            program.run(cell)
        made.append(program)
    return made, segments


def _outer(cell: Record, inner: Record, side: str) -> list[Record]:
    return [] if type(inner) is IRWeightReducer else cell[0][side]


def _require_made(inner: Record, due: Iterable[Share | None], made: Iterable[int | None]) -> None:
    """MalformedError where a template gives a tensor that it does not have."""
    for share, tensor in zip(due, made, strict=True):
        if share is not None and tensor is None and not share.weight:
            raise MalformedError(f"{inner[0]['name']} {inner[0]['_id']} gives {share.parent.name}, which it never has")


def _tid(record: Record) -> int:
    return integer(record[0]["_id"], "a tensor id")


def _written(sequence: Sequence[Record]) -> frozenset[int]:
    """The ids of all tensors that any cell of a device writes."""
    cells = [template(cell) for cell in sequence]
    return frozenset(
        _tid(record) for cell in _all(cells) for record in cell[0]["_outputs"] if type(record) is IRSubTensor
    )


def _all(cells: Iterable[Record]) -> Iterable[Record]:
    """`cells` and what they consist of, but segments themselves, whose outputs are those of their nodes."""
    for cell in cells:
        if type(cell) is IRSegment:
            yield from _all(cell[0]["_nodes"])
            continue
        yield cell
        if type(cell) is IRAdapter:
            yield from cell[0]["_prims"]
