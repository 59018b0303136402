"""Run two plans on the same random values and compare all that they declare, on every rank that holds it.

Two arrays agree where no element differs by more than ends.RELATIVE times the greatest element of the single-device
array, plus ends.ABSOLUTE times the greatest of all gradients and outputs (what is zero but for rounding has no scale
of its own). Where the values of the single-device plan overflow, as of a row that a mask of random integers covers as a
whole, fewer of these are different; or, as under the square root of a state of an optimizer, buffers are given without
their signs, then all numbers. In exact arithmetic without an irrational function both tolerances are zero.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import TypeVar

import numpy as np

from verdict.comparison import AGREE, CANNOT, DIFFER, FAULT, Comparison, Fault, Faulty, Row
from verdict.concrete.ends import Sides, compared
from verdict.concrete.execute import Run, execute
from verdict.concrete.shaken import steady
from verdict.graph import BUFFER, INPUT, WEIGHT, Plan, Shape, without_effects
from verdict.inputs import USUAL, Domain, Scale, defined, domains, marks, random_values, thresholds, with_usual_rows
from verdict.ops import Array
from verdict.ops.shaken import MOST_SHAKEN, moved
from verdict.reduction import shrink, sizes_in_constants
from verdict.semantics import Binding, Small, at, bind, full, itself

MOST_WORK = 2_000_000_000
"""How many elements all nodes of all ranks may read and write, by default."""
FULL_WORK = 3_000_000
"""Up to so many elements, plans are run at their full shapes."""

Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class Prepared:
    """Two plans at small shapes that fit together, ready to be run on any values."""

    single: Plan
    parallel: Plan
    bindings: tuple[Binding, Binding]
    small: tuple[Small, Small]

    @property
    def shapes(self) -> tuple[tuple[str, Shape, Shape], ...]:
        """What is given by name, with its own shape and that at which it is given."""
        plan, small = self.single, self.small[0]
        given = sorted(itself(plan).logical)
        return tuple((plan.logicals[k].name, plan.logicals[k].shape, small.logicals[k]) for k in given)


def compare(single: Plan, parallel: Plan, seed: int = 0, exact: bool = False, most_work: int = MOST_WORK) -> Comparison:
    """Run both plans on the values of `seed` and compare what they declare. Whatever fails is in the result."""
    prepared = prepare(single, parallel, most_work)
    return prepared if isinstance(prepared, Comparison) else compare_prepared(prepared, seed, exact)


def prepare(
    single: Plan, parallel: Plan, most_work: int = MOST_WORK, full_work: int = FULL_WORK, sized: bool = False
) -> Prepared | Comparison:
    """Shrink both plans together where they are large; a Comparison where that already fails. Effects are left out.

    full_work: up to so many elements that all nodes read and write they keep their shapes. sized: whether axes keep
    their sizes that are in constants of one plan alone.
    """
    single, parallel = without_effects(single), without_effects(parallel)
    try:
        sides = (full(single),)
        itself_bound = itself(single)
    except Faulty as error:
        return _failed(error.fault, ours=True)
    try:
        binding = bind(single, parallel)
        small = (*sides, full(parallel))
        if work_of(single, small[0]) + work_of(parallel, small[1]) > full_work:
            whole = frozenset(sizes_in_constants(single, parallel).values() if sized else ())
            reduced = shrink(single, parallel, binding, whole=whole)
            single, parallel, binding, small, _ = reduced
            itself_bound = itself(single)
        _require_small(work_of(single, small[0]) + work_of(parallel, small[1]), most_work, parallel)
    except Faulty as error:
        return _failed(error.fault, error.fault.ours)
    return Prepared(single, parallel, (itself_bound, binding), small)


def has_sizes_in_constants(single: Plan, parallel: Plan) -> bool:
    """Whether numbers at reduced shapes may tell plans apart that agree at full ones."""
    return bool(sizes_in_constants(single, parallel))


def alone(plan: Plan, most_work: int = MOST_WORK) -> tuple[Plan, Small]:
    """One plan at small shapes. Raises Faulty where it does not fit, or is too large."""
    small = full(plan)
    if work_of(plan, small) > FULL_WORK:
        reduced = shrink(plan, plan, itself(plan))
        plan, small = reduced.single, reduced.small[0]
    _require_small(work_of(plan, small), most_work, plan)
    return plan, small


def _require_small(work: int, most_work: int, plan: Plan) -> None:
    if work > most_work:
        problem = f"running it moves {work:,} elements, the limit is {most_work:,}"
        raise Faulty(Fault(problem, plan.source, ours=True))


def compare_prepared(
    prepared: Prepared, seed: int, exact: bool = False, usual: bool = False, scale: Scale = USUAL
) -> Comparison:
    """Run two prepared plans on the values of `seed` and compare what they declare.

    usual: whether integers that are looked up are rows of their tables, where the plan states no range for them. scale:
    of the numbers; of loud ones, what is beyond floats on either side is not compared. Where some are zero, what the
    single-device plan makes no numbers of is not, nor anything where a loss of it is none (`losses-are-numbers`).
    """
    single, parallel, bindings, (one, two) = prepared.single, prepared.parallel, prepared.bindings, prepared.small
    integers, named = domains(single, one), () if exact or seed % 2 else thresholds(one, two)
    near = marks(one, two)
    drawn = random_values(single, one, seed, exact, near, integers=integers, named=named, scale=scale)
    drawn = with_usual_rows(drawn, integers) if usual else drawn
    shapes = prepared.shapes
    with np.errstate(all="ignore"):
        try:
            run = partial(execute, single, one, bindings[0], exact=exact)
            values, right = _numbered(single, run, drawn, {} if scale.is_loud or scale.end else integers)
        except Faulty as error:
            return _failed(error.fault._replace(ours=True), ours=True)
        try:
            found = execute(parallel, two, bindings[1], values, exact)
            if scale.is_loud and not finite(found):
                return Comparison(CANNOT, (), (Fault("the parallel values overflow", parallel.source, True),), shapes)
            rows, faults = compared(Sides(single, parallel, bindings[1], two, right, found))
            if not exact and not all(row.agrees for row in rows) and _work(prepared) <= MOST_SHAKEN:
                rows = steady(rows, _noise(prepared, values, right, found))
        except Faulty as error:
            return Comparison(CANNOT if error.fault.ours else FAULT, (), (error.fault,), shapes)
        except OverflowError:
            return Comparison(CANNOT, (), (Fault("its integers grow beyond floats", parallel.source, True),), shapes)
    if faults:
        return Comparison(CANNOT if all(fault.ours for fault in faults) else FAULT, rows, faults, shapes)
    told = not scale.is_odd or _finite(right.losses.values())
    numbers = tuple(row for row in rows if np.isfinite(row.size)) if told else ()
    if scale.is_odd and not all(row.agrees for row in numbers):
        return Comparison(DIFFER, numbers, (), shapes)
    if len(numbers) < len(rows):
        return Comparison(CANNOT, rows, (Fault("the single-device values overflow", single.source, True),), shapes)
    return Comparison(AGREE if all(row.agrees for row in rows) else DIFFER, rows, (), shapes)


def _numbered(
    single: Plan, run: Callable[[Mapping[int, Array]], Run], values: Mapping[int, Array], integers: Mapping[int, Domain]
) -> tuple[Mapping[int, Array], Run]:
    """What is given, and what the single-device plan makes of it: of what makes it overflow, others are tried.

    integers: the tensors of which fewer different ones may be tried.
    """
    drawn, right = values, run(values)
    for kinds in ((BUFFER,), (BUFFER, INPUT, WEIGHT)):
        if not finite(right) and any(single.logicals[k].kind in kinds for k in values):
            values = {k: _unsigned(v) if single.logicals[k].kind in kinds else v for k, v in values.items()}
            right = run(values)
    other = None if finite(right) else defined(drawn, integers, lambda tried: finite(run(tried)))
    return (values, right) if other is None else (other, run(other))


def _noise(prepared: Prepared, values: Mapping[int, Array], right: Run, found: Run) -> tuple[Row, ...]:
    """Of all that is declared, by how much both sides together move where what operators make is off by far more than
    rounding, as errors.
    """
    plans = zip((prepared.single, prepared.parallel), prepared.small, prepared.bindings, strict=True)
    one, two = (execute(plan, small, binding, values, shaken=True) for plan, small, binding in plans)
    away = _away(right, one, 1.0), _away(found, two, -1.0)
    return compared(Sides(prepared.single, prepared.parallel, prepared.bindings[1], prepared.small[1], *away))[0]


def _away(run: Run, other: Run, sign: float) -> Run:
    """By how much everything is another one in the other run, times `sign`."""

    def of(here: Mapping[Key, Array], there: Mapping[Key, Array]) -> dict[Key, Array]:
        return {key: sign * moved(array, there[key]) for key, array in here.items()}

    return Run(of(run.losses, other.losses), of(run.gradients, other.gradients), of(run.outputs, other.outputs))


def _unsigned(values: Array) -> Array:
    """Numbers without their signs; integers as they are."""
    return values if values.dtype.kind in "ib" else np.abs(values)


def finite(run: Run) -> bool:
    """Whether all that a run declares is a number, and none beyond floats."""
    return _finite((*run.losses.values(), *run.gradients.values(), *run.outputs.values()))


def _finite(arrays: Iterable[Array]) -> bool:
    try:
        return all(bool(np.isfinite(array.astype(np.float64)).all()) for array in arrays)
    except OverflowError:
        return False


def _work(prepared: Prepared) -> int:
    """How many elements both plans read and write."""
    one, two = prepared.small
    return work_of(prepared.single, one) + work_of(prepared.parallel, two)


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


def smaller(single: Plan, parallel: Plan) -> tuple[Plan, Plan]:
    """Both plans at small shapes that fit together, for engines that know no operators' shapes. Raises Faulty."""
    single, parallel = without_effects(single), without_effects(parallel)
    reduced = shrink(single, parallel, bind(single, parallel))
    return at(reduced.single, reduced.small[0]), at(reduced.parallel, reduced.small[1])


def smaller_alone(plan: Plan) -> Plan:
    """One plan at small shapes. Raises Faulty."""
    plan = without_effects(plan)
    reduced = shrink(plan, plan, itself(plan))
    return at(reduced.single, reduced.small[0])


def work_at(plan: Plan) -> int:
    """How many elements all nodes of all ranks read and write at the plan's own shapes."""
    shapes = tuple(tensor.region for tensor in plan.tensors)
    return work_of(plan, Small(shapes, tuple(logical.shape for logical in plan.logicals), {}))
