"""What a plan declares, as results of its flow: the sum of these values is that region of the single-device output."""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import NamedTuple

from verdict.comparison import Fault, Faulty
from verdict.graph import ABSENT, ONCE_A_STEP, Held, Node, Plan, Region, extent, slices
from verdict.graph.lockstep import Step
from verdict.semantics import Machine, Rank, Site, region_of_column, region_of_held, region_of_share
from verdict.sweep.flow import Result

LOSS, GRADIENT, OUTPUT = "loss", "gradient", "output"
DECLARED = Site(Rank(0, 0), Step(Node("output", (), (), (), "declared outputs"), ONCE_A_STEP))
"""Where parts of what is declared are added up."""


class Missing(NamedTuple):
    """An output that nobody holds all of. kind: LOSS, GRADIENT or OUTPUT. what: it is, for people."""

    kind: str
    what: str


def results(ended: Machine[int], axes: Mapping[int, int]) -> tuple[Result, ...]:
    """All declared outputs at the end of a step, on every rank that holds one.

    axes: of outputs of no weight, the axis along which each column of the batch has rows of its own.

    Raises Faulty where a part of a sum is held by nobody.
    """
    plan = ended.plan
    found: list[Result] = []
    places = _places(plan)
    for group in _parts(plan, plan.losses):
        logical = plan.logicals[plan.tensors[group[0].tensor].logical]
        values = tuple(value for held in group for value in _columns(ended, held))
        where = f"on device {group[0].device}" if len(group) == 1 else f"on devices {_devices(group)}"
        region = slices(ended.small.regions[group[0].tensor])
        declared = _declared(places, LOSS, group)
        key = (LOSS, logical.name, logical.origin)
        found.append(Result(key, LOSS, where, _total(ended, values), region, declared))
    for kind, outputs in ((GRADIENT, plan.gradients), (OUTPUT, plan.outputs)):
        for group in _parts(plan, outputs):
            stated = _declared(places, kind, group)
            if kind == OUTPUT and group[0].weight == ABSENT:
                found.extend(_of_each_column(ended, group, stated, axes.get(group[0].tensor)))
            else:
                found.extend(_of_each_replica(ended, kind, group, stated))
    return tuple(found)


def _places(plan: Plan) -> Mapping[tuple[str, Held], tuple[int, ...]]:
    """The places in `Plan.declared` at which each output is declared."""
    kinds = (*(LOSS,) * len(plan.losses), *(GRADIENT,) * len(plan.gradients), *(OUTPUT,) * len(plan.outputs))
    found: dict[tuple[str, Held], list[int]] = defaultdict(list)
    for place, key in enumerate(zip(kinds, plan.declared, strict=True)):
        found[key].append(place)
    return {key: tuple(places) for key, places in found.items()}


def _declared(places: Mapping[tuple[str, Held], tuple[int, ...]], kind: str, group: Sequence[Held]) -> tuple[int, ...]:
    return tuple(place for held in group for place in places[kind, held])


def _parts(plan: Plan, declared: Sequence[Held]) -> Iterator[tuple[Held, ...]]:
    """The declared outputs, those that are parts of one sum together: what a device holds, and of every other part what
    the first device that holds it does. So every copy of every part is looked at.
    """
    sums: dict[tuple[int, int, Region, int], dict[int, list[Held]]] = defaultdict(lambda: defaultdict(list))
    for held in declared:
        tensor = plan.tensors[held.tensor]
        part, parts = tensor.part
        if parts == 1:
            yield (held,)
            continue
        of = plan.tensors[held.weight].logical if held.weight != ABSENT else ABSENT
        sums[tensor.logical, of, tensor.region, parts][part].append(held)
    for (logical, _, _, parts), holders in sums.items():
        missing = [part for part in range(parts) if not holders[part]]
        if missing:
            problem = f"its part {missing[0]} of {parts} is held by nobody"
            raise Faulty(Fault(problem, f"output {plan.logicals[logical].name}", ours=True))
        each = ((part, held) for part in range(parts) for held in holders[part])
        yield from dict.fromkeys(
            tuple(held if k == part else holders[k][0] for k in range(parts)) for part, held in each
        )


def _columns(ended: Machine[int], held: Held) -> Iterator[int]:
    """The loss of one device in every replica and microbatch."""
    for replica in range(ended.plan.replicas):
        rank = Rank(replica, held.device)
        for microbatch in ended.moments(rank, held.tensor):
            yield ended.final(rank, microbatch, held.tensor)


def _total(ended: Machine[int], values: Sequence[int]) -> int:
    return ended.domain.reduce(values, "sum", DECLARED) if len(values) > 1 else values[0]


def _of_each_replica(
    ended: Machine[int], kind: str, group: tuple[Held, ...], declared: tuple[int, ...]
) -> Iterator[Result]:
    """Gradients, and what becomes of weights and buffers."""
    plan, first = ended.plan, group[0]
    name, key = plan.logicals[plan.tensors[first.weight].logical].name, _key(ended, kind, first)
    what = f"gradient of {name}" if kind == GRADIENT else f"updated {name}"
    for replica in range(plan.replicas):
        region = _region(ended, first, replica)
        values = tuple(ended.final(Rank(replica, held.device), ONCE_A_STEP, held.tensor) for held in group)
        yield Result(key, what, _ranks(plan, group, replica), _total(ended, values), slices(region), declared)


def _of_each_column(
    ended: Machine[int], group: tuple[Held, ...], declared: tuple[int, ...], axis: int | None
) -> Iterator[Result]:
    """Outputs of no weight: of each microbatch of a replica, where they are not made once a step."""
    plan, first = ended.plan, group[0]
    name = plan.logicals[plan.tensors[first.tensor].logical].name
    for replica in range(plan.replicas):
        for moment in ended.moments(Rank(replica, first.device), first.tensor):
            region = region_of_column(plan, ended.small, ended.divided, first.tensor, (replica, moment), axis)
            values = tuple(ended.final(Rank(replica, held.device), moment, held.tensor) for held in group)
            where = _ranks(plan, group, replica)
            yield Result((OUTPUT, name), name, where, _total(ended, values), slices(region), declared)


def _ranks(plan: Plan, group: Sequence[Held], replica: int) -> str:
    where = ", ".join(str(replica * plan.devices + held.device) for held in group)
    return f"on rank{'s' * (len(group) > 1)} {where}"


def _region(ended: Machine[int], held: Held, replica: int) -> Region:
    """That of the weight, or of the replica's shard of it; where the shapes are others, what the tensor itself says."""
    region = region_of_held(ended.plan, ended.small, ended.divided, held, replica)
    if extent(region) == ended.small.shape(held.tensor):
        return region
    return region_of_share(ended.plan, ended.small, ended.divided, held.tensor, replica)


def _key(ended: Machine[int], kind: str, held: Held) -> tuple[Hashable, ...]:
    plan = ended.plan
    logical = plan.tensors[held.weight].logical
    if logical not in ended.binding.logical:
        raise Faulty(Fault("no tensor of the single-device plan is this one", plan.logicals[logical].name))
    return kind, ended.binding.logical[logical]


def _devices(group: Sequence[Held]) -> str:
    return ", ".join(str(held.device) for held in group)
