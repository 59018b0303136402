"""Trained weights that a device computes with, and of which it declares too little: neither gradient nor update."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from verdict.graph import ABSENT, WEIGHT, Held, Plan, shard_axes, slices, times
from verdict.semantics import Small
from verdict.sweep.flow import Flow
from verdict.sweep.results import GRADIENT, OUTPUT


def undeclared(single: Flow, parallel: Plan, small: Small, logical: Mapping[int, int]) -> Iterator[str]:
    """What is missing, one line for each weight, of those that the single-device plan declares something of.

    A device answers for the elements of a weight that it is given and reads; those that it gathers are others'. Where
    the single-device plan declares the updated weight, so must the device; else its update or its gradient.
    """
    trained = {result.key[1] for result in single.results if result.key[0] in (GRADIENT, OUTPUT)}
    updated = {result.key[1] for result in single.results if result.key[0] == OUTPUT}
    new, told = _declared(parallel, small, parallel.outputs), _declared(parallel, small, parallel.declared)
    lacking: dict[str, list[int]] = {}
    for device, tensor in sorted(_read(parallel)):
        index = parallel.tensors[tensor].logical
        if logical.get(index) not in trained:
            continue
        covered = (new if logical[index] in updated else told).get((device, index))
        region = slices(small.regions[tensor])
        if covered is None or not covered[region].all():
            devices = lacking.setdefault(parallel.logicals[index].name, [])
            devices.extend([device] if device not in devices else [])
    for name, devices in lacking.items():
        yield f"gradient of {name} on device{'s' * (len(devices) > 1)} {', '.join(map(str, devices))}"


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
