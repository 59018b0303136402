"""Placements: the region of a single-device tensor that a rank is given, or declares something of."""

from collections.abc import Mapping

from verdict.graph import Held, Plan, Region, piece_of, shard
from verdict.semantics.small import Small


def region_of_share(plan: Plan, small: Small, divided: Mapping[int, int], tensor: int, replica: int) -> Region:
    """The region of the whole that a tensor is of on one replica. divided: as `shard_axes` says."""
    axis = divided.get(plan.tensors[tensor].logical)
    region = small.regions[tensor]
    return region if axis is None else shard(region, axis, replica, plan.replicas)


def region_of_column(
    plan: Plan, small: Small, divided: Mapping[int, int], tensor: int, column: tuple[int, int], axis: int | None
) -> Region:  # fmt: skip
    """The region of the whole that an output of no weight is of in a replica and microbatch (ONCE_A_STEP: the first).

    axis: along which columns of the batch have rows of their own, None where each has all.
    """
    replica, microbatch = column
    region = region_of_share(plan, small, divided, tensor, replica)
    if axis is None:
        return region
    size = small.logicals[plan.tensors[tensor].logical][axis]
    begin = size * (replica * plan.microbatches + max(microbatch, 0))
    start, stop = region[axis]
    return (*region[:axis], (begin + start, begin + stop), *region[axis + 1 :])


def region_of_held(plan: Plan, small: Small, divided: Mapping[int, int], held: Held, replica: int) -> Region:
    """The region of a weight or buffer of which `replica` declares something: what it has, or its shard of that."""
    region = region_of_share(plan, small, divided, held.weight, replica)
    axis = divided.get(plan.tensors[held.tensor].logical)
    if axis is None or plan.tensors[held.weight].logical in divided:
        return region
    return piece_of(region, axis, replica, plan.replicas)
