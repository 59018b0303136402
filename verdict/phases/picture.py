"""Pictures of findings: the schedule with the faulty runs marked, and the nodes around the fault in both plans."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from verdict.graph import ABSENT, Fault, Node, Plan, spelled
from verdict.graph.fault import Place
from verdict.graph.lockstep import Handlers, Step, lockstep
from verdict.graph.lockstep import program as steps_of
from verdict.graph.sources import cited_in, in_short
from verdict.lineage import Evidence
from verdict.phases.query import Query
from verdict.report import Report
from verdict.report.picture import Around, Bar, Drawn, Lane, Picture

MOST_PICTURED = 8
"""How many findings have a picture, the first ones."""
MOST_LANES = 16
"""Of how many devices the schedule is drawn, those of the fault first."""
MOST_BARS = 64
"""How many runs of a device are drawn, the first ones."""
MOST_STEPS = 20_000
"""Up to so many nodes in all programs, runs are drawn when they can begin; beyond, one after the other."""
MOST_NODES = 8
"""How many nodes are drawn of each plan."""

Starts = Mapping[tuple[int, int], int]
"""When a device can begin each of its calls."""


def pictured(query: Query, report: Report) -> Report:
    """The report with pictures of its first findings, where these say at which nodes they are."""
    single, parallel = query.values
    found: list[Picture] = []
    starts: Starts = {}
    for number, finding in enumerate(report.findings[:MOST_PICTURED]):
        about = finding.evidence
        places = about.places if isinstance(about, Fault | Evidence) else ()
        if not places:
            continue
        starts = starts or _starts(parallel)
        lanes = _lanes(parallel, places, starts)
        left_out = len(parallel.programs) - len(lanes), _left_out(parallel, lanes)
        device = places[0].device
        mine = _around(_nodes(parallel, device), places[0])
        names = {name for node in mine for name in _names(parallel, node)}
        other = [node for node in _nodes(single, 0) if names & {*_names(single, node)}][:MOST_NODES]
        picture = Picture(
            number, lanes, left_out, device, _drawn(single, other, ()), _drawn(parallel, mine, places[:1]),
            tuple(_matches(single, parallel, other, mine)),
        )  # fmt: skip
        found.append(picture)
    return replace(report, pictures=tuple(found))


def _starts(plan: Plan) -> Starts:
    """The step of the schedule in which each call of each device can begin, if every call takes one."""
    ends = [_ends(plan, device) for device in range(len(plan.programs))]
    if sum(own[-1] for own in ends if own) > MOST_STEPS:
        return {(device, k): k for device, own in enumerate(ends) for k in range(len(own))}
    starts: dict[tuple[int, int], int] = {}
    done = [0] * len(ends)

    def begun(device: int) -> int:
        call = bisect_right(ends[device], done[device])
        starts.setdefault((device, call), starts.get((device, call - 1), -1) + 1)
        return call

    def local(device: int, step: Step) -> None:
        begun(device)
        done[device] += 1

    def send(device: int, step: Step) -> int:
        at = starts[device, begun(device)]
        done[device] += 1
        return at

    def receive(device: int, step: Step, value: int, sent: Step) -> None:
        call = begun(device)
        starts[device, call] = max(starts[device, call], value + 1)
        done[device] += 1

    def meet(members: Mapping[int, Step]) -> None:
        calls = {device: begun(device) for device in members}
        latest = max(starts[device, call] for device, call in calls.items())
        for device, call in calls.items():
            starts[device, call] = latest
            done[device] += 1

    lockstep([steps_of(plan, calls) for calls in plan.programs], Handlers(local, send, receive, meet))
    return starts


def _ends(plan: Plan, device: int) -> list[int]:
    """How many nodes a device has run after each of its calls."""
    total, found = 0, []
    for call in plan.programs[device]:
        total += len(plan.segments[call.segment].nodes)
        found.append(total)
    return found


def _lanes(plan: Plan, places: Sequence[Place], starts: Starts) -> tuple[Lane, ...]:
    """The schedule of the devices of the fault, and of others."""
    faulty = dict.fromkeys(place.device for place in places)
    devices = sorted([*faulty, *(d for d in range(len(plan.programs)) if d not in faulty)][:MOST_LANES])
    at = {(place.device, place.microbatch, place.op, place.name) for place in places}
    return tuple(Lane(device, tuple(_bars(plan, device, at, starts))) for device in devices)


def _bars(plan: Plan, device: int, at: set[tuple[int, int, str, str]], starts: Starts) -> Iterator[Bar]:
    for k, call in enumerate(plan.programs[device][:MOST_BARS]):
        segment = plan.segments[call.segment]
        wrong = any((device, call.microbatch, node.op, node.name) in at for node in segment.nodes)
        yield Bar(segment.name, call.microbatch, starts.get((device, k), k), wrong)


def _left_out(plan: Plan, lanes: Sequence[Lane]) -> int:
    return max((len(plan.programs[lane.device]) - len(lane.bars) for lane in lanes), default=0)


def _nodes(plan: Plan, device: int) -> list[Node]:
    """The nodes of a device, each once, in the order in which they first run."""
    segments = dict.fromkeys(call.segment for call in plan.programs[device])
    return [node for segment in segments for node in plan.segments[segment].nodes]


def _around(nodes: Sequence[Node], place: Place) -> list[Node]:
    """The node of the fault, what it reads and who reads it, and what these read, in their order."""
    centre = next((k for k, node in enumerate(nodes) if (node.op, node.name) == (place.op, place.name)), None)
    if centre is None:
        return []
    makers = {tensor: k for k, node in enumerate(nodes) for tensor in node.outputs if tensor != ABSENT}
    made = {tensor for tensor in nodes[centre].outputs if tensor != ABSENT}
    before = [makers[tensor] for tensor in nodes[centre].inputs if tensor in makers]
    behind = [k for k, node in enumerate(nodes) if not made.isdisjoint(node.inputs)]
    beyond = [makers[tensor] for k in before for tensor in nodes[k].inputs if tensor in makers]
    chosen = list(dict.fromkeys([centre, *before, *behind, *beyond]))[:MOST_NODES]
    return [nodes[k] for k in sorted(chosen)]


def _drawn(plan: Plan, nodes: Sequence[Node], places: Sequence[Place]) -> Around:
    at = {(place.op, place.name) for place in places}
    makers = {tensor: k for k, node in enumerate(nodes) for tensor in node.outputs if tensor != ABSENT}
    edges = dict.fromkeys(
        (makers[tensor], k) for k, node in enumerate(nodes) for tensor in node.inputs if makers.get(tensor, k) != k
    )
    drawn = tuple(Drawn(node.op, _text(node), _makes(plan, node), (node.op, node.name) in at) for node in nodes)
    return Around(drawn, tuple(edges))


def _text(node: Node) -> str:
    return f"{node.op} {node.name}" if cited_in(node.name) is None else in_short(node.name)


def _makes(plan: Plan, node: Node) -> str:
    """The first thing that a node makes, with its region."""
    tensor = next((plan.tensors[tensor] for tensor in node.outputs if tensor != ABSENT), None)
    if tensor is None:
        return ""
    logical = plan.logicals[tensor.logical]
    part = f", part {tensor.part[0]} of {tensor.part[1]}" if tensor.part[1] > 1 else ""
    return f"{logical.name}{spelled(tensor.region)}{part}"


def _names(plan: Plan, node: Node) -> Iterator[str]:
    """What a node may be known by in the other plan: its line and operator in a program, else what it makes."""
    if cited_in(node.name) is not None:
        yield f"{node.op} {node.name}"
        return
    yield from (plan.logicals[plan.tensors[tensor].logical].name for tensor in node.outputs if tensor != ABSENT)


def _matches(single: Plan, parallel: Plan, one: Sequence[Node], other: Sequence[Node]) -> Iterator[tuple[int, int]]:
    names = [{*_names(single, node)} for node in one]
    for k, node in enumerate(other):
        alike = next((n for n, known in enumerate(names) if known & {*_names(parallel, node)}), None)
        if alike is not None:
            yield alike, k
