"""The check of effects at the door: what happens before what on one device, and which accesses conflict.

Every run of a node is an event. Before it happen: what stands before it on its stream; for an await, the record; for a
wait, the communication it waits for. Asynchronous communication is on a track of its own, behind what its stream did
before it and behind earlier asynchronous communication of the same group. (Vector clocks: Lamport 1978, Fidge 1988.)

What a node writes is a *version* of the memory it is written to. A read of a version is right if the version was
written before it, and every other write of that memory happened before the version was written, or happens after the
read. Else there is a finding: read-before-wait, unordered-streams, stale-read or overwritten-early.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Set
from itertools import pairwise
from typing import Protocol

from verdict.errors import PlanFileError
from verdict.graph.conflicts import END, Conflict, Event, Version, before, finding_of
from verdict.graph.effects import ASYNCHRONOUS, AWAIT, EVENT, MAIN, RECORD, STREAM, WAIT, Storages
from verdict.graph.fault import Place
from verdict.graph.lockstep import COMMUNICATION, attribute
from verdict.graph.plan import ABSENT, ACCUMULATOR, ONCE_A_STEP, PER_STEP, Call, Node, Plan
from verdict.outcome import Finding


class ViewRule(Protocol):
    """What this check needs of an operator's rule."""

    @property
    def views(self) -> bool:
        """Whether it makes another view of the memory of its first input, where both tensors are in one storage."""


def check_effects(plan: Plan, rules: Mapping[str, ViewRule]) -> tuple[Finding, ...]:
    """All conflicts that the effects of a plan have, one finding for each pair of nodes.

    Raises PlanFileError where a storage or a wait is not one.
    """
    if not plan.effects:
        return ()
    _require_form(plan)
    views = frozenset(name for name, rule in rules.items() if rule.views)
    found: dict[tuple[str, str, str, int], list[Conflict]] = defaultdict(list)
    for device in range(plan.devices):
        for conflict in _Device(plan, device, views).conflicts():
            logical = plan.tensors[conflict.version.tensor].logical
            found[conflict.code, conflict.reader.place.name, conflict.writer.place.name, logical].append(conflict)
    return tuple(finding_of(plan, conflicts) for conflicts in found.values())


def _require_form(plan: Plan) -> None:
    for segment in plan.segments:
        for node in segment.nodes:
            if node.op == WAIT and not (len(node.inputs) == 1 and len(node.outputs) <= 1 and ABSENT not in node.inputs):
                raise PlanFileError(plan.source, f"wait {node.name} must name the one tensor it waits for")
            if any(not ABSENT <= tensor < len(plan.tensors) for tensor in (*node.inputs, *node.outputs)):
                raise PlanFileError(plan.source, f"{node.op} {node.name} names a tensor that does not exist")
    seen: set[int] = set()
    for storage in plan.storages:
        for tensor in storage.tensors:
            if not 0 <= tensor < len(plan.tensors) or tensor in seen:
                problem = f"storage {storage.name} names a tensor that does not exist, or is in another storage"
                raise PlanFileError(plan.source, problem, "a tensor lives in one storage")
            seen.add(tensor)


class _Device:
    """The events and the memory of one device, in the order in which its program is issued."""

    def __init__(self, plan: Plan, device: int, views: Set[str]) -> None:
        self.plan, self.device, self.views = plan, device, views
        self.storages = Storages.on(plan, device)
        self.tips: dict[Hashable, dict[Hashable, int]] = defaultdict(dict)
        self.streams = {MAIN}
        self.recorded: dict[Hashable, Mapping[Hashable, int]] = {}
        self.current: dict[tuple[int, int], Version] = {}
        self.memory: dict[Hashable, list[Version]] = defaultdict(list)
        self.pending: dict[int, Event] = {}

    def conflicts(self) -> Iterator[Conflict]:
        """Run the program, then look at every memory."""
        for call in self.plan.programs[self.device]:
            for node in self.plan.segments[call.segment].nodes:
                self.step(node, call)
        self.end()
        for versions in self.memory.values():
            written = [version for version in versions if version.writer is not None]
            next_of = _successors(written)
            for version in versions:
                others = written if next_of is None else next_of.get(id(version), written[:1])
                for reader in dict.fromkeys(version.reads):
                    yield from _conflicts(version, reader, others)

    def step(self, node: Node, call: Call) -> None:
        """Issue one node."""
        stream = str(attribute(node, STREAM) or MAIN)
        self.streams.add(stream)
        if node.op == AWAIT:
            self.learn(stream, self.recorded.get(attribute(node, EVENT), {}))
        if node.op == WAIT:
            self.wait(node, call, stream)
            return
        event = self.event(node, call, stream)
        if node.op == RECORD:
            self.recorded[attribute(node, EVENT)] = event.clock
        read = [self.version(tensor, call) for tensor in node.inputs if tensor != ABSENT]
        for version in read:
            version.reads.append(event)
            if event.asynchronous:
                self.pending[id(version)] = event
        for tensor in node.outputs:
            if tensor == ABSENT:
                continue
            if node.op in self.views and read and self.same_memory(node.inputs[0], tensor):
                self.current[self.key(tensor, call.microbatch)] = read[0]
                continue
            if self.plan.kind(tensor) == ACCUMULATOR:
                self.version(tensor, call).reads.append(event)
            self.write(tensor, call.microbatch, event)

    def wait(self, node: Node, call: Call, stream: str) -> None:
        """Let the stream go on when what made the tensor, or what still reads it, is done."""
        version = self.version(node.inputs[0], call)
        for done in (version.writer, self.pending.get(id(version))):
            if done is not None:
                self.learn(stream, done.clock)
        self.event(node, call, stream)
        for tensor in node.outputs:
            self.current[self.key(tensor, call.microbatch)] = version

    def event(self, node: Node, call: Call, stream: str) -> Event:
        """One more event on its track."""
        apart = node.op in COMMUNICATION and attribute(node, ASYNCHRONOUS) is True
        track: Hashable = (node.op, attribute(node, "peer"), attribute(node, "ranks")) if apart else stream
        if apart:
            self.learn(track, self.tips[stream])
        clock = self.tips[track]
        clock[track] = clock.get(track, 0) + 1
        place = Place(self.device, call.microbatch, node.name, node.op)
        return Event(place, stream, track, clock[track], dict(clock))

    def learn(self, track: Hashable, clock: Mapping[Hashable, int]) -> None:
        """All of `clock` happens before what comes next on the track."""
        tip = self.tips[track]
        for other, at in clock.items():
            tip[other] = max(at, tip.get(other, 0))

    def end(self) -> None:
        """What is declared is read when all streams are done; asynchronous communication may not be."""
        for stream in self.streams:
            self.learn(MAIN, self.tips[stream])
        call = Call(0, ONCE_A_STEP)
        event = self.event(Node(END, (), (), (), "the end of the step"), call, MAIN)
        for held in self.plan.declared:
            if held.device == self.device:
                for microbatch in (ONCE_A_STEP, *range(self.plan.microbatches)):
                    version = self.current.get((held.tensor, microbatch))
                    if version is not None:
                        version.reads.append(event)

    def version(self, tensor: int, call: Call) -> Version:
        """What a tensor is at this call; given at the start where nothing has made it."""
        microbatch = dict(call.crossed).get(tensor, call.microbatch)
        for key in (self.key(tensor, microbatch), (tensor, ONCE_A_STEP), (tensor, 0)):
            if key in self.current and (key[1] != 0 or microbatch in (0, ONCE_A_STEP)):
                return self.current[key]
        return self.write(tensor, microbatch, None)

    def write(self, tensor: int, microbatch: int, writer: Event | None) -> Version:
        """A new version in the memory of the tensor."""
        key = self.key(tensor, microbatch)
        self.current[key] = version = Version(tensor, key[1], writer)
        self.memory[self.place_of(tensor, key)].append(version)
        return version

    def key(self, tensor: int, microbatch: int) -> tuple[int, int]:
        """Of what is there once a step, there is one for all microbatches."""
        return (tensor, ONCE_A_STEP if self.plan.kind(tensor) in PER_STEP else microbatch)

    def place_of(self, tensor: int, key: tuple[int, int]) -> Hashable:
        """The storage of a tensor, or memory of its own."""
        return self.storages.of.get(tensor, key)

    def same_memory(self, one: int, other: int) -> bool:
        """Whether two tensors are in one storage."""
        return one in self.storages.of and self.storages.of[one] == self.storages.of.get(other)


def _successors(written: list[Version]) -> dict[int, list[Version]] | None:
    """For each version the next one, where all writes happen one after the other; None where they do not.

    Then a read that happens before the next write happens before all later ones, and earlier ones are overwritten.
    """
    for one, other in pairwise(written):
        if one.writer is None or other.writer is None or not before(one.writer, other.writer):
            return None
    return {id(version): written[k + 1 : k + 2] for k, version in enumerate(written)}


def _conflicts(version: Version, reader: Event, versions: list[Version]) -> Iterator[Conflict]:
    """What is wrong with one read of one version, beside other versions of that memory."""
    writer = version.writer
    if writer is not None and writer is not reader and not before(writer, reader):
        yield Conflict("read-before-wait" if writer.asynchronous else "unordered-streams", version, reader, writer)
        return
    for other in versions:
        changed = other.writer
        if other is version or changed is None or changed is reader or before(reader, changed):
            continue
        if writer is not None and before(changed, writer):
            continue
        kept = before(changed, reader) and (writer is None or writer is changed or before(writer, changed))
        yield Conflict("stale-read" if kept else "overwritten-early", version, reader, changed, other)
