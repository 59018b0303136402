"""The walk of a plan of which some nodes were changed: only what the changes reach is walked again.

A step makes of what it reads what it made before, unless it is another one, or reads something else. So of all steps
those are taken anew that were changed, and those that read what others make otherwise now; behind a repair that is soon
nothing, as the walk went on behind the fault with what should have been there. What it said of the others stays.

Nothing is said where that is not certain: where an order counts (accumulators, weights that are written, messages that
were changed), where the walk left something open, or still finds something. Then the whole plan is walked.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from verdict.graph import ABSENT, ACCUMULATOR, GIVEN, ONCE_A_STEP, PER_STEP, Node, Place, Plan
from verdict.graph.lockstep import COLLECTIVES, LOADER, RECV, SEND, Handlers, Step, attribute, lockstep, program
from verdict.lineage.binding import Binding
from verdict.lineage.exchange import meet, place_of
from verdict.lineage.holdings import Holdings, made_once
from verdict.lineage.lineages import End, Evidence, Lineages
from verdict.lineage.propagate import local
from verdict.lineage.values import Value

SHARE = 2
"""Of so many steps one is taken anew at most: where nothing comes of that, a whole walk takes that much longer."""
Taken = tuple[int, int]
"""A device, and the identity of a node that it runs."""


class _Otherwise(Exception):
    """The whole plan is to be walked."""


def resumed(
    before: Lineages, was: Plan, plan: Plan, binding: Binding, microbatch: int, assume: frozenset[str]
) -> Lineages | None:
    """What every tensor of one column of `plan` holds, as `propagate` says it; None where that is to be asked.

    before: the walk of `was`, a plan of which some nodes are others, and for which the rest of the nodes are the same
    objects. Of what it found nothing is left in what is returned: there are neither findings nor gaps.
    """
    try:
        return _Walk(before, was, plan, binding, microbatch, assume).run()
    except _Otherwise:
        return None


class _Walk:
    """The steps that are taken anew. kept: the nodes of each device that are in both plans. dirty: what each device
    holds that is another value now. places, taken: where steps were taken anew, and which these are.
    """

    def __init__(
        self, before: Lineages, was: Plan, plan: Plan, binding: Binding, microbatch: int, assume: frozenset[str]
    ) -> None:
        _require(before.unsaid is not None and not before.cuts and _is_like(was, plan))
        self.before, self.plan, self.microbatch = before, plan, microbatch
        self.steps = [_column(plan, device, microbatch) for device in range(plan.devices)]
        self.most = sum(map(len, self.steps)) // SHARE
        self.writers = _writers(plan) | _writers(was)
        pairs = [(one, other) for one, other in zip(was.segments, plan.segments, strict=True) if one is not other]
        self.kept = [{id(step.node) for step in steps} for steps in self.steps]
        self.dirty: list[set[int]] = [set() for _ in self.steps]
        self.places: set[Place] = set()
        self.taken: set[Taken] = set()
        self.affected: set[tuple[int, ...]] = set()
        self.holdings = Holdings(before.reference, plan, binding, assume, every=False)
        self.holdings.known.update({member: number for number, member in enumerate(before.distinct)})
        self.holdings.env = [dict(held) for held in before.held]
        for program_of, now in zip(was.programs, self.holdings.once, strict=True):
            _require(all(tensor >= len(was.tensors) for tensor in made_once(was, program_of) ^ now))
        for one, other in pairs:
            self._change(one.device, one.nodes, other.nodes)
        self.columns = {pair for group in self.affected for pair in _meetings(was, group, microbatch)}

    def run(self) -> Lineages:
        """Take the steps, and say what the column holds."""
        walk = lockstep(self.steps, Handlers(self._local, self._send, self._receive, self._meet))
        holdings, before, devices = self.holdings, self.before, {place.device for place in self.places}
        _require(not walk.stuck and not holdings.gaps and not holdings.findings)
        self._require_apart()
        _require(all(self._is_gone(finding.evidence) for finding in before.findings))
        _require(self.places.issuperset(before.unsaid or ()))
        assumptions = {one.name: one for one in (*before.assumptions, *holdings.assumptions.values())}
        return Lineages(
            reference=before.reference,
            distinct=tuple(holdings.known),
            members=self._members(),
            laws=before.laws | holdings.laws,
            held=tuple(
                own if device in devices else held
                for device, (own, held) in enumerate(zip(holdings.env, before.held, strict=True))
            ),
            ends=tuple(map(self._end, before.ends)),
            findings=(),
            gaps=(),
            assumptions=tuple(assumptions.values()),
            nodes=sum(map(len, self.steps)),
            unsaid=frozenset(),
        )

    def _change(self, device: int, old: Sequence[Node], new: Sequence[Node]) -> None:
        """Note which nodes of a segment are gone or new. The others must be in the same order."""
        ids, others = {id(node) for node in old}, {id(node) for node in new}
        _require([id(n) for n in old if id(n) in others] == [id(n) for n in new if id(n) in ids])
        gone, fresh = [n for n in old if id(n) not in others], [n for n in new if id(n) not in ids]
        self.kept[device] -= {id(node) for node in fresh}
        self.dirty[device].update(tensor for node in gone for tensor in node.outputs if tensor != ABSENT)
        for tensor in self.dirty[device]:
            self.holdings.env[device].pop(tensor, None)
        for node in (*gone, *fresh):
            _require(node.op not in (SEND, RECV))
            self._require_timeless(device, node)
            if node.op in COLLECTIVES:
                self.affected.add(tuple(sorted(attribute(node, "ranks"))))
        self.places |= {place_of(device, Step(node, m)) for m in (self.microbatch, ONCE_A_STEP) for node in gone}

    def _is_clean(self, device: int, step: Step) -> bool:
        return id(step.node) in self.kept[device] and self.dirty[device].isdisjoint(step.node.inputs)

    def _local(self, device: int, step: Step) -> None:
        if not self._is_clean(device, step):
            self._take({device: step}, lambda: local(self.holdings, device, step))

    def _send(self, device: int, step: Step) -> tuple[Value | None, bool]:
        return self.holdings.read(device, step.node.inputs[0]), self._is_clean(device, step)

    def _receive(self, device: int, step: Step, message: tuple[Value | None, bool], sent: Step) -> None:
        value, clean = message
        tensor, place = step.node.outputs[0], place_of(device, step)
        if not clean or not self._is_clean(device, step):
            self._take({device: step}, lambda: self.holdings.write(device, tensor, value, place))

    def _meet(self, members: Mapping[int, Step]) -> None:
        met = tuple(sorted(members)) not in self.affected or _met(members) in self.columns
        if not met or not all(self._is_clean(device, step) for device, step in members.items()):
            self._take(members, lambda: meet(self.holdings, members))

    def _take(self, steps: Mapping[int, Step], follow: Callable[[], None]) -> None:
        """Take a step of some devices anew; what it makes as before is clean."""
        env, was = self.holdings.env, dict[tuple[int, int], Any]()
        for device, step in steps.items():
            self.taken.add((device, id(step.node)))
            self.places.add(place_of(device, step))
            self._require_timeless(device, step.node)
            held = self.before.held[device]
            made = {tensor for tensor in step.node.outputs if tensor != ABSENT}
            was |= {(device, tensor): held.get(tensor, self) for tensor in made}
            for tensor in made:
                env[device].pop(tensor, None)
        _require(len(self.taken) <= self.most)
        follow()
        for (device, tensor), value in was.items():
            env[device][tensor] = found = self.holdings.read(device, tensor)
            if found == value:
                self.dirty[device].discard(tensor)
            else:
                self.dirty[device].add(tensor)

    def _require_timeless(self, device: int, node: Node) -> None:
        """What a node reads and makes must not depend on when it does: of accumulators one node makes all."""
        _require(node.op != LOADER)
        for tensor in (*node.inputs, *node.outputs):
            most = 1 if tensor != ABSENT and self.holdings.kinds[tensor] == ACCUMULATOR else 0
            _require(self.writers[device, tensor] <= most)

    def _require_apart(self) -> None:
        """No step that was not taken anew may have the name of one that was: what was said there is dropped."""
        gone = {(place.device, place.name, place.op) for place in self.places}
        for device in {place.device for place in self.places}:
            for step in self.steps[device]:
                named = (device, step.node.name, step.node.op) in gone
                _require(not named or (device, id(step.node)) in self.taken)

    def _is_gone(self, evidence: object) -> bool:
        return isinstance(evidence, Evidence) and self.places.issuperset(evidence.places)

    def _members(self) -> dict[int, dict[int, tuple[Place, ...]]]:
        """The members of all steps that were not taken anew, and of those that were."""
        found: dict[int, dict[int, tuple[Place, ...]]] = {}
        both = (self.before.members, self.holdings.members)
        for index, numbers in chain(*(each.items() for each in both)):
            own = found.setdefault(index, {})
            for number, places in numbers.items():
                new = numbers is self.holdings.members.get(index)
                left = tuple(places) if new else tuple(place for place in places if place not in self.places)
                if left or number in own:
                    own[number] = (*own.get(number, ()), *left)
        return {index: numbers for index, numbers in sorted(found.items()) if numbers}

    def _end(self, end: End) -> End:
        """What a declared output holds; where it is another value, a part of a sum is not known."""
        device, tensor = end.held.device, end.held.tensor
        if tensor not in self.dirty[device]:
            return end
        _require(self.plan.tensors[tensor].part == (0, 1))
        return End(end.held, self.holdings.read(device, tensor))


def _require(certain: bool) -> None:
    if not certain:
        raise _Otherwise


def _is_like(was: Plan, plan: Plan) -> bool:
    """Whether a plan is another one but for nodes, and for tensors that are behind all others, and not given."""
    logicals, tensors = len(was.logicals), len(was.tensors)
    same = plan.logicals[:logicals] == was.logicals and plan.tensors[:tensors] == was.tensors
    given = any(logical.kind in GIVEN for logical in plan.logicals[logicals:])
    parts = [
        (one.programs, one.losses, one.gradients, one.outputs, one.seeds, one.mesh, one.replicas, one.microbatches)
        for one in (was, plan)
    ]
    crossed = any(call.crossed for one in plan.programs for call in one)
    runs = [[(call.segment, call.microbatch) for call in one] for one in plan.programs]
    twice = any(len(set(one)) < len(one) for one in runs)
    devices = [[segment.device for segment in one.segments] for one in (was, plan)]
    return same and not given and parts[0] == parts[1] and not (crossed or twice) and devices[0] == devices[1]


def _column(plan: Plan, device: int, microbatch: int) -> list[Step]:
    return program(plan, [call for call in plan.programs[device] if call.microbatch in (microbatch, ONCE_A_STEP)])


def _writers(plan: Plan) -> Counter[tuple[int, int]]:
    """How many nodes write each weight, buffer or accumulator of a device."""
    kinds = [logical.kind in PER_STEP for logical in plan.logicals]
    nodes = ((segment.device, node) for segment in plan.segments for node in segment.nodes)
    return Counter(
        (device, tensor)
        for device, node in nodes
        for tensor in node.outputs
        if tensor != ABSENT and kinds[plan.tensors[tensor].logical]
    )


def _meetings(plan: Plan, group: Iterable[int], microbatch: int) -> Iterator[tuple[Taken, ...]]:
    """The collectives of a group, each as the nodes that meet."""
    each = [
        [(rank, id(step.node)) for step in _column(plan, rank, microbatch) if _is_of(step.node, group)]
        for rank in group
    ]
    return zip(*each, strict=False)


def _is_of(node: Node, group: Iterable[int]) -> bool:
    return node.op in COLLECTIVES and tuple(sorted(attribute(node, "ranks"))) == group


def _met(members: Mapping[int, Step]) -> tuple[Taken, ...]:
    return tuple((rank, id(step.node)) for rank, step in sorted(members.items()))
