"""What the tensors of two plans hold on random numbers: whence guesses of what they must be."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from verdict.comparison import Faulty
from verdict.graph import Plan
from verdict.inputs import domains
from verdict.ops import Array
from verdict.reduction import Reduced, shrink
from verdict.semantics import bind, column_axes, full, itself
from verdict.sweep.larger import operations_of
from verdict.sweep.seen import certain, seen
from verdict.sweep.unroll import elements_of, steps_of, unrolled

MOST_STEPS, MOST_OPERATIONS, MOST_MADE = 20_000, 200_000_000, 10_000_000
"""The most steps, multiplications and additions, and elements that both plans make: they take a second or two."""
GROWTH = (2, 0)
"""By how many elements more than the fewest each axis is longer where own shapes are too much, the first that is
little: axes of one length are soon taken for each other.
"""
SEEDS = 2
"""On how many seeds: a number that depends on what is given, as how many tokens count, is another on the second."""


class Held(NamedTuple):
    """Of each seed, the array of each tensor, at own shapes or at reduced ones. single: by tensor. parallel: by device
    and tensor.

    agree: whether what both declare is the same, but for what is a property of floats.
    """

    single: Sequence[Mapping[int, Array]]
    parallel: Sequence[Mapping[tuple[int, int], Array]]
    agree: bool


def held(single: Plan, parallel: Plan, seed: int) -> Held | None:
    """What tensors hold, of a parallel plan with one column; None where that takes long, or cannot be known."""
    if parallel.columns > 1 or steps_of(parallel) > MOST_STEPS:
        return None
    try:
        binding = bind(single, parallel)
        own = Reduced(single, parallel, binding, (full(single), full(parallel)))
        each = chain([own], (shrink(single, parallel, binding, more) for more in GROWTH))
        reduced = next(filter(_is_little, each), None)
        if reduced is None:
            return None
        plans, small = (reduced.single, reduced.parallel), reduced.small
        given, axes = small[0].logicals, column_axes(single, parallel)
        one, its = unrolled(plans[0], small[0], itself(plans[0]), given)
        other, their = unrolled(plans[1], small[1], reduced.binding, given, axes)
        found = seen((one, other), reduced, range(seed, seed + SEEDS), domains(plans[0], small[0]))
        found = certain((one, other), found, plans)
    except Faulty:
        return None
    return Held(
        [{tensor: array for (_, tensor), array in _made(its, values).items()} for values in found.values[0]],
        [_made(their, values) for values in found.values[1]],
        not found.compared.different,
    )


def _is_little(reduced: Reduced) -> bool:
    """Whether both plans are soon run at their small shapes."""
    plans = reduced.single, reduced.parallel
    made = sum(elements_of(plan, small) for plan, small in zip(plans, reduced.small, strict=True))
    return made <= MOST_MADE and operations_of(reduced) <= MOST_OPERATIONS


def _made(points: Mapping[tuple[int, int], int], values: Sequence[Array | None]) -> dict[tuple[int, int], Array]:
    """The arrays of those tensors that are made: an output that nobody asks for is not."""
    return {point: array for point, value in points.items() if (array := values[value]) is not None}
