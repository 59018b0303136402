"""Masks that are one in floats and not in real numbers: minus infinity on one side, -1e30 on the other, say.

The exponential of such a number is zero in floats, and that of no real number is. Two plans that agree on numbers, and
do not any more where both write another number in its place, are equal by its size alone. No formula says that, so
that nothing is looked for.
"""

from collections.abc import Iterator, Set
from math import isfinite, log10

from verdict.comparison import Faulty
from verdict.graph import ABSENT
from verdict.ops.names import FILLS, named
from verdict.ops.signs import compares, orders
from verdict.sweep.compare import compare
from verdict.sweep.flow import CANNOT, Flow, Step
from verdict.sweep.temper import again
from verdict.sweep.values import Values

LEAST = -746.0
"""The exponential of this is below half the least float: a mask by what is no greater is zero behind a softmax."""
MILD = -2.0
"""What is written in its place, less a tenth of its digits: below most of the other numbers, and its exponential is no
rounding; of two numbers each has its own.
"""
SEEDS = 2
"""On how many seeds: a difference is none of chance, as nothing is refuted by it."""


def fading(flows: tuple[Flow, Flow], values: tuple[Values, Values]) -> tuple[str, str] | None:
    """Where the parallel plan masks by a number on whose size it rests that both are equal, and why that is no proof.

    None where nothing rests on it, or something is chosen by what it was written into: a comparison with it is the same
    for all great numbers.
    """
    found = tuple(dict(_faded(flow)) for flow in flows)
    if not any(found) or any(_is_chosen(flow, steps.keys()) for flow, steps in zip(flows, found, strict=True)):
        return None
    try:
        one, other = (
            [again(flow, seed, steps.keys(), _milder) for seed in seeds[:SEEDS]]
            for flow, seeds, steps in zip(flows, values, found, strict=True)
        )
        different = compare(*flows, one, other).different
    except (*CANNOT, Faulty):
        return None
    if not different:
        return None
    side = 1 if found[1] else 0
    number, value = next(iter(found[side].items()))
    here, there = ("parallel", "single-device") if side else ("single-device", "parallel")
    why = (
        f"the {here} plan writes {value:g} here, whose exponential is zero in floats and not over the real numbers, "
        f"and the {there} plan does not as this one does: with another number in its place {different[0].result.what} "
        "differs; where both mask by the same number, or by minus infinity, they can be compared"
    )
    return flows[side].steps[number].place.name, why


def _faded(flow: Flow) -> Iterator[tuple[int, float]]:
    """The steps of a flow that write numbers, among real ones, whose exponentials are zero in floats; with these."""
    for number, step in enumerate(flow.steps):
        value = _written(step)
        if value is not None and not flow.reals.isdisjoint(step.outputs):
            yield number, value


def _written(step: Step) -> float | None:
    each = (value if isinstance(value, tuple) and len(value) == 1 else (value,) for value in step.attrs.values())
    numbers = (value for values in each for value in values if isinstance(value, int | float))
    faded = (float(value) for value in numbers if isfinite(value) and value <= LEAST)
    return next(faded, None) if named(step.op) in FILLS | {"constant"} else None


def _milder(step: Step) -> Step:
    """The step, with another number in the place of that."""
    value = _written(step) or LEAST
    mild = MILD - log10(-value) / 10
    written = {value: mild, (value,): (mild,)}
    return step._replace(attrs={name: written.get(each, each) for name, each in step.attrs.items()})


def _is_chosen(flow: Flow, steps: Set[int]) -> bool:
    """Whether something that such a number was written into is compared or put in order, or made an integer."""
    behind = set[int]()
    for number, step in enumerate(flow.steps):
        reads = not behind.isdisjoint(step.inputs)
        if reads and (compares(step.op) or orders(step.op)):
            return True
        if reads or number in steps:
            behind.update(value for value in step.outputs if value != ABSENT)
    return False
