"""Run two plans on the same random values and compare: the loss, and every gradient on every rank that holds it.

Two arrays agree where no element differs by more than RELATIVE times the greatest element of the single-device
array, plus ABSOLUTE times the greatest element of all gradients (what is zero but for rounding has no scale of its
own). In exact arithmetic without an irrational function both are zero.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import prod

import numpy as np

from verdict.concrete.bind import Binding, bind, itself
from verdict.concrete.execute import Rank, Run, execute
from verdict.concrete.fault import Fault, Faulty
from verdict.concrete.shrink import Small, full, shrink
from verdict.concrete.values import random_values
from verdict.graph import WEIGHT, Plan, Shape
from verdict.ops import Array

AGREE, DIFFER, FAULT, CANNOT = "agree", "differ", "fault", "cannot"
"""The plans agree; some value differs; the parallel plan cannot be run to its end; we cannot tell."""
RELATIVE, ABSOLUTE = 1e-9, 1e-13
MOST_WORK = 2_000_000_000
"""How many elements all nodes of all ranks may read and write, by default."""
FULL_WORK = 3_000_000
"""Up to so many elements, plans are run at their full shapes."""


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison. size: the greatest element of the single-device array; error: of the difference."""

    what: str
    where: str
    size: float
    error: float
    agrees: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """The outcome of one seed. shapes: reduced shapes of the single plan's weights and inputs, by name."""

    outcome: str
    rows: tuple[Row, ...]
    faults: tuple[Fault, ...]
    shapes: tuple[tuple[str, Shape, Shape], ...] = ()

    @property
    def differing(self) -> tuple[Row, ...]:
        """The rows that do not agree."""
        return tuple(row for row in self.rows if not row.agrees)


@dataclass(frozen=True, slots=True)
class Prepared:
    """Two plans at small shapes that fit together, ready to be run on any values."""

    single: Plan
    parallel: Plan
    bindings: tuple[Binding, Binding]
    small: tuple[Small, Small]


def compare(single: Plan, parallel: Plan, seed: int = 0, exact: bool = False, most_work: int = MOST_WORK) -> Comparison:
    """Run both plans on the values of `seed` and compare what they declare. Whatever fails is in the result."""
    prepared = prepare(single, parallel, most_work)
    return prepared if isinstance(prepared, Comparison) else compare_prepared(prepared, seed, exact)


def prepare(single: Plan, parallel: Plan, most_work: int = MOST_WORK) -> Prepared | Comparison:
    """Shrink both plans together where they are large; a Comparison where that already fails."""
    try:
        sides = (full(single),)
        itself_bound = itself(single)
    except Faulty as error:
        return _failed(error.fault, ours=True)
    try:
        binding = bind(single, parallel)
        small = (*sides, full(parallel))
        if work_of(single, small[0]) + work_of(parallel, small[1]) > FULL_WORK:
            small = shrink(single, parallel, binding)
        _require_small(work_of(single, small[0]) + work_of(parallel, small[1]), most_work, parallel)
    except Faulty as error:
        return _failed(error.fault, error.fault.ours)
    return Prepared(single, parallel, (itself_bound, binding), small)


def alone(plan: Plan, most_work: int = MOST_WORK) -> Small:
    """One plan at small shapes. Raises Faulty where it does not fit, or is too large."""
    small = full(plan)
    if work_of(plan, small) > FULL_WORK:
        small, _ = shrink(plan, plan, itself(plan))
    _require_small(work_of(plan, small), most_work, plan)
    return small


def _require_small(work: int, most_work: int, plan: Plan) -> None:
    if work > most_work:
        problem = f"running it moves {work:,} elements, the limit is {most_work:,}"
        raise Faulty(Fault(problem, plan.source, ours=True))


def compare_prepared(prepared: Prepared, seed: int, exact: bool = False) -> Comparison:
    """Run two prepared plans on the values of `seed` and compare what they declare."""
    single, parallel, bindings, (one, two) = prepared.single, prepared.parallel, prepared.bindings, prepared.small
    values = random_values(single, one, seed, exact)
    shapes = _shapes(single, one)
    with np.errstate(all="ignore"):
        try:
            right = execute(single, one, bindings[0], values, exact)
        except Faulty as error:
            return _failed(error.fault._replace(ours=True), ours=True)
        try:
            found = execute(parallel, two, bindings[1], values, exact)
            rows = (*_losses(single, parallel, right, found), *_gradients(prepared, right, found))
        except Faulty as error:
            return Comparison(CANNOT if error.fault.ours else FAULT, (), (error.fault,), shapes)
    if not all(np.isfinite(row.size) for row in rows):
        return Comparison(CANNOT, rows, (Fault("the single-device values overflow", single.source, True),), shapes)
    return Comparison(AGREE if all(row.agrees for row in rows) else DIFFER, rows, (), shapes)


def work_of(plan: Plan, small: Small) -> int:
    """How many elements all nodes of all ranks read and write, over all microbatches."""
    sizes = [prod(small.shape(tensor)) for tensor in range(len(plan.tensors))]
    each = [
        sum(1 + sum(sizes[t] for t in (*node.inputs, *node.outputs) if t >= 0) for node in segment.nodes)
        for segment in plan.segments
    ]
    return plan.replicas * sum(each[call.segment] for program in plan.programs for call in program)


def _failed(fault: Fault, ours: bool) -> Comparison:
    return Comparison(CANNOT if ours else FAULT, (), (fault,))


def _shapes(plan: Plan, small: Small) -> tuple[tuple[str, Shape, Shape], ...]:
    given = itself(plan).logical
    return tuple((plan.logicals[k].name, plan.logicals[k].shape, small.logicals[k]) for k in sorted(given))


def _size(array: Array) -> float:
    return float(max((abs(value) for value in array.flat), default=0)) if array.dtype == object else _greatest(array)


def _greatest(array: Array) -> float:
    return float(np.max(np.abs(array), initial=0.0))


def _row(what: str, where: str, single: Array, parallel: Array, floor: float) -> Row:
    if single.shape != parallel.shape:
        problem = f"it has shape {list(parallel.shape)} where {list(single.shape)} belongs"
        raise Faulty(Fault(problem, f"{what} {where}"))
    size, error = _size(single), _size(np.asarray(single - parallel))
    exact = single.dtype == object and all(
        isinstance(value, (int, Fraction)) for array in (single, parallel) for value in array.flat
    )
    return Row(what, where, size, error, error <= (0 if exact else RELATIVE * size + ABSOLUTE * floor))


def _losses(single: Plan, parallel: Plan, right: Run, found: Run) -> Iterator[Row]:
    """On every device that holds it, the loss summed over all columns of the batch."""
    names = {held.tensor: single.logicals[single.tensors[held.tensor].logical].name for held in single.losses}
    totals: dict[tuple[int, int], Array] = {}
    for (rank, _, tensor), value in sorted(found.losses.items(), key=lambda item: item[0]):
        key = (rank.device, tensor)
        if key in totals and totals[key].shape != value.shape:
            raise Faulty(Fault("the columns' losses differ in shape", f"the loss on device {rank.device}"))
        totals[key] = totals[key] + value if key in totals else value
    due = {tensor: array for (_, _, tensor), array in right.losses.items()}
    if due and not totals:
        raise Faulty(Fault("no rank holds a loss", "the loss"))
    met = set()
    for (device, tensor), total in totals.items():
        name = parallel.logicals[parallel.tensors[tensor].logical].name
        partner = next((k for k, other in names.items() if other == name), next(iter(due)))
        met.add(partner)
        yield _row("loss", f"on device {device}", due[partner], total, 0.0)
    for tensor in set(due) - met:
        raise Faulty(Fault(f"no rank holds {names[tensor]}", "the loss"))


def _gradients(prepared: Prepared, right: Run, found: Run) -> Iterator[Row]:
    """Every declared gradient against the region of the single-device one that its weight is of."""
    single, parallel, (_, binding), (_, small) = (
        prepared.single, prepared.parallel, prepared.bindings, prepared.small,
    )  # fmt: skip
    due = {
        single.tensors[held.weight].logical: right.gradients[Rank(0, held.device), held.tensor]
        for held in single.gradients
    }
    floor = max((_size(array) for array in due.values()), default=0.0)
    covered = {index: np.zeros(array.shape, dtype=bool) for index, array in due.items()}
    for held in parallel.gradients:
        logical = parallel.tensors[held.weight].logical
        index = binding.logical.get(logical)
        if index is None or index not in due:
            continue
        where = tuple(slice(*interval) for interval in small.regions[held.weight])
        covered[index][where] = True
        for replica in range(parallel.replicas):
            rank = Rank(replica, held.device)
            name = f"gradient of {parallel.logicals[logical].name}"
            yield _row(
                name, f"on rank {replica * parallel.devices + held.device}",
                due[index][where], found.gradients[rank, held.tensor], floor,
            )  # fmt: skip
    for index, mask in covered.items():
        if not mask.all():
            raise Faulty(Fault("no rank holds all of its gradient", f"weight {single.logicals[index].name}"))
    _require_declared(parallel, binding, due)


def _require_declared(plan: Plan, binding: Binding, due: Iterable[int]) -> None:
    """Every device that computes with a trained weight that it holds, and did not gather, declares its gradient."""
    declared = {(held.device, held.weight) for held in plan.gradients}
    trained = set(due)
    used = {
        (segment.device, tensor)
        for segment in plan.segments
        for node in segment.nodes
        for tensor in node.inputs
        if tensor >= 0 and plan.kind(tensor) == WEIGHT
    }
    used -= {(segment.device, tensor) for segment in plan.segments for node in segment.nodes for tensor in node.outputs}
    for device, tensor in sorted(used):
        logical = plan.tensors[tensor].logical
        if (device, tensor) not in declared and binding.logical.get(logical) in trained:
            raise Faulty(Fault(f"device {device} has no gradient of it", f"weight {plan.logicals[logical].name}"))
