"""How large a plan may be. What lies beyond is refused before it costs memory or time."""

from collections.abc import Iterator
from math import prod

from verdict.graph.misfit import CALL, DEVICES, LOGICAL, MICROBATCHES, NODE, REPLICAS, TENSOR, At, Misfit, name_of
from verdict.graph.plan import ACTIVATION, GRADIENT, INPUT, Plan
from verdict.graph.region import farthest

MOST_DEVICES = 1 << 16
"""Plan devices."""
MOST_RANKS = 1 << 20
"""Devices of all replicas."""
MOST_MICROBATCHES = 1 << 16
"""Microbatches of one step, in each replica."""
MOST_DIMENSIONS = 32
"""Dimensions of one logical tensor; the arrays of numpy, on which operators are run, have at most 64."""
MOST_ELEMENTS = 1 << 53
"""Of one logical tensor, in all replicas and microbatches."""
MOST_STEPS = 100_000_000
"""Nodes that the devices of one replica run in a step, each counted for every microbatch; a call is one, too."""
MOST_INSTANCES = 20_000_000
"""Tensors, and nodes, that all devices of one plan have together."""
GREATEST = 1 << 63
"""Of the whole numbers that attributes hold, the least that is too great in size."""

_HELP = "this is beyond the limits of the format"


def beyond(plan: Plan) -> Iterator[Misfit]:
    """What in a plan, whose indices all name something, goes beyond the limits."""
    for at, what, count, most in (
        (At(DEVICES), "plan devices", plan.devices, MOST_DEVICES),
        (At(REPLICAS), "ranks in all replicas", plan.ranks, MOST_RANKS),
        (At(MICROBATCHES), "microbatches", plan.microbatches, MOST_MICROBATCHES),
        (At(DEVICES), "tensors", len(plan.tensors), MOST_INSTANCES),
        (At(DEVICES), "nodes", plan.size, MOST_INSTANCES),
    ):
        if count > most:
            yield Misfit(at, f"it has {count} {what}, at most {most} are allowed", _HELP)
    yield from _tensors(plan)
    yield from _shares(plan)
    yield from _numbers(plan)
    yield from _steps(plan)


def _tensors(plan: Plan) -> Iterator[Misfit]:
    for number, logical in enumerate(plan.logicals):
        if len(logical.shape) > MOST_DIMENSIONS:
            problem = f"{logical.name} has {len(logical.shape)} dimensions, at most {MOST_DIMENSIONS} are allowed"
            yield Misfit(At(LOGICAL, number), problem, _HELP)
        if min(logical.shape, default=0) < 0:
            yield Misfit(At(LOGICAL, number), f"{logical.name} has a negative size: {list(logical.shape)}")
        copies = plan.columns if logical.kind in (INPUT, ACTIVATION, GRADIENT) else plan.replicas
        if prod(size or 1 for size in logical.shape) * copies > MOST_ELEMENTS:
            problem = f"{logical.name} has more than {MOST_ELEMENTS} elements in all replicas and microbatches"
            yield Misfit(At(LOGICAL, number), problem, _HELP)


def _shares(plan: Plan) -> Iterator[Misfit]:
    for number, tensor in enumerate(plan.tensors):
        if farthest(tensor.region) > MOST_ELEMENTS:
            problem = f"a region of {name_of(plan, number)} begins or ends beyond {MOST_ELEMENTS}"
            yield Misfit(At(TENSOR, number), problem, _HELP)
        if tensor.part[1] > MOST_ELEMENTS:
            problem = f"{name_of(plan, number)} is a part of more than {MOST_ELEMENTS}"
            yield Misfit(At(TENSOR, number), problem, _HELP)


def _numbers(plan: Plan) -> Iterator[Misfit]:
    for number, place in plan.looks.values():
        segment = plan.segments[number]
        node = segment.nodes[place]
        for name, value in node.attrs:
            if _too_great(value):
                problem = f"{node.op} {node.name} on rank {segment.device}: a number of {name} is 2**63 or more"
                yield Misfit(At(NODE, number, place), problem, _HELP)


def _too_great(value: object) -> bool:
    if isinstance(value, tuple):
        return any(map(_too_great, value))
    return type(value) is int and not -GREATEST < value < GREATEST


def _steps(plan: Plan) -> Iterator[Misfit]:
    steps = 0
    for device, program in enumerate(plan.programs):
        for place, call in enumerate(program):
            steps += 1 + len(plan.segments[call.segment].nodes) + len(call.crossed)
            if steps > MOST_STEPS:
                problem = f"its devices run more than {MOST_STEPS} nodes in a step"
                yield Misfit(At(CALL, device, place), problem, _HELP)
                return

