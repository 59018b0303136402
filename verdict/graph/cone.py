"""The cone of the losses: what of a plan they are computed by, as a plan that declares nothing else."""

from dataclasses import replace

from verdict.graph.events import Made, events_of
from verdict.graph.plan import ABSENT, Node, Plan


def of_losses(plan: Plan) -> Plan:
    """The plan of one column with only those of its nodes that its losses depend on, without gradients and outputs."""
    events = events_of(plan, 0)
    makers: dict[Made, list[int]] = {}
    for number, event in enumerate(events):
        for device, node in event.nodes:
            for tensor in node.outputs:
                makers.setdefault((device, tensor), []).append(number)
    needed: set[int] = set()
    stack = [number for held in plan.losses for number in makers.get((held.device, held.tensor), ())]
    while stack:
        number = stack.pop()
        if number in needed:
            continue
        needed.add(number)
        read = ((device, t) for device, node in events[number].nodes for t in node.inputs if t != ABSENT)
        stack.extend(other for point in read for other in makers.get(point, ()))
    kept: set[tuple[int, Node]] = {taken for number in needed for taken in events[number].nodes}
    segments = tuple(
        segment._replace(nodes=tuple(node for node in segment.nodes if (segment.device, node) in kept))
        for segment in plan.segments
    )
    return replace(plan, segments=segments, gradients=(), outputs=(), lines=())
