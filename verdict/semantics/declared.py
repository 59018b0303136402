"""Weights that a device computes with, and of which it declares too little: neither gradient nor update."""

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from verdict.graph import ABSENT, WEIGHT, Held, Plan, shard_axes, slices, times
from verdict.semantics.small import Small


class Undeclared(NamedTuple):
    """A device that does not say what becomes of a logical weight. updated: whether its updated value is due."""

    device: int
    logical: int
    updated: bool


def undeclared(
    plan: Plan, small: Small, logical: Mapping[int, int], trained: Container[object], updated: Container[object]
) -> Iterator[Undeclared]:
    """What is missing of the weights that the single-device plan declares something of, each once for each device.

    A device answers for the elements of a weight that it is given and reads; those that it gathers are others'. Where
    the single-device plan declares the updated weight, so must the device; else its update or its gradient.
    logical: as of a `Binding`. trained, updated: logical weights of the single-device plan with a gradient or an
    update, and with an update.
    """
    new, told = _declared(plan, small, plan.outputs), _declared(plan, small, plan.declared)
    found: dict[Undeclared, None] = {}
    for device, tensor in sorted(_read(plan)):
        index = plan.tensors[tensor].logical
        partner = logical.get(index)
        if partner is None or partner not in trained:
            continue
        covered = (new if partner in updated else told).get((device, index))
        if covered is None or not covered[slices(small.regions[tensor])].all():
            found[Undeclared(device, index, partner in updated)] = None
    yield from found


def _declared(plan: Plan, small: Small, held: Sequence[Held]) -> dict[tuple[int, int], npt.NDArray[np.bool_]]:
    """For each device and logical weight, the elements of which it declares the gradient or the update.

    A gradient that the replicas divide they declare together. An update of a weight that all of them have whole is
    declared by a replica that has all of it.
    """
    divided, updates = shard_axes(plan), frozenset(plan.outputs)
    found: dict[tuple[int, int], npt.NDArray[np.bool_]] = {}
    for output in held:
        if output.weight == ABSENT:
            continue
        index, axis = plan.tensors[output.weight].logical, divided.get(plan.tensors[output.tensor].logical)
        shape, together = small.shape(output.tensor), axis is not None and index not in divided
        if axis is not None and together:
            shape = times(shape, axis, plan.replicas)
        same = small.shape(output.weight) == shape
        if together and (not same or output in updates):
            continue
        mask = found.setdefault((output.device, index), np.zeros(small.logicals[index], dtype=bool))
        region = small.regions[output.weight if same else output.tensor]
        mask[slices(region)] = True
    return found


def _read(plan: Plan) -> set[tuple[int, int]]:
    """Devices and the weights that their nodes read and do not make."""
    nodes = [(segment.device, node) for segment in plan.segments for node in segment.nodes]
    made = {(device, tensor) for device, node in nodes for tensor in node.outputs}
    read = {
        (device, tensor)
        for device, node in nodes
        for tensor in node.inputs
        if tensor != ABSENT and plan.kind(tensor) == WEIGHT
    }
    return read - made
