"""Segments of a device with the same nodes are one segment, however often a plan writes them."""

from dataclasses import replace

from verdict.graph.microbatches import is_even, runs_of
from verdict.graph.plan import Plan, Segment


def merged(plan: Plan) -> Plan:
    """The plan, in which all microbatches call the same one of segments that do the same; itself where none do.

    A tool may write a segment for each microbatch. What all microbatches have in common is known by the numbers of the
    segments that they call.
    """
    first: dict[object, int] = {}
    same: dict[int, int] = {}
    for program in plan.programs:
        for number, counts in runs_of(program).items():
            if not is_even(counts, plan.microbatches):
                segment = plan.segments[number]
                same[number] = first.setdefault((segment.device, _content(segment)), number)
    if len(first) == len(same):
        return plan
    kept = [number for number in range(len(plan.segments)) if same.get(number, number) == number]
    now = {number: at for at, number in enumerate(kept)}
    programs = (
        tuple(call._replace(segment=now[same.get(call.segment, call.segment)]) for call in program)
        for program in plan.programs
    )
    return replace(plan, segments=tuple(plan.segments[number] for number in kept), programs=tuple(programs))


def _content(segment: Segment) -> tuple[tuple[object, ...], ...]:
    """What a segment does, whatever it and its nodes are called. Attributes as they are written: 1 is not 1.0."""
    return tuple((node.op, node.inputs, node.outputs, repr(node.attrs)) for node in segment.nodes)
