"""Islands: what computes guessed tensors from known ones, over all devices that take part.

A tensor is known where the walk says what it holds: one region of one single-device value of real numbers, or of what
is given. An island reaches back from its cut points to tensors that are known; other cut points are among these.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import NamedTuple

from verdict.graph import ABSENT, PER_STEP, Node, Plan
from verdict.graph.events import Event, events_of, makers_of
from verdict.graph.lockstep import LOADER, attribute
from verdict.lineage import Lineages, Reference, Value
from verdict.lineage.columns import UNDECIDED
from verdict.lineage.grounds import CutPoint, Grounds
from verdict.ops import FACTS
from verdict.ops.types import FLOAT, kind

MOST_COPIES = 64
"""The greatest multiple of a value that an island is given, or that is due of it: it is added up of copies."""


@dataclass(frozen=True, slots=True)
class Island:
    """events: what is run, in an order in which it can be. given: what is known and read, with what it holds.
    due: the cut points, with what they are guessed to hold. parts: the islands that it consists of, if it is several
    without a step in common, that make shares of one value.
    """

    events: tuple[Event, ...]
    given: Mapping[CutPoint, Value]
    due: Mapping[CutPoint, Value]
    parts: "tuple[Island, ...]" = ()

    @property
    def nodes(self) -> Iterator[Node]:
        """The nodes of all devices."""
        return (node for event in self.events for _, node in event.nodes)


@dataclass(frozen=True, slots=True)
class Column:
    """The steps of the column that is walked, who makes what in them, and those that make what depends on nothing; each
    island has its own of the latter. changing: what is kept through a step and is not one thing all the while, as what
    is accumulated is not.
    """

    plan: Plan
    events: Sequence[Event]
    makers: Mapping[CutPoint, int]
    constants: frozenset[int]
    changing: frozenset[CutPoint]


def column_of(plan: Plan, microbatch: int = 0) -> Column:
    """The steps of one microbatch."""
    events = events_of(plan, microbatch)
    return Column(plan, events, makers_of(events), _constants(events), _changing(plan, events))


def islands_of(
    walk: Lineages, column: Column, grounds: Grounds, behind: Set[int] = frozenset()
) -> tuple[list[Island], list[CutPoint]]:
    """The islands of the cut points of a walk of one column, and the cut points that have none.

    behind: values of which no tensor counts as known.
    """
    due, events = walk.cuts, column.events
    known = _Known(walk, column, grounds, behind)
    reached = {cut: _cone(cut, known) for cut in due}
    cones = {cut: cone for cut, cone in reached.items() if cone is not None}

    def island(cuts: Sequence[CutPoint]) -> Island:
        return _island(cuts, cones, events, known, due)

    def parts(cuts: Sequence[CutPoint]) -> tuple[Island, ...]:
        groups = _together(cuts, lambda cut: (*_steps(cones[cut], known), *_addends(due[cut])))
        return tuple(map(island, groups)) if len(groups) > 1 else ()

    groups = _together(list(cones), lambda cut: (*_steps(cones[cut], known), *_values(cones[cut], due[cut], known)))
    islands = [replace(island(group), parts=parts(group)) for group in groups]
    return islands, [cut for cut, cone in reached.items() if cone is None]


def widest(walk: Lineages, column: Column, grounds: Grounds, behind: Set[int] = frozenset()) -> tuple[int, int]:
    """How many steps the island has that has most of them, and how many there are in all.

    What a cone has of steps hangs together, and so do cones with a step in common: one look at each step tells.
    """
    events, makers, constants = column.events, column.makers, column.constants
    known = _Known(walk, column, grounds, behind)
    import networkx  # noqa: PLC0415  (see deadlock.py)

    graph: networkx.Graph = networkx.Graph()
    stack = [makers[cut] for cut in walk.cuts if cut in makers]
    seen = set(constants)
    while stack:
        number = stack.pop()
        if number in seen:
            continue
        seen.add(number)
        graph.add_node(number)
        read = {(d, t) for d, node in events[number].nodes for t in node.inputs if t != ABSENT}
        before = {makers[point] for point in read if point in makers and known.at(point) is None}
        stack.extend(before)
        graph.add_edges_from((number, other) for other in before - constants)
    return max(map(len, networkx.connected_components(graph)), default=0), len(events)


def uneven(island: Island, table: Reference) -> set[int]:
    """Values that some parts of an island know, and others compute from what is known: all of them have to reach behind
    these, or one part is asked for what another one takes as given.
    """
    each = [{share.base for value in part.given.values() for share in value} for part in island.parts]
    if not each:
        return set()
    every = set[int]().union(*each)
    return {base for base in every - each[0].intersection(*each) if _rests(base, every - {base}, table)}


def _rests(base: int, others: Set[int], table: Reference) -> bool:
    """Whether a value is computed from others."""
    stack, seen = [base], {base}
    while stack:
        node = table.bases[stack.pop()].node
        read = {b for bases in table.partners[node].inputs for b in bases} - seen if node >= 0 else set()
        if not read.isdisjoint(others):
            return True
        seen |= read
        stack.extend(read)
    return False


class _Cone(NamedTuple):
    events: frozenset[int]
    given: frozenset[CutPoint]


class _Known:
    """What tensors of devices hold, where it is one region of one value that may be any real number.

    behind: values that an island reaches behind, those that depend on nothing, and those that are picked from such,
    among them: of such, regions may be equal, as where one is repeated.
    """

    def __init__(self, walk: Lineages, column: Column, grounds: Grounds, behind: Set[int]) -> None:
        self.walk, self.column, self.due = walk, column, walk.cuts
        self.infinite = grounds.infinite
        self.behind = grounds.alike | grounds.picked | behind

    def at(self, cut: CutPoint) -> Value | None:
        """What a tensor holds; None where an island has to reach behind it."""
        device, tensor = cut
        value = self.due.get(cut) or self.walk.held[device].get(tensor)
        if value is None or len(value) != 1 or value[0].part or value[0].spread or value[0].shard:
            return None
        if value[0].times.denominator > 1 or not 1 <= value[0].times <= MOST_COPIES:
            return None
        table, number = self.walk.reference, value[0].base
        base = table.bases[number]
        if base.node < 0:
            return value
        unknown = kind(base.dtype) != FLOAT or base.column == UNDECIDED or number in self.infinite
        return None if unknown or number in self.behind else value


def _cone(cut: CutPoint, known: _Known) -> _Cone | None:
    """What a cut point is computed by, back to what is known; None where that is not known, or no function of it.

    What changes in a step is not at every point what the walk says of it in the end. What is taken once a step has not
    what a microbatch has: it is in no island of one of several microbatches.
    """
    plan, events, makers = known.column.plan, known.column.events, known.column.makers
    found: set[int] = set()
    given: set[CutPoint] = set()
    stack = [cut]
    while stack:
        point = stack.pop()
        if point in known.column.changing:
            return None
        if point in given or (point != cut and known.at(point) is not None):
            given.add(point)
            continue
        number = makers.get(point)
        if number is None:
            return None
        if number in found:
            continue
        if events[number].once and plan.microbatches > 1:
            return None
        found.add(number)
        for device, node in events[number].nodes:
            if FACTS.random(node.op) or node.op == LOADER or attribute(node, "replicas"):
                return None
            stack.extend((device, tensor) for tensor in node.inputs if tensor != ABSENT)
    return _Cone(frozenset(found), frozenset(given))


def _steps(cone: _Cone, known: _Known) -> Iterator[Hashable]:
    """The steps of a cone that are those of one island."""
    return (("step", number) for number in cone.events if number not in known.column.constants)


def _addends(value: Value) -> Iterator[Hashable]:
    """The sums that a cut point is an addend of, which say nothing of one of them alone."""
    return (("sum", share.base) for share in value if share.part)


def _values(cone: _Cone, due: Value, known: _Known) -> Iterator[Hashable]:
    """The values that a cut point is a share of, each with whether its cone moves it or computes it."""
    read = {share.base for point in cone.given for share in known.at(point) or ()}
    return (("value", share.base, share.base in read) for share in due)


def _together(cuts: Sequence[CutPoint], keys: Callable[[CutPoint], Iterable[Hashable]]) -> list[list[CutPoint]]:
    """Cut points in groups: those with a key in common are in one."""
    import networkx  # noqa: PLC0415  (see deadlock.py)

    graph: networkx.Graph = networkx.Graph()
    for cut in cuts:
        graph.add_edges_from((("cut", cut), key) for key in keys(cut))
    return [sorted(cut for kind, cut, *_ in found if kind == "cut") for found in networkx.connected_components(graph)]


def _island(
    cuts: Sequence[CutPoint], cones: Mapping[CutPoint, _Cone], events: Sequence[Event], known: _Known,
    due: Mapping[CutPoint, Value],
) -> Island:  # fmt: skip
    numbers = sorted(set().union(*(cones[cut].events for cut in cuts)))
    made = {(d, t) for number in numbers for d, node in events[number].nodes for t in node.outputs}
    given = sorted(set().union(*(cones[cut].given for cut in cuts)) - made)
    values = {point: value for point in given if (value := known.at(point)) is not None}
    return Island(tuple(events[number] for number in numbers), values, {cut: due[cut] for cut in cuts})


def _constants(events: Sequence[Event]) -> frozenset[int]:
    """Steps that read nothing but what such steps make."""
    found: set[int] = set()
    made: set[CutPoint] = set()
    for number, event in enumerate(events):
        if event.nodes[0][1].op == LOADER:
            continue
        if all((device, t) in made for device, node in event.nodes for t in node.inputs if t != ABSENT):
            found.add(number)
            made.update((device, t) for device, node in event.nodes for t in node.outputs)
    return frozenset(found)


def _changing(plan: Plan, events: Sequence[Event]) -> frozenset[CutPoint]:
    """What is kept through a step and made in it: by several steps or microbatches, or after it was read."""
    kinds = [logical.kind in PER_STEP for logical in plan.logicals]
    kept = [kinds[tensor.logical] for tensor in plan.tensors]
    seen, found = set[CutPoint](), set[CutPoint]()
    for event in events:
        seen.update((device, t) for device, node in event.nodes for t in node.inputs if t != ABSENT and kept[t])
        made = {(device, t) for device, node in event.nodes for t in node.outputs if t != ABSENT and kept[t]}
        found |= made if plan.microbatches > 1 else made & seen
        seen |= made
    return frozenset(found)
