"""The order of calls and of nodes: as a rank has it that runs the same, or as other microbatches have it."""

from collections import Counter
from collections.abc import Iterator

from verdict.graph import ABSENT, ACCUMULATOR, ONCE_A_STEP, Call, Node, Plan, Segment
from verdict.outcome import Finding
from verdict.repair.case import Candidate, Case
from verdict.repair.edits import Patch, Site

COUNTED = frozenset({"microbatch-missing", "microbatch-duplicated"})
ORDERED = COUNTED | {
    "wrong-order", "deadlock", "receive-without-send", "send-without-receive", "early-reduction", "broken-data-flow",
    "shape-mismatch",
}  # fmt: skip
Work = tuple[str, int]


def as_twin(case: Case, finding: Finding) -> Iterator[Candidate]:
    """The calls of a rank in the order of another rank that has the same segments, once for every microbatch."""
    if finding.code not in ORDERED:
        return
    plan = case.plan
    wrong = [device for device in range(plan.devices) if _miscounted(plan, device)]
    for device in wrong or range(plan.devices):
        for twin in range(plan.devices):
            if twin == device or _miscounted(plan, twin) or _names(plan, twin) != _names(plan, device):
                continue
            own = {plan.segments[call.segment].name: call.segment for call in plan.programs[device]}
            order = tuple(Call(own[plan.segments[call.segment].name], call.microbatch) for call in plan.programs[twin])
            if order != tuple(call._replace(crossed=()) for call in plan.programs[device]):
                sentence = f"run the segments of rank {device} in the order of rank {twin}" + _counted(plan, device)
                yield Candidate(sentence, Patch(programs={device: order}))
                break
    yield from _nodes_as_twin(case)


def count_microbatches(case: Case, finding: Finding) -> Iterator[Candidate]:
    """Every segment once for every microbatch, where the others have it; what runs once a step at the end."""
    if finding.code not in COUNTED:
        return
    plan = case.plan
    programs = {}
    for device in range(plan.devices):
        if _miscounted(plan, device):
            programs[device] = _completed(plan, plan.programs[device])
    if programs:
        words = " and ".join(f"rank {device}{_counted(plan, device)}" for device in programs)
        yield Candidate(f"run every segment once for every microbatch on {words}", Patch(programs=programs))


def reduce_late(case: Case, finding: Finding) -> Iterator[Candidate]:
    """What reads the gradients that have been added up, once a step behind all microbatches."""
    if finding.code != "early-reduction":
        return
    plan = case.plan
    instead: dict[Site, tuple[Node, ...]] = {}
    segments: list[Segment] = []
    programs: dict[int, tuple[Call, ...]] = {}
    for device, program in enumerate(plan.programs):
        each = [call for call in program if call.microbatch != ONCE_A_STEP]
        once = [call for call in program if call.microbatch == ONCE_A_STEP]
        moved = []
        for number in dict.fromkeys(call.segment for call in each):
            for at, node in enumerate(plan.segments[number].nodes):
                if any(t != ABSENT and plan.kind(t) == ACCUMULATOR for t in node.inputs):
                    instead[Site(number, at)] = ()
                    moved.append(node)
        if moved:
            segments.append(Segment("reductions", device, tuple(moved)))
            once.append(Call(len(plan.segments) + len(segments) - 1, ONCE_A_STEP))
        if (*each, *once) != program:
            programs[device] = (*each, *once)
    if programs:
        devices = ", ".join(map(str, programs))
        sentence = f"reduce the gradients behind the last backward pass on ranks {devices}"
        yield Candidate(sentence, Patch(instead=instead, segments=tuple(segments), programs=programs))


def in_order_of_microbatches(case: Case, finding: Finding) -> Iterator[Candidate]:
    """The calls of every segment by increasing microbatch, at the places where they are."""
    if finding.code not in ORDERED:
        return
    programs = {}
    for device, program in enumerate(case.plan.programs):
        turn: Counter[int] = Counter()
        ordered = []
        for call in program:
            due = sorted(other.microbatch for other in program if other.segment == call.segment)
            ordered.append(call._replace(microbatch=due[turn[call.segment]]))
            turn[call.segment] += 1
        if tuple(ordered) != program:
            programs[device] = tuple(ordered)
    if programs:
        devices = ", ".join(map(str, programs))
        yield Candidate(f"run the microbatches in their order on ranks {devices}", Patch(programs=programs))


def _names(plan: Plan, device: int) -> tuple[str, ...]:
    return tuple(sorted({plan.segments[call.segment].name for call in plan.programs[device]}))


def _runs(plan: Plan, device: int) -> Counter[tuple[int, int]]:
    return Counter((call.segment, call.microbatch) for call in plan.programs[device] if call.microbatch != ONCE_A_STEP)


def _miscounted(plan: Plan, device: int) -> list[tuple[int, int]]:
    """The segments and microbatches of a device that do not run just once."""
    runs = _runs(plan, device)
    segments = sorted({segment for segment, _ in runs})
    return [(s, m) for s in segments for m in range(plan.microbatches) if runs[s, m] != 1]


def _counted(plan: Plan, device: int) -> str:
    """What a device runs too often or not at all, in words."""
    runs = _runs(plan, device)
    words = [
        f"{plan.segments[segment].name} for microbatch {microbatch} " + ("once" if runs[segment, microbatch] else "too")
        for segment, microbatch in _miscounted(plan, device)
    ]
    return f": {', '.join(words[:3])}" if words else ""


def _completed(plan: Plan, program: tuple[Call, ...]) -> tuple[Call, ...]:
    """Each call once, and the missing ones behind what precedes them in the microbatches that have them."""
    calls = [call for call in program if call.microbatch != ONCE_A_STEP]
    once = [call for call in program if call.microbatch == ONCE_A_STEP]
    calls = list({(call.segment, call.microbatch): call for call in calls}.values())
    for segment in dict.fromkeys(call.segment for call in calls):
        have = [call.microbatch for call in calls if call.segment == segment]
        for microbatch in sorted(set(range(plan.microbatches)) - set(have)):
            order = [call.segment for call in calls if call.microbatch == have[0]]
            before = set(order[: order.index(segment)])
            places = [k for k, call in enumerate(calls) if call.microbatch == microbatch and call.segment in before]
            calls.insert(max(places, default=-1) + 1, Call(segment, microbatch))
    return (*calls, *once)


def _nodes_as_twin(case: Case) -> Iterator[Candidate]:
    """The nodes of a segment in the order of another rank's segment that has the same nodes."""
    plan = case.plan
    alike: dict[tuple[object, ...], list[int]] = {}
    for number, segment in enumerate(plan.segments):
        names = Counter((node.op, node.name) for node in segment.nodes)
        if names and max(names.values()) == 1:
            alike.setdefault((segment.name, *sorted(names)), []).append(number)
    for numbers in alike.values():
        orders = Counter(tuple((node.op, node.name) for node in plan.segments[number].nodes) for number in numbers)
        if len(orders) == 1:
            continue
        for due in sorted(orders, key=lambda order: -orders[order]):
            instead: dict[Site, tuple[Node, ...]] = {}
            for number in numbers:
                by_name = {(node.op, node.name): node for node in plan.segments[number].nodes}
                for at, name in enumerate(due):
                    if plan.segments[number].nodes[at] != by_name[name]:
                        instead[Site(number, at)] = (by_name[name],)
            devices = sorted({plan.segments[site.segment].device for site in instead})
            shown = ", ".join(map(str, devices))
            sentence = f"run the nodes of {plan.segments[numbers[0]].name} on ranks {shown} in the order of other ranks"
            yield Candidate(sentence, Patch(instead=instead))
