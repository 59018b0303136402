"""Ranges that a plan states of its integers, while it is reduced: of coordinates along an axis, they shrink as it does.

Ids from 0 to 4,095 of an axis of 4,096 elements that keeps 6 are ids from 0 to 5. Of integers that are coordinates of
nothing ranges stay as they are, and so do those of large numbers, of which some may wrap around when they are added up.
"""

from collections.abc import Iterator

from verdict.graph import INPUT, Plan
from verdict.reduction.added import FAR
from verdict.reduction.coordinates import Coordinates
from verdict.reduction.scales import Scales
from verdict.reduction.visit import Axis

Stated = tuple[str, int, int | None]


def cut_ranges(plan: Plan, known: Coordinates, scales: Scales) -> None:
    """Where ranges begin and end stays a boundary of the axis."""
    for (_, low, high), axis in _along(plan, known):
        if high is not None:
            scales.cut(axis.variable, max(axis.size, high + 1), (max(low, 0), high + 1, axis.size))


def small_ranges(plan: Plan, known: Coordinates, scales: Scales) -> tuple[Stated, ...]:
    """The ranges of the reduced plan. Negative integers are none of an axis: they stay."""
    small = {}
    for (name, low, high), axis in _along(plan, known):
        if high is not None and high >= 0:
            size = max(axis.size, high + 1)
            first = scales.small(axis.variable, size, low) if low > 0 else low
            small[name] = name, first, scales.small(axis.variable, size, high + 1) - 1
    return tuple(small.get(stated[0], stated) for stated in plan.ranges)


def _along(plan: Plan, known: Coordinates) -> Iterator[tuple[Stated, Axis]]:
    """The ranges of what is coordinates along an axis, as it is given."""
    named = {each.name: number for number, each in enumerate(plan.logicals) if each.kind == INPUT}
    for stated in plan.ranges:
        axis = known.axis_of(named[stated[0]]) if stated[0] in named else None
        if axis is not None and max(abs(end) for end in stated[1:] if end is not None) < FAR:
            yield stated, axis
