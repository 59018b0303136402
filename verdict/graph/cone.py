"""The cone of declared outputs: what of a plan they are computed by, as a plan that declares nothing else."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from verdict.graph.events import Made, events_of
from verdict.graph.plan import ABSENT, Call, Held, Node, Plan


def of_losses(plan: Plan) -> Plan:
    """The plan of one column with only those of its nodes that its losses depend on, without gradients and outputs, and
    of its tensors those that these nodes name: they have other numbers.
    """
    return _cone(plan, plan.losses, ())


def of_gradients(plan: Plan, gradients: Sequence[Held]) -> Plan:
    """The same of some of its gradients, without losses."""
    return _cone(plan, (), tuple(gradients))


def again(plan: Plan) -> Plan:
    """The cone of a plan that declares losses and gradients alone."""
    return _cone(plan, plan.losses, plan.gradients)


def _cone(plan: Plan, losses: tuple[Held, ...], gradients: tuple[Held, ...]) -> Plan:
    events = events_of(plan, 0)
    makers: dict[Made, list[int]] = {}
    for number, event in enumerate(events):
        for device, node in event.nodes:
            for tensor in node.outputs:
                makers.setdefault((device, tensor), []).append(number)
    needed: set[int] = set()
    declared = (*losses, *gradients)
    stack = [number for held in declared for number in makers.get((held.device, held.tensor), ())]
    while stack:
        number = stack.pop()
        if number in needed:
            continue
        needed.add(number)
        read = ((device, t) for device, node in events[number].nodes for t in node.inputs if t != ABSENT)
        stack.extend(other for point in read for other in makers.get(point, ()))
    kept: set[tuple[int, Node]] = {taken for number in needed for taken in events[number].nodes}
    numbers = _numbers(plan, kept, declared)
    segments = tuple(
        segment._replace(
            nodes=tuple(_renumbered(node, numbers) for node in segment.nodes if (segment.device, node) in kept)
        )
        for segment in plan.segments
    )
    return replace(
        plan,
        tensors=tuple(plan.tensors[tensor] for tensor in numbers if tensor != ABSENT),
        segments=segments,
        programs=tuple(tuple(_crossing(call, numbers) for call in program) for program in plan.programs),
        losses=tuple(_held(held, numbers) for held in losses),
        gradients=tuple(_held(held, numbers) for held in gradients),
        outputs=(),
        seeds=tuple(numbers[tensor] for tensor in plan.seeds),
        storages=tuple(one._replace(tensors=tuple(numbers[t] for t in one.tensors)) for one in plan.storages),
        lines=(),
    )


def _held(held: Held, numbers: Mapping[int, int]) -> Held:
    return held._replace(tensor=numbers[held.tensor], weight=numbers[held.weight])


def _numbers(plan: Plan, kept: Iterable[tuple[int, Node]], declared: Iterable[Held]) -> dict[int, int]:
    """The new number of each tensor that the cone names, in their order."""
    named = {tensor for _, node in kept for tensor in (*node.inputs, *node.outputs)}
    named |= {tensor for held in declared for tensor in (held.tensor, held.weight)}
    named |= {*plan.seeds} | {t for one in plan.storages for t in one.tensors}
    return {ABSENT: ABSENT} | {tensor: number for number, tensor in enumerate(sorted(named - {ABSENT}))}


def _renumbered(node: Node, numbers: Mapping[int, int]) -> Node:
    inputs, outputs = (tuple([numbers[tensor] for tensor in tensors]) for tensors in (node.inputs, node.outputs))
    return Node(node.op, inputs, outputs, node.attrs, node.name)


def _crossing(call: Call, numbers: Mapping[int, int]) -> Call:
    """The call, of the tensors that it takes from another microbatch with those that are read."""
    if not call.crossed:
        return call
    return call._replace(crossed=tuple((numbers[tensor], m) for tensor, m in call.crossed if tensor in numbers))
