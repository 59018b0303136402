"""A plan some of whose weights are zero, read step by step: what is known of each tensor, and which hold the same."""

from collections.abc import Iterator, Sequence, Set
from dataclasses import replace

from verdict.graph import ABSENT, ACCUMULATOR, COPY, GIVEN, PER_STEP, WEIGHT, Node, Plan, extent
from verdict.graph.events import Event, events_of
from verdict.graph.lockstep import CHUNK, COMMUNICATION, LOADER
from verdict.ops.known import UNKNOWN, ZERO, Call, Known, handed_on, made
from verdict.ops.signs import NOT_NEGATIVE
from verdict.ops.types import FLOAT, kind

Point = tuple[int, int]
"""A device, and one of its tensors."""


def rewritten(plan: Plan, weights: Set[int]) -> Plan:
    """The plan, some of whose weights are zero, in which what holds the same as another tensor of its device is a copy,
    and is read as that one. weights: as logical tensors.
    """
    return _Reading(plan, weights).rewritten()


class _Reading:
    """A plan whose weights are zero in part, read step by step: what is known of each tensor, and which tensors hold
    what another one does.
    """

    def __init__(self, plan: Plan, weights: Set[int]) -> None:
        self.plan, self.weights = plan, weights
        self.known: dict[Point, Known] = {}
        self.same: dict[Point, int] = {}
        self.memory: dict[tuple[object, ...], tuple[tuple[Known, ...], dict[int, int]]] = {}
        self.stated = {name for name, low, _ in plan.ranges if low >= 0}
        nodes = [(segment.device, node) for segment in plan.segments for node in segment.nodes]
        self.written = {(device, tensor) for device, node in nodes for tensor in node.outputs}

    def rewritten(self) -> Plan:
        """The plan in which what holds the same as another tensor of its device is a copy, and is read as that one."""
        for event in events_of(self.plan, 0):
            self._step(event)
        segments = tuple(
            segment._replace(nodes=tuple(each for node in segment.nodes for each in self._nodes(segment.device, node)))
            for segment in self.plan.segments
        )
        return replace(self.plan, segments=segments)

    def _nodes(self, device: int, node: Node) -> Iterator[Node]:
        same = {tensor: self.same[device, tensor] for tensor in node.outputs if (device, tensor) in self.same}
        for tensor, source in same.items():
            yield Node(COPY, (source,), (tensor,), (), node.name)
        outputs = tuple(ABSENT if tensor in same else tensor for tensor in node.outputs)
        if any(tensor != ABSENT for tensor in outputs) or not same:
            inputs = tuple(self.same.get((device, tensor), tensor) for tensor in node.inputs)
            yield node._replace(inputs=inputs, outputs=outputs)

    def _step(self, event: Event) -> None:
        (device, node), *others = event.nodes
        if others or node.op in COMMUNICATION or node.op in (CHUNK, LOADER):
            read = [self._of(place, tensor) for place, each in event.nodes for tensor in each.inputs]
            for place, each in event.nodes:
                self._write(place, each.outputs, [_together(read)] * len(each.outputs))
            return
        call = self._call(device, node)
        key = (*call[:1], node.attrs, *call[2:4], tuple(map(call.values.index, call.values)), call.outputs)
        if key not in self.memory:
            self.memory[key] = made(call), handed_on(call)
        found, handed = self.memory[key]
        self._write(device, node.outputs, found)
        for output, place in handed.items():
            tensor, source = node.outputs[output], node.inputs[place]
            if ABSENT not in (tensor, source) and self._is_like(tensor, source):
                self.same[device, tensor] = self.same.get((device, source), source)

    def _call(self, device: int, node: Node) -> Call:
        inputs = tuple(None if tensor == ABSENT else self._of(device, tensor) for tensor in node.inputs)
        floats = tuple(tensor == ABSENT or kind(self._dtype(tensor)) == FLOAT for tensor in node.inputs)
        return Call(node.op, dict(node.attrs), inputs, floats, node.inputs, len(node.outputs))

    def _write(self, device: int, outputs: Sequence[int], found: Sequence[Known]) -> None:
        for tensor, one in zip(outputs, found, strict=False):
            self.known[device, tensor] = UNKNOWN if self.plan.kind(tensor) == ACCUMULATOR else one

    def _of(self, device: int, tensor: int) -> Known:
        """What is known of a tensor; of one that is written later, nothing."""
        point = (device, tensor)
        if point in self.known:
            return self.known[point]
        logical = self.plan.logicals[self.plan.tensors[tensor].logical]
        if point in self.written or (logical.kind not in GIVEN and tensor not in self.plan.seeds):
            return UNKNOWN
        if logical.kind == WEIGHT and self.plan.tensors[tensor].logical in self.weights:
            return ZERO
        return Known(sign=NOT_NEGATIVE if logical.name in self.stated or tensor in self.plan.seeds else 0)

    def _is_like(self, tensor: int, source: int) -> bool:
        """Whether a tensor may be read in the place of another one: each belongs to one microbatch, or is given to it,
        and both have one shape and type.
        """
        kinds = {self.plan.kind(tensor), self.plan.kind(source)}
        regions = (self.plan.tensors[t].region for t in (tensor, source))
        shapes = {extent(region) for region in regions}
        return kinds.isdisjoint(PER_STEP) and len(shapes) == 1 and self._dtype(tensor) == self._dtype(source)

    def _dtype(self, tensor: int) -> str:
        return self.plan.logicals[self.plan.tensors[tensor].logical].dtype


def _together(read: Sequence[Known]) -> Known:
    """What is known of each value that some exchange, piece or sum of values is: the least of what is known of all."""
    if not read:
        return Known()
    return Known(
        zero=all(one.zero for one in read),
        sign=min(one.sign for one in read),
        fixed=all(one.fixed for one in read),
        infinite=any(one.infinite for one in read),
        rises=any(one.rises for one in read),
        chosen=any(one.chosen for one in read),
        doubtful=any(one.doubtful for one in read),
    )
