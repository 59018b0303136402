"""Large plans on numbers of which only what surrounds a fault is computed: the other layers are silenced.

A residual layer x + f(x) is x where a weight that f is a multiple of is zero. So with such weights of all layers zero
but of those that a finding is about, both plans are much smaller ones, on the very numbers that they would compute: a
sum of x and of what is zero is x, and what is zero is so only where all that it is computed from is a finite number
(verdict/ops/known.py). What is zero and is read all the same is computed as it stands.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from verdict.graph import ABSENT, ACCUMULATOR, COPY, GIVEN, GRAD, PER_STEP, WEIGHT, Node, Plan, extent
from verdict.graph.cone import of_losses
from verdict.graph.events import Event, events_of
from verdict.graph.lockstep import CHUNK, COMMUNICATION, LOADER
from verdict.lineage import Evidence, Lineages
from verdict.ops import FACTS
from verdict.ops.known import UNKNOWN, ZERO, Call, Known, handed_on, made
from verdict.ops.signs import NOT_NEGATIVE
from verdict.ops.types import FLOAT, kind
from verdict.outcome import Finding
from verdict.semantics import bind

Point = tuple[int, int]
"""A device, and one of its tensors."""


class Silenced(NamedTuple):
    """A pair of plans whose losses are those of given ones where some weights are zero. weights: their names."""

    single: Plan
    parallel: Plan
    weights: frozenset[str]


def silenced(
    pair: tuple[Plan, Plan], losses: tuple[Plan, Plan], finding: Finding, walks: Sequence[Lineages]
) -> Silenced | None:
    """The losses of a pair, of which only those layers are left that a finding is about; None where no other one can be
    silenced.

    losses: what the losses of both are computed by. walks: of the same single-device plan. Raises Faulty where the two
    plans do not fit together.
    """
    single, parallel = pair
    about = set(_nodes(finding, walks))
    weights = _weights(single, about) if about else frozenset()
    if not weights or any(call.crossed for program in parallel.programs for call in program):
        return None
    partners = bind(single, parallel).logical
    theirs = frozenset(mine for mine, partner in partners.items() if partner in weights)
    names = frozenset(single.logicals[logical].name for logical in weights)
    return Silenced(_without(losses[0], weights), _without(losses[1], theirs), names)


def _nodes(finding: Finding, walks: Sequence[Lineages]) -> Iterator[Node]:
    """The single-device nodes that a finding is about: that which the place at which it shows should compute, and
    those that make what it holds.
    """
    about = finding.evidence
    if not isinstance(about, Evidence):
        return
    for walk in walks[:1]:
        table = walk.reference
        for number in (about.partner, *(table.bases[share.base].node for share in about.value or ())):
            if number >= 0:
                yield table.partners[number].node


@dataclass(frozen=True)
class _Line:
    """The nodes of a single-device plan that its losses depend on, in their order, and who makes and reads what."""

    plan: Plan
    nodes: tuple[Node, ...]
    makers: Mapping[int, int] = field(default_factory=dict)
    readers: Mapping[int, Set[int]] = field(default_factory=dict)


def _line(plan: Plan) -> _Line:
    nodes = [node for call in plan.programs[0] for node in plan.segments[call.segment].nodes]
    needed, kept = {held.tensor for held in plan.losses}, list[Node]()
    for node in reversed(nodes):
        if not needed.isdisjoint(node.outputs):
            needed.update(node.inputs)
            kept.append(node)
    kept.reverse()
    readers: dict[int, set[int]] = {}
    for number, node in enumerate(kept):
        for tensor in node.inputs:
            if tensor != ABSENT:
                readers.setdefault(plan.tensors[tensor].logical, set()).add(number)
    makers = {tensor: number for number, node in enumerate(kept) for tensor in node.outputs if tensor != ABSENT}
    return _Line(plan, tuple(kept), makers, readers)


def _weights(plan: Plan, about: Set[Node]) -> frozenset[int]:
    """Weights, as logical tensors, of which each makes a layer do nothing where it is zero, but for those layers that
    some nodes are part of.
    """
    line = _line(plan)
    found: set[int] = set()
    for node in line.nodes:
        if FACTS.is_sum(node.op) and len(node.inputs) == 2:
            for kept, added in (node.inputs, node.inputs[::-1]):
                branch = _branch(line, kept, added)
                if branch and about.isdisjoint(line.nodes[number] for number in branch):
                    found.update(_silencing(line, added, branch) or ())
    return frozenset(found)


def _branch(line: _Line, kept: int, added: int) -> Set[int]:
    """The nodes by which one addend is computed from the other one; none where it is not, or the other way round."""
    root = kept
    while (maker := line.makers.get(root)) is not None and FACTS.copies(
        line.nodes[maker].op, len(line.nodes[maker].inputs), len(line.nodes[maker].outputs)
    ):
        root = line.nodes[maker].inputs[0]
    begin = line.makers.get(root, -1)
    branch, border, stack = set[int](), set[int](), [added]
    while stack:
        tensor = stack.pop()
        number = line.makers.get(tensor, -1)
        if number <= begin:
            border.add(tensor)
        elif number not in branch:
            branch.add(number)
            stack.extend(t for t in line.nodes[number].inputs if t != ABSENT)
    return branch if root in border else set()


def _silencing(line: _Line, tensor: int, branch: Set[int]) -> set[int] | None:
    """Weights that make a tensor zero where they are, that nothing but a branch reads; None where none do."""
    logical, number = line.plan.tensors[tensor].logical, line.makers.get(tensor)
    if number is None:
        is_own = line.plan.logicals[logical].kind == WEIGHT and line.readers[logical] <= branch
        return {logical} if is_own else None
    if number not in branch or line.nodes[number].op.endswith(GRAD):
        return None
    node = line.nodes[number]
    if FACTS.is_sum(node.op):
        each = [_silencing(line, t, branch) for t in node.inputs if t != ABSENT]
        return None if any(one is None for one in each) else set().union(*(one for one in each if one))
    rule = FACTS.of(node.op)
    linear = rule.linear_in(len(node.inputs), dict(node.attrs)) if rule else frozenset[int]()
    inputs = sorted((node.inputs[k] for k in linear if node.inputs[k] != ABSENT), key=lambda t: t in line.makers)
    return next((found for t in inputs if (found := _silencing(line, t, branch))), None)


def _without(plan: Plan, weights: Set[int]) -> Plan:
    """A plan of losses without what is zero where some weights, as logical tensors, are."""
    return _with_few(of_losses(_Reading(plan, weights).rewritten()))


def _with_few(plan: Plan) -> Plan:
    """The plan with those of its logical tensors that are given, or that tensors are shares of."""
    named = {tensor.logical for tensor in plan.tensors}
    kept = [k for k, logical in enumerate(plan.logicals) if logical.kind in GIVEN or k in named]
    numbers = {logical: number for number, logical in enumerate(kept)}
    tensors = tuple(tensor._replace(logical=numbers[tensor.logical]) for tensor in plan.tensors)
    return replace(plan, logicals=tuple(plan.logicals[k] for k in kept), tensors=tensors)


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
