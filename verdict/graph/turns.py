"""The order of a device's calls: a segment runs after those that make what it reads."""

from collections import defaultdict
from collections.abc import Mapping, Set

from verdict.graph.fault import Fault, Place
from verdict.graph.lockstep import Step
from verdict.graph.names import first_of
from verdict.graph.plan import ABSENT, ONCE_A_STEP, PER_STEP, Call, Plan, Segment
from verdict.outcome import Finding

OUT_OF_TURN = "out of turn"
"""The kind of a finding that a segment runs too early."""
MOST_NAMED = 4
"""How many tensors that are read too early are named, and how many segments that make them."""

AFTER = "run every segment after those that make what it reads"
IN_PLACE = "what is made of a weight or buffer that is given is another share of it: in a text, w'2 = sgd(w, g)"
"""How a plan says what an optimizer does in place: a share is given, or made, and each at most once."""


def makers_of(plan: Plan, device: int) -> Mapping[int, Set[int]]:
    """The segments of a device that make each of its tensors."""
    found: dict[int, set[int]] = defaultdict(set)
    for segment in {call.segment for call in plan.programs[device]}:
        for tensor in (tensor for node in plan.segments[segment].nodes for tensor in node.outputs):
            found[tensor].add(segment)
    return found


def out_of_turn(plan: Plan, device: int, late: Set[int]) -> Finding | None:
    """The first call of a device that reads some of the tensors `late` before another segment makes them for it."""
    makers = makers_of(plan, device)
    made: set[tuple[int, int]] = set()
    for call in plan.programs[device]:
        segment = plan.segments[call.segment]
        own = {tensor for node in segment.nodes for tensor in node.outputs}
        there = {tensor for tensor, microbatch in made if microbatch in (call.microbatch, ONCE_A_STEP)}
        early = (late - own - there - {tensor for tensor, _ in call.taken}) & _read(segment)
        if early:
            return _early(plan, device, call, early, makers)
        made.update((tensor, call.microbatch) for tensor in own)
    return None


def _read(segment: Segment) -> Set[int]:
    return {tensor for node in segment.nodes for tensor in node.inputs} - {ABSENT}


def _early(plan: Plan, device: int, call: Call, early: Set[int], makers: Mapping[int, Set[int]]) -> Finding:
    segment = plan.segments[call.segment]
    readers = [node for node in segment.nodes if early & set(node.inputs)]
    tensors = tuple(dict.fromkeys(tensor for node in readers for tensor in node.inputs if tensor in early))
    when = Step(readers[0], call.microbatch).when
    named = first_of([plan.logicals[plan.tensors[tensor].logical].name for tensor in tensors], MOST_NAMED)
    before = sorted({plan.segments[number].name for tensor in tensors for number in makers[tensor]})
    make = "make" if len(before) > 1 else "makes"
    return Finding(
        "broken-data-flow",
        f"{segment.name} runs for {when} before {first_of(before, MOST_NAMED)}, which {make} {named} for it",
        f"segment {segment.name} on rank {device}, {when}",
        help=f"{AFTER}; {IN_PLACE}" if any(plan.kind(tensor) in PER_STEP for tensor in tensors) else AFTER,
        extent=len(readers),
        evidence=Fault(tuple(Place(device, call.microbatch, node.name, node.op) for node in readers), tensors),
        kind=OUT_OF_TURN,
    )
