"""What two plans declare, compared on every rank: losses, gradients, updated weights and states, and further outputs.

Every copy is looked at. Of what is declared as part i of n, the other parts are taken from the first device that holds
them. A loss is compared as the sum over all columns.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import torch

from verdict.backends.torch.oracle.given import Partners, columns_axis, free_outputs
from verdict.backends.torch.oracle.machine import Ran, Rank
from verdict.comparison import Fault, Faulty, Row
from verdict.graph import ABSENT, ONCE_A_STEP, WEIGHT, Held, Plan, Region, piece_of, shard, shard_axes

RELATIVE, ABSOLUTE = 1e-10, 1e-13
"""Of the greatest element of the single-device tensor, and of the greatest of all gradients and outputs."""


class Sides(NamedTuple):
    """Two plans, which of their tensors are the same, and what both computed."""

    single: Plan
    parallel: Plan
    known: Partners
    right: Ran
    found: Ran


def rows(sides: Sides) -> tuple[Row, ...]:
    """All that is declared, compared. Raises Faulty where something is missing or does not fit."""
    plan = sides.single
    losses = {held.tensor for held in plan.losses}
    floor = max((_greatest(v) for (_, _, tensor), v in sides.right.items() if tensor not in losses), default=0.0)
    gradients = {_weight(plan, held): _of(sides.right, held) for held in plan.gradients}
    new = {_weight(plan, held): _of(sides.right, held) for held in plan.outputs if held.weight != ABSENT}
    updates = tuple(held for held in sides.parallel.outputs if held.weight != ABSENT)
    made = (
        *_losses(sides),
        *_of_weights(sides, "gradient", sides.parallel.gradients, gradients, floor),
        *_of_weights(sides, "output", updates, new, floor),
        *_others(sides, floor),
    )
    _require_declared(sides, set(gradients), set(new))
    return made


def name_of(plan: Plan, tensor: int) -> str:
    """The name of the logical tensor that a tensor is a share of."""
    return plan.logicals[plan.tensors[tensor].logical].name


def _of(ran: Ran, held: Held) -> Any:
    """What the only rank of the single-device plan holds."""
    rank = Rank(0, held.device)
    return ran[rank, ONCE_A_STEP, held.tensor] if (rank, ONCE_A_STEP, held.tensor) in ran else ran[rank, 0, held.tensor]


def _weight(plan: Plan, held: Held) -> int:
    return plan.tensors[held.weight].logical


def _greatest(value: Any) -> float:
    return float(value.abs().max()) if value.numel() else 0.0


def _row(what: str, where: str, right: Any, found: Any, floor: float) -> Row:
    if right.shape != found.shape:
        problem = f"it has shape {list(found.shape)} where {list(right.shape)} belongs"
        raise Faulty(Fault(problem, f"{what} {where}"))
    if right.is_complex() != found.is_complex():
        raise Faulty(Fault("one is complex, the other is not", f"{what} {where}"))
    one, other = (x if x.is_complex() else x.to(torch.float64) for x in (right, found))
    same = one == other
    error = _greatest(torch.where(same, torch.zeros_like(one), one - other))
    size = _greatest(one)
    return Row(what, where, size, error, error <= RELATIVE * size + ABSOLUTE * floor)


def _added(plan: Plan, held: Sequence[Held], values: Mapping[Held, Any]) -> Iterator[tuple[Held, Any]]:
    """Every output with the sum that it is a part of. values: on one replica, of one microbatch."""
    parts: dict[object, dict[int, Any]] = defaultdict(dict)
    for output in held:
        tensor = plan.tensors[output.tensor]
        parts[tensor.logical, tensor.region, tensor.part[1]].setdefault(tensor.part[0], values[output])
    for output in held:
        tensor = plan.tensors[output.tensor]
        mine, count = tensor.part
        there = parts[tensor.logical, tensor.region, count]
        missing = [part for part in range(count) if part not in there]
        if missing:
            what = f"output {name_of(plan, output.tensor)}"
            raise Faulty(Fault(f"no rank holds part {missing[0]} of {count}", what))
        if any(part.shape != values[output].shape for part in there.values()):
            raise Faulty(Fault("its parts differ in shape", f"output {name_of(plan, output.tensor)}"))
        yield output, values[output] + sum(value for part, value in there.items() if part != mine)


def _columns(plan: Plan, ran: Ran, held: Sequence[Held]) -> dict[tuple[int, int], dict[Held, Any]]:
    """What is held of outputs, by replica and microbatch."""
    found: dict[tuple[int, int], dict[Held, Any]] = defaultdict(dict)
    by_place = defaultdict(list)
    for output in held:
        by_place[output.device, output.tensor].append(output)
    for (rank, microbatch, tensor), value in ran.items():
        for output in by_place.get((rank.device, tensor), ()):
            found[rank.replica, microbatch][output] = value
    return found


def _losses(sides: Sides) -> Iterator[Row]:
    """On every device that holds it, the loss added over all columns."""
    plan, single = sides.parallel, sides.single
    due = {held.tensor: _of(sides.right, held) for held in single.losses}
    if not due:
        return
    totals: dict[Held, Any] = {}
    for (replica, microbatch), values in sorted(_columns(plan, sides.found, plan.losses).items()):
        for held, value in values.items():
            if held in totals and totals[held].shape != value.shape:
                raise Faulty(Fault(f"it has another shape in column {replica}, {microbatch}", "the loss"))
            totals[held] = totals[held] + value if held in totals else value
    met = set()
    for held, total in _added(plan, list(totals), totals):
        named = [tensor for tensor in due if name_of(single, tensor) == name_of(plan, held.tensor)]
        partner = named[0] if named else next(iter(due))
        met.add(partner)
        yield _row("loss", f"on device {held.device}", due[partner], total, 0.0)
    if set(due) - met:
        raise Faulty(Fault("no rank holds it", f"loss {name_of(single, min(set(due) - met))}"))


def _of_weights(
    sides: Sides, what: str, declared: Sequence[Held], due: Mapping[int, Any], floor: float
) -> Iterator[Row]:
    """What is declared of weights and buffers, against the region of the whole that its holder has."""
    plan = sides.parallel
    seen = {weight: torch.zeros(value.shape, dtype=torch.bool) for weight, value in due.items()}
    for (replica, microbatch), values in _columns(plan, sides.found, declared).items():
        for held, value in _added(plan, [held for held in declared if held in values], values):
            weight = sides.known.logical.get(_weight(plan, held))
            if weight is None or weight not in due:
                if what == "output":
                    raise Faulty(Fault("the single-device plan declares nothing to compare with", what, ours=True))
                continue
            box = tuple(slice(*interval) for interval in _region_of(plan, held, replica))
            seen[weight][box] = True
            where = f"on rank {replica * plan.devices + held.device}"
            where += "" if microbatch == ONCE_A_STEP else f", microbatch {microbatch}"
            yield _row(f"{what} of {name_of(plan, held.weight)}", where, due[weight][box], value, floor)
    for weight, mask in seen.items():
        if not mask.all():
            raise Faulty(Fault(f"no rank holds all of its {what}", f"weight {sides.single.logicals[weight].name}"))


def _region_of(plan: Plan, held: Held, replica: int) -> Region:
    """The region of a weight or buffer of which a replica declares something: what it has of it, or a shard of that."""
    divided = shard_axes(plan)
    share = plan.tensors[held.weight]
    if share.logical in divided:
        return shard(share.region, divided[share.logical], replica, plan.replicas)
    axis = divided.get(plan.tensors[held.tensor].logical)
    return share.region if axis is None else piece_of(share.region, axis, replica, plan.replicas)


def _others(sides: Sides, floor: float) -> Iterator[Row]:
    """Outputs of no weight, against the region and the column of the single-device plan's of that origin or name."""
    single, plan, divided = sides.single, sides.parallel, shard_axes(sides.parallel)
    due = {held.tensor: _of(sides.right, held) for held in free_outputs(single)}
    seen = {tensor: torch.zeros(value.shape, dtype=torch.bool) for tensor, value in due.items()}
    declared = free_outputs(plan)
    for (replica, microbatch), values in _columns(plan, sides.found, declared).items():
        for held, value in _added(plan, [held for held in declared if held in values], values):
            logical = plan.tensors[held.tensor].logical
            tensor = _partner(single, list(due), plan, logical)
            region = plan.tensors[held.tensor].region
            whole = due[tensor]
            if logical in divided:
                region = shard(region, divided[logical], replica, plan.replicas)
            elif plan.replicas * plan.microbatches > 1 and tuple(whole.shape) != plan.logicals[logical].shape:
                axis = columns_axis(tuple(whole.shape), plan.logicals[logical], plan)
                size, at = plan.logicals[logical].shape[axis], replica * plan.microbatches + max(microbatch, 0)
                region = tuple(
                    (a + size * at, b + size * at) if k == axis else (a, b) for k, (a, b) in enumerate(region)
                )
            box = tuple(slice(*interval) for interval in region)
            seen[tensor][box] = True
            where = f"on rank {replica * plan.devices + held.device}, microbatch {microbatch}"
            yield _row(f"output {plan.logicals[logical].name}", where, whole[box], value, floor)
    for tensor, mask in seen.items():
        if not mask.all():
            raise Faulty(Fault("no rank holds all of it", f"output {name_of(single, tensor)}"))


def _partner(single: Plan, due: Sequence[int], plan: Plan, logical: int) -> int:
    origin, name = plan.logicals[logical].origin, plan.logicals[logical].name
    of = {tensor: single.logicals[single.tensors[tensor].logical] for tensor in due}
    for tensor in due:
        if origin is not None and of[tensor].origin == origin:
            return tensor
    for tensor in due:
        if of[tensor].name == name:
            return tensor
    raise Faulty(Fault("the single-device plan declares no output of this name", f"output {name}", ours=True))


def _require_declared(sides: Sides, gradients: set[int], new: set[int]) -> None:
    """A device that computes with its share of a weight says its updated value, or else its gradient."""
    plan = sides.parallel
    nodes = [(segment.device, node) for segment in plan.segments for node in segment.nodes]
    made = {(device, tensor) for device, node in nodes for tensor in node.outputs}
    used = {(device, t) for device, node in nodes for t in node.inputs if t != ABSENT and plan.kind(t) == WEIGHT}
    divided = shard_axes(plan)
    for device, tensor in sorted(used - made):
        share = plan.tensors[tensor]
        weight = sides.known.logical.get(share.logical)
        for due, held in ((new, plan.outputs), (gradients, plan.declared)):
            of_it = [
                h for h in held
                if h.device == device and h.weight != ABSENT and _weight(plan, h) == share.logical
                and not (h in plan.outputs and _by_replica(plan, divided, h))
            ]  # fmt: skip
            regions = [plan.tensors[h.weight].region for h in of_it]
            if weight in due and not any(_within(share.region, region) for region in regions):
                what = "its updated value" if due is new else "a gradient of it"
                raise Faulty(Fault(f"device {device} does not say {what}", f"weight {name_of(plan, tensor)}"))


def _by_replica(plan: Plan, divided: Mapping[int, int], held: Held) -> bool:
    """Whether replicas declare shards of what each of them has whole."""
    return plan.tensors[held.tensor].logical in divided and _weight(plan, held) not in divided


def _within(inner: Region, outer: Region) -> bool:
    return all(a <= b and c <= d for (a, d), (b, c) in zip(outer, inner, strict=True))
