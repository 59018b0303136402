"""Which logical tensors of two plans are the same one, and how replicas and microbatches divide the batch."""

from collections.abc import Mapping
from typing import NamedTuple

from verdict.comparison import Fault, Faulty
from verdict.graph import ABSENT, BUFFER, GIVEN, INPUT, Held, Logical, Plan, Shape, batch_axis, shard_axes, times


class Binding(NamedTuple):
    """logical: logical tensor -> that of the single-device plan. batch: single input -> (batch axis, columns).

    Of a tensor that replicas divide, the single-device one has the shape of all shards together.
    """

    logical: Mapping[int, int]
    batch: Mapping[int, tuple[int, int]]


def itself(plan: Plan) -> Binding:
    """The binding of a plan to itself."""
    return Binding({k: k for k, logical in enumerate(plan.logicals) if logical.kind in GIVEN}, {})


def bind(single: Plan, parallel: Plan) -> Binding:
    """The binding of `parallel` to `single`, by origin, then by name. Raises Faulty where the batch does not fit."""
    if single.ranks != 1 or single.columns != 1:
        raise Faulty(Fault("the single-device plan has more than one rank or microbatch", single.source, ours=True))
    by_origin = {(t.kind, t.origin): k for k, t in enumerate(single.logicals) if t.origin is not None}
    by_name = {(t.kind, t.name): k for k, t in enumerate(single.logicals)}
    logical: dict[int, int] = {}
    batch: dict[int, tuple[int, int]] = {}
    divided = shard_axes(parallel)
    for index, tensor in enumerate(parallel.logicals):
        if tensor.kind not in GIVEN:
            continue
        shape = times(tensor.shape, divided[index], parallel.replicas) if index in divided else tensor.shape
        hints = (by_origin.get((tensor.kind, tensor.origin)), by_name.get((tensor.kind, tensor.name)))
        partner = next((k for k in hints if k is not None and _fits(single.logicals[k], shape)), None)
        if partner is None:
            continue
        logical[index] = partner
        if tensor.kind == INPUT:
            axis = require_batch_axis(single.logicals[partner], tensor, parallel.columns)
            if axis is not None:
                batch[partner] = (axis, parallel.columns)
    return Binding(logical, batch)


def with_buffers(binding: Binding, single: Plan, parallel: Plan) -> Binding:
    """The binding with the buffers of equal name that only one of the plans' later versions has."""
    names = {logical.name: k for k, logical in enumerate(single.logicals) if logical.kind == BUFFER}
    more = {
        k: names[logical.name]
        for k, logical in enumerate(parallel.logicals)
        if logical.kind == BUFFER and k not in binding.logical and logical.name in names
    }
    return Binding({**binding.logical, **more}, binding.batch)


def partners(single: Plan, parallel: Plan) -> dict[int, int]:
    """For every declared output that is of no weight, its tensor, that of the single-device output it is a share of."""
    due = [(held.tensor, single.logicals[single.tensors[held.tensor].logical]) for held in named(single)]
    found = {}
    for held in named(parallel):
        logical = parallel.logicals[parallel.tensors[held.tensor].logical]
        hints = (
            *(tensor for tensor, other in due if logical.origin is not None and other.origin == logical.origin),
            *(tensor for tensor, other in due if other.name == logical.name),
        )
        if hints:
            found[held.tensor] = hints[0]
    return found


def column_axes(single: Plan, parallel: Plan) -> dict[int, int]:
    """Of the declared outputs of no weight of which each column of the batch has rows of its own, the axis of these."""
    divided, found = shard_axes(parallel), {}
    for tensor, other in partners(single, parallel).items():
        logical = parallel.tensors[tensor].logical
        whole, column = single.logicals[single.tensors[other].logical], parallel.logicals[logical]
        axis = None if logical in divided else batch_axis(whole.shape, column.shape, parallel.columns)
        if axis is not None:
            found[tensor] = axis
    return found


def named(plan: Plan) -> tuple[Held, ...]:
    """The declared outputs that are of no weight and no buffer."""
    return tuple(held for held in plan.outputs if held.weight == ABSENT)


def _fits(single: Logical, shape: Shape) -> bool:
    return len(single.shape) == len(shape) if single.kind == INPUT else single.shape == shape


def require_batch_axis(single: Logical, column: Logical, columns: int) -> int | None:
    """The axis along which a column holds one of `columns` equal shares; None where it holds all. Raises Faulty."""
    axis = batch_axis(single.shape, column.shape, columns)
    if axis is None and not (columns == 1 and single.shape == column.shape):
        problem = f"{columns} columns of shape {list(column.shape)} do not make {list(single.shape)}"
        raise Faulty(Fault(problem, column.name))
    return axis
