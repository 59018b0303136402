"""What two plans declare, compared: losses, gradients on every rank that holds them, and further outputs.

A part i of n of a declared output is compared as a sum: what a device holds, and of every other part what the first
device that holds it does. So every copy of every part is looked at.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import chain
from typing import NamedTuple

import numpy as np

from verdict.comparison import Fault, Faulty, Row
from verdict.concrete.execute import Run
from verdict.graph import ABSENT, ONCE_A_STEP, Held, Plan, shard_axes, slices
from verdict.ops import Array
from verdict.semantics import (
    Binding,
    Rank,
    Small,
    column_axes,
    named,
    partners,
    region_of_column,
    region_of_held,
    require_batch_axis,
    undeclared,
)

RELATIVE, ABSOLUTE = 1e-9, 1e-13
"""What is rounding, of the greatest element of the tensor, and of all gradients and outputs, or of one, which is about
what plans are given; exact values are equal.
"""


class Sides(NamedTuple):
    """Two plans, how the parallel one is bound to the single-device one, its small shapes, and what both computed."""

    single: Plan
    parallel: Plan
    binding: Binding
    small: Small
    right: Run
    found: Run


def compared(sides: Sides) -> tuple[tuple[Row, ...], tuple[Fault, ...]]:
    """Everything that is declared, compared, and what of it is missing or does not fit."""
    floor = max((1.0, *map(_size, (*sides.right.gradients.values(), *sides.right.outputs.values()))))
    due = _due_gradients(sides)
    updates = _due_updates(sides)
    parts = (
        _losses(sides),
        _of_weights(sides, "gradient", sides.parallel.gradients, _gradients_of(sides), due, floor),
        _of_weights(sides, "output", _updates(sides.parallel), _updates_of(sides), updates, floor),
        _named(sides, floor),
    )
    rows: list[Row] = []
    faults: list[Fault] = []
    for part in parts:
        try:
            rows.extend(part)
        except Faulty as error:
            faults.append(error.fault)
    return tuple(rows), (*faults, *_undeclared(sides, due, updates))


def _size(array: Array) -> float:
    return float(max((abs(value) for value in array.flat), default=0)) if array.dtype == object else _greatest(array)


def _greatest(array: Array) -> float:
    return float(np.max(np.abs(array), initial=0.0))


def _row(what: str, where: str, single: Array, parallel: Array, floor: float) -> Row:
    single, parallel = np.asarray(single), np.asarray(parallel)
    if single.shape != parallel.shape:
        problem = f"it has shape {list(parallel.shape)} where {list(single.shape)} belongs"
        raise Faulty(Fault(problem, f"{what} {where}"))
    size, error = _size(single), _size(np.asarray(single - parallel))
    exact = single.dtype == object and all(
        isinstance(value, (int, Fraction)) for array in (single, parallel) for value in array.flat
    )
    return Row(what, where, size, error, error <= (0 if exact else RELATIVE * size + ABSOLUTE * floor))


def _name(plan: Plan, tensor: int) -> str:
    return plan.logicals[plan.tensors[tensor].logical].name


def _added(plan: Plan, held: Sequence[Held], values: Mapping[tuple[int, int], Array]) -> Iterator[tuple[Held, Array]]:
    """Every declared output with the sum that it is a part of. `values`: by device and tensor."""
    first: dict[object, dict[int, Array]] = defaultdict(dict)
    for output in held:
        share = plan.tensors[output.tensor]
        first[share.logical, share.region, share.part[1]].setdefault(
            share.part[0], values[output.device, output.tensor]
        )
    for output in held:
        share = plan.tensors[output.tensor]
        mine, parts = share.part
        known = first[share.logical, share.region, parts]
        total = values[output.device, output.tensor]
        for part in range(parts):
            if part not in known:
                problem = f"no rank holds part {part} of {parts}"
                raise Faulty(Fault(problem, f"output {_name(plan, output.tensor)}"))
            if part != mine and total.shape == known[part].shape:
                total = np.asarray(total + known[part])
        yield output, total


def _losses(sides: Sides) -> Iterator[Row]:
    """On every device that holds it, the loss summed over all columns of the batch."""
    single, parallel = sides.single, sides.parallel
    losses = {held.tensor: single.logicals[single.tensors[held.tensor].logical] for held in single.losses}
    totals: dict[tuple[int, int], Array] = {}
    for (rank, _, tensor), value in sorted(sides.found.losses.items(), key=lambda item: item[0]):
        key = (rank.device, tensor)
        if key in totals and totals[key].shape != value.shape:
            raise Faulty(Fault("the columns' losses differ in shape", f"the loss on device {rank.device}"))
        totals[key] = totals[key] + value if key in totals else value
    due = {tensor: array for (_, _, tensor), array in sides.right.losses.items()}
    if due and not totals:
        raise Faulty(Fault("no rank holds a loss", "the loss"))
    met = set()
    for held, total in _added(parallel, parallel.losses, totals) if due else ():
        own = parallel.logicals[parallel.tensors[held.tensor].logical]
        of_origin = (k for k, loss in losses.items() if loss.origin == own.origin is not None)
        of_name = (k for k, loss in losses.items() if loss.name == own.name)
        partner = next(chain(of_origin, of_name, due))
        met.add(partner)
        yield _row("loss", f"on device {held.device}", due[partner], total, 1.0)
    for tensor in set(due) - met:
        raise Faulty(Fault(f"no rank holds {losses[tensor].name}", "the loss"))


Due = Mapping[int, Array]
"""The single-device plan's results, by the logical weight or buffer that they belong to."""
Columns = Mapping[tuple[int, int], Mapping[tuple[int, int], Array]]
"""What is held, by replica and microbatch, then by device and tensor."""


def _due_gradients(sides: Sides) -> Due:
    plan, found = sides.single, sides.right.gradients
    return {plan.tensors[h.weight].logical: found[Rank(0, h.device), h.tensor] for h in plan.gradients}


def _updates(plan: Plan) -> tuple[Held, ...]:
    return tuple(held for held in plan.outputs if held.weight != ABSENT)


def _due_updates(sides: Sides) -> Due:
    plan = sides.single
    found = {tensor: value for (_, _, tensor), value in sides.right.outputs.items()}
    return {plan.tensors[held.weight].logical: found[held.tensor] for held in _updates(plan)}


def _gradients_of(sides: Sides) -> Columns:
    found: dict[tuple[int, int], dict[tuple[int, int], Array]] = defaultdict(dict)
    for (rank, tensor), value in sides.found.gradients.items():
        found[rank.replica, ONCE_A_STEP][rank.device, tensor] = value
    return found


def _updates_of(sides: Sides) -> Columns:
    found: dict[tuple[int, int], dict[tuple[int, int], Array]] = defaultdict(dict)
    for (rank, microbatch, tensor), value in sides.found.outputs.items():
        found[rank.replica, microbatch][rank.device, tensor] = value
    return found


def _of_weights(
    sides: Sides,
    what: str,
    declared: Sequence[Held],
    columns: Columns,
    due: Due,
    floor: float,
) -> Iterator[Row]:
    """Everything declared of a weight or buffer against the region of the single-device one that its holder has."""
    parallel, divided = sides.parallel, shard_axes(sides.parallel)
    covered = {index: np.zeros(array.shape, dtype=bool) for index, array in due.items()}
    for (replica, microbatch), values in columns.items():
        here = [held for held in declared if (held.device, held.tensor) in values]
        for held, value in _added(parallel, here, values):
            index = sides.binding.logical.get(parallel.tensors[held.weight].logical)
            name = f"{what} of {_name(parallel, held.weight)}"
            if index is None or index not in due:
                if what == "output":
                    raise Faulty(Fault("the single-device plan declares nothing to compare with", name, ours=True))
                continue
            due_region = region_of_held(parallel, sides.small, divided, held, replica)
            where = slices(due_region)
            covered[index][where] = True
            rank = f"on rank {replica * parallel.devices + held.device}"
            place = rank if microbatch == ONCE_A_STEP else f"{rank}, microbatch {microbatch}"
            yield _row(name, place, due[index][where], value, floor)
    for index, mask in covered.items():
        if not mask.all():
            raise Faulty(Fault(f"no rank holds all of its {what}", f"weight {sides.single.logicals[index].name}"))


def _named(sides: Sides, floor: float) -> Iterator[Row]:
    """Outputs that are of no weight against the region of the single-device output of their name, of
    which a column has its own rows, or all where the shapes are the same."""
    single, parallel = sides.single, sides.parallel
    due = {tensor: value for (_, _, tensor), value in sides.right.outputs.items()}
    partner, divided, axes = partners(single, parallel), shard_axes(parallel), column_axes(single, parallel)
    covered = {held.tensor: np.zeros(due[held.tensor].shape, dtype=bool) for held in named(single)}
    for (replica, microbatch), values in _updates_of(sides).items():
        here = [held for held in named(parallel) if (held.device, held.tensor) in values]
        for held, value in _added(parallel, here, values):
            name = f"output {_name(parallel, held.tensor)}"
            if held.tensor not in partner:
                raise Faulty(Fault("the single-device plan declares no output of this name", name, ours=True))
            tensor = partner[held.tensor]
            logical, axis = parallel.tensors[held.tensor].logical, axes.get(held.tensor)
            whole, column = single.logicals[single.tensors[tensor].logical], parallel.logicals[logical]
            if axis is None and logical not in divided and whole.shape != column.shape:
                require_batch_axis(whole, column, parallel.columns)
            where = slices(region_of_column(parallel, sides.small, divided, held.tensor, (replica, microbatch), axis))
            covered[tensor][where] = True
            rank = f"on rank {replica * parallel.devices + held.device}, microbatch {microbatch}"
            yield _row(name, rank, np.asarray(due[tensor][where]), value, floor)
    for tensor, mask in covered.items():
        if not mask.all():
            raise Faulty(Fault("no rank holds all of it", f"output {_name(single, tensor)}"))


def _undeclared(sides: Sides, gradients: Iterable[int], updates: Iterable[int]) -> Iterator[Fault]:
    """Devices that compute with a trained weight that they hold, and did not gather, and do not declare what becomes
    of it: its updated value where the single-device plan declares it, else its gradient.
    """
    plan, logical, updated = sides.parallel, sides.binding.logical, frozenset(updates)
    for missing in undeclared(plan, sides.small, logical, updated.union(gradients), updated):
        what = "does not say its updated value" if missing.updated else "has no gradient of it"
        yield Fault(f"device {missing.device} {what}", f"weight {plan.logicals[missing.logical].name}")
