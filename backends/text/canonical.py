"""The canonical numbering of a plan: what reading a written plan gives back.

Logical tensors keep their order. Tensors belong to one device each: those of device 0 come first, in the order in
which the device's text mentions them; a tensor that several devices share becomes one for each of them. Segments
are ordered by device, then by first call, then as they were. Declared outputs and seeds are ordered by device.
Tensors that no device mentions come last. A seed that no device mentions goes to device 0.
"""

from collections.abc import Iterator
from dataclasses import replace

from verdict.errors import PlanFileError
from verdict.graph import ABSENT, Call, Held, Node, Plan, Segment, Storage, Tensor

FORMAT = "verdict-plan 1"


def canonical(plan: Plan) -> Plan:
    """`plan` renumbered; its format becomes FORMAT. Raises PlanFileError where indices contradict each other."""
    return numbered(plan)[0]


def numbered(plan: Plan) -> tuple[Plan, tuple[int, ...]]:
    """The canonical plan, and where each device's tensors start in it; last, where those of no device start."""
    _check(plan)
    order = [_segments_of(plan, device) for device in range(plan.devices)]
    seeds = set(plan.seeds)
    mentioned = set(_mentioned(plan, order))
    homeless = tuple(dict.fromkeys(seed for seed in plan.seeds if seed not in mentioned))
    starts: list[int] = []
    tensors: list[Tensor] = []
    segments: list[Segment] = []
    programs: list[tuple[Call, ...]] = []
    losses: list[Held] = []
    gradients: list[Held] = []
    outputs: list[Held] = []
    new_seeds: list[int] = []
    storages: list[Storage] = []
    seen: set[int] = set()
    for device in range(plan.devices):
        ids: dict[int, int] = {ABSENT: ABSENT}
        start = len(tensors)
        starts.append(start)
        for old in _mentions(plan, device, order[device]):
            if old not in ids:
                ids[old] = start + len(ids) - 1
                tensors.append(plan.tensors[old])
        for old in homeless if device == 0 else ():
            ids[old] = start + len(ids) - 1
            tensors.append(plan.tensors[old])
        seen.update(ids)
        where = {old: len(segments) + position for position, old in enumerate(order[device])}
        segments += [_segment(plan.segments[old], ids) for old in order[device]]
        programs.append(tuple(_call(call, where, ids) for call in plan.programs[device]))
        losses += [Held(device, ids[h.tensor], ids[h.weight]) for h in plan.losses if h.device == device]
        gradients += [Held(device, ids[h.tensor], ids[h.weight]) for h in plan.gradients if h.device == device]
        outputs += [Held(device, ids[h.tensor], ids[h.weight]) for h in plan.outputs if h.device == device]
        new_seeds += [ids[old] for old in ids if old in seeds]
        storages += [s._replace(tensors=tuple(ids[t] for t in s.tensors)) for s in plan.storages if s.device == device]
    starts.append(len(tensors))
    tensors += [tensor for old, tensor in enumerate(plan.tensors) if old not in seen]
    found = replace(
        plan,
        format=FORMAT,
        tensors=tuple(tensors),
        segments=tuple(segments),
        programs=tuple(programs),
        losses=tuple(losses),
        gradients=tuple(gradients),
        seeds=tuple(new_seeds),
        outputs=tuple(outputs),
        storages=tuple(storages),
    )
    return found, tuple(starts)


def _check(plan: Plan) -> None:
    if len(plan.programs) != plan.devices:
        raise PlanFileError(plan.source, f"{len(plan.programs)} programs for {plan.devices} devices")
    for device, program in enumerate(plan.programs):
        for call in program:
            if not 0 <= call.segment < len(plan.segments):
                raise PlanFileError(plan.source, f"device {device} calls segment {call.segment}, which does not exist")
            if plan.segments[call.segment].device != device:
                raise PlanFileError(plan.source, f"device {device} calls segment {call.segment} of another device")
    for segment in plan.segments:
        if not 0 <= segment.device < plan.devices:
            raise PlanFileError(
                plan.source, f"segment {segment.name} is of device {segment.device}, which does not exist"
            )
    for held in plan.declared:
        if not 0 <= held.device < plan.devices:
            raise PlanFileError(plan.source, f"an output is held by device {held.device}, which does not exist")


def _segments_of(plan: Plan, device: int) -> tuple[int, ...]:
    called = dict.fromkeys(call.segment for call in plan.programs[device])
    idle = [at for at, segment in enumerate(plan.segments) if segment.device == device and at not in called]
    return (*called, *idle)


def _mentioned(plan: Plan, order: list[tuple[int, ...]]) -> Iterator[int]:
    for device in range(plan.devices):
        yield from _mentions(plan, device, order[device])


def _mentions(plan: Plan, device: int, order: tuple[int, ...]) -> Iterator[int]:
    """The tensors of a device in the order of its text; ABSENT and repetitions included."""
    for at in order:
        for node in plan.segments[at].nodes:
            yield from node.outputs
            yield from node.inputs
    for call in plan.programs[device]:
        yield from (tensor for tensor, _ in call.crossed)
    for held in plan.declared:
        if held.device == device:
            yield held.tensor
            yield held.weight
    for storage in plan.storages:
        if storage.device == device:
            yield from storage.tensors


def _segment(segment: Segment, ids: dict[int, int]) -> Segment:
    at = ids.__getitem__
    return Segment(
        segment.name,
        segment.device,
        tuple(
            Node(node.op, tuple(map(at, node.inputs)), tuple(map(at, node.outputs)), node.attrs, node.name)
            for node in segment.nodes
        ),
    )


def _call(call: Call, where: dict[int, int], ids: dict[int, int]) -> Call:
    return Call(where[call.segment], call.microbatch, tuple((ids[tensor], mb) for tensor, mb in call.crossed))
