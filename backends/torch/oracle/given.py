"""What two plans are given: which tensors of them are the same one, and random values for all of these.

Tensors are the same by kind and origin, then by kind and name, where their shapes fit; an input is cut along the axis
that the parallel plan states, or along the only one in which its columns are smaller.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch

from verdict.backends.torch.oracle.integers import Integers, drawn
from verdict.backends.torch.oracle.machine import Given
from verdict.backends.torch.oracle.nodes import COMPLEX, is_whole, type_of
from verdict.backends.torch.oracle.thresholds import mixed
from verdict.comparison import Fault, Faulty
from verdict.graph import ABSENT, BUFFER, INPUT, WEIGHT, Held, Logical, Plan, shard, shard_axes, times

BOUND = {INPUT: 1.0, WEIGHT: 0.5, BUFFER: 1.0}
"""Numbers of each kind lie between minus and plus this; the elements of a weight of one dimension, too."""
Values = Mapping[int, Any]
"""A tensor for every logical tensor of the single-device plan that is given."""


class Partners(NamedTuple):
    """logical: of the parallel plan -> of the single-device plan. cut: a parallel input -> the axis of its columns."""

    logical: Mapping[int, int]
    cut: Mapping[int, int]


def is_given(logical: Logical) -> bool:
    """Whether a tensor stands there before the step begins."""
    return logical.kind in BOUND


def partners(single: Plan, parallel: Plan) -> Partners:
    """Which tensors of the two plans are the same one. Raises Faulty where the batch does not fit."""
    if single.devices != 1 or single.replicas != 1 or single.microbatches != 1:
        raise Faulty(Fault("the single-device plan has more than one rank or microbatch", single.source, ours=True))
    divided = shard_axes(parallel)
    logical, cut = {}, {}
    for index, tensor in enumerate(parallel.logicals):
        if not is_given(tensor):
            continue
        shape = times(tensor.shape, divided[index], parallel.replicas) if index in divided else tensor.shape
        alike = [
            k
            for same in (_one_origin, _one_name)
            for k, other in enumerate(single.logicals)
            if other.kind == tensor.kind and same(other, tensor)
            and (other.shape == shape or (tensor.kind == INPUT and len(other.shape) == len(shape)))
        ]  # fmt: skip
        if not alike:
            continue
        logical[index] = alike[0]
        if tensor.kind == INPUT and parallel.replicas * parallel.microbatches > 1:
            cut[index] = columns_axis(single.logicals[alike[0]].shape, tensor, parallel)
        elif tensor.kind == INPUT and single.logicals[alike[0]].shape != shape:
            raise Faulty(Fault(f"its shape is {list(shape)}, the single-device plan's is another", tensor.name))
    return Partners(logical, cut)


def _one_origin(one: Logical, other: Logical) -> bool:
    return other.origin is not None and one.origin == other.origin


def _one_name(one: Logical, other: Logical) -> bool:
    return one.name == other.name


def columns_axis(whole: tuple[int, ...], column: Logical, parallel: Plan) -> int:
    """The axis along which `column` is one of equal pieces of something of shape `whole`."""
    columns = parallel.replicas * parallel.microbatches
    fitting = [
        axis
        for axis in range(min(len(whole), len(column.shape)))
        if tuple(whole) == times(column.shape, axis, columns) and columns > 1
    ]
    stated = dict(parallel.batch_axes).get(column.name)
    if not fitting or (stated is not None and stated not in fitting):
        raise Faulty(Fault(f"{columns} columns of shape {list(column.shape)} do not make {list(whole)}", column.name))
    return fitting[0] if stated is None else stated


def values(
    single: Plan, integers: Mapping[int, Integers], seed: int, scale: float, matter: Sequence[float] = ()
) -> dict[int, Any]:
    """Random values of one seed. integers: what integers each integer tensor may hold. scale: of all numbers.

    matter: numbers some of which real inputs are to hold, too.
    """
    random = torch.Generator().manual_seed(seed)
    found = {}
    for index, logical in enumerate(single.logicals):
        if not is_given(logical):
            continue
        kind, bound = type_of(logical.dtype), BOUND[logical.kind] * scale
        if not is_whole(logical.dtype):
            numbers = torch.rand(logical.shape, dtype=torch.float64, generator=random)
            found[index] = (2 * numbers - 1) * bound
            if matter and logical.kind == INPUT and logical.dtype not in COMPLEX:
                found[index] = mixed(found[index], matter, random, seed)
            if logical.dtype in COMPLEX:
                other = torch.rand(logical.shape, dtype=torch.float64, generator=random)
                found[index] = torch.complex(found[index], (2 * other - 1) * bound)
        else:
            found[index] = drawn(integers[index], logical.shape, random, seed).to(kind)
    return found


def of_single(single: Plan, whole: Values) -> Given:
    """What the single-device plan is given."""
    everything = Partners({k: k for k, logical in enumerate(single.logicals) if is_given(logical)}, {})
    return of_parallel(single, everything, whole)


def of_parallel(plan: Plan, known: Partners, whole: Values) -> Given:
    """What a plan is given: its region, of its column, of its shard."""
    divided = shard_axes(plan)
    slices: dict[tuple[int, int, int], Any] = {}

    def given(tensor: int, replica: int, microbatch: int) -> Any:
        logical = plan.tensors[tensor].logical
        name, kind = plan.logicals[logical].name, plan.logicals[logical].kind
        if logical not in known.logical:
            raise Faulty(Fault("no tensor of the single-device plan is this one", f"{kind} {name}"))
        key = (tensor, replica, microbatch)
        if key in slices:
            return slices[key]
        value = whole[known.logical[logical]]
        if logical in known.cut:
            axis, size = known.cut[logical], plan.logicals[logical].shape[known.cut[logical]]
            value = value.narrow(axis, size * (replica * plan.microbatches + microbatch), size)
        region = plan.tensors[tensor].region
        if logical in divided and kind != INPUT:
            region = shard(region, divided[logical], replica, plan.replicas)
        if any(stop > size or start < 0 for (start, stop), size in zip(region, value.shape, strict=True)):
            raise Faulty(Fault(f"the region {list(region)} is not inside of it", f"{kind} {name}"))
        slices[key] = value[tuple(slice(*interval) for interval in region)]
        return slices[key]

    return given


def free_outputs(plan: Plan) -> tuple[Held, ...]:
    """The declared outputs that are of no weight and no buffer."""
    return tuple(held for held in plan.outputs if held.weight == ABSENT)
