"""Values from which guesses are made, with some constants of both plans made moderate: masks, and limits not reached.

A mask of -1e30 swallows whatever is added to it, and exp makes zero of it: a sum over some pieces of a sequence then
has the values of the sum over all of them, and is another number by formula, as is a maximum without the mask. With
constants as others, of either sign, such values are apart. What is cut off at 7 is not cut off where all numbers are
small: with a limit amid the numbers that are held against it, it is apart from what was not cut. Guesses are claims,
whatever they are made from; nothing is compared or refuted on these values.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence, Set
from functools import partial
from math import copysign, isfinite, log10
from typing import Any

import numpy as np

from verdict.graph import ABSENT
from verdict.ops import Array
from verdict.ops.signs import limits
from verdict.sweep.flow import CANNOT, Flow, Step, apply
from verdict.sweep.values import Values

GREAT = 1e8
"""Finite constants from here on are masks."""
TIMES = (1, -1, -8)
"""What moderate constants are multiplied by on one seed after the other: beside other values, or above them."""
INNER = 0.25
"""Beyond a limit that none of the numbers reaches, so many of them are brought instead."""

Limits = Mapping[float, float]
"""Moderate limits for those that are not reached."""


def tempered(flows: tuple[Flow, Flow], values: tuple[Values, Values]) -> tuple[Values, Values]:
    """The values of both flows, of each seed, with moderate constants; as they are where a flow cannot be run so."""
    known = _limits(flows, values)
    chosen = tuple(
        frozenset(k for k, step in enumerate(flow.steps) if _is_great(step.attrs) or _named(step, known))
        for flow in flows
    )
    if not any(chosen):
        return values
    try:
        one, other = (
            [again(flow, seed, steps, partial(_milder, TIMES[k % len(TIMES)], known)) for k, seed in enumerate(seeds)]
            for flow, seeds, steps in zip(flows, values, chosen, strict=True)
        )
    except CANNOT:
        return values
    return one, other


def _limits(flows: tuple[Flow, Flow], values: tuple[Values, Values]) -> Limits:
    """For each limit that lies on one side of all that is held against it, in both flows, a number amid that. None
    where whole numbers are held against it, as ids against the rows of a table that a rank has.
    """
    one, other = (_held(flow, seeds) for flow, seeds in zip(flows, values, strict=True))
    found = {}
    for limit in one.keys() & other.keys():
        numbers = np.concatenate((one[limit], other[limit]))
        numbers = numbers[np.isfinite(numbers)]
        if not np.all(numbers == np.rint(numbers)) and (numbers.max() < limit or numbers.min() > limit):
            found[limit] = float(np.quantile(numbers, INNER if numbers.min() > limit else 1 - INNER))
    return found


def _held(flow: Flow, seeds: Values) -> dict[float, Array]:
    """The numbers that are held against each limit of a flow, on all seeds."""
    held = defaultdict[float, list[Array]](list)
    for step in flow.steps:
        arrays = [array for seed in seeds if step.inputs and (array := seed[step.inputs[0]]) is not None]
        for limit in set(limits(step.op, step.attrs).values()):
            held[limit].extend(array.ravel() for array in arrays)
    return {limit: np.concatenate(arrays) for limit, arrays in held.items() if arrays}


def _named(step: Step, moderate: Limits) -> dict[str, float]:
    """The attributes of a step that are limits which are made moderate, and what they are made."""
    return {name: moderate[limit] for name, limit in limits(step.op, step.attrs).items() if limit in moderate}


def _is_great(value: Any) -> bool:
    if isinstance(value, tuple | Mapping):
        return any(map(_is_great, value.values() if isinstance(value, Mapping) else value))
    return isinstance(value, float) and isfinite(value) and abs(value) >= GREAT


def _moderate(value: Any, times: int) -> Any:
    if isinstance(value, tuple):
        return tuple(_moderate(each, times) for each in value)
    return times * copysign(1 + log10(abs(value)) / 10, value) if _is_great(value) else value


def _milder(times: int, moderate: Limits, step: Step) -> Step:
    """A step with moderate attributes."""
    attrs = {name: _moderate(each, times) for name, each in step.attrs.items()}
    return step._replace(attrs={**attrs, **_named(step, moderate)})


def again(
    flow: Flow, values: Sequence[Array | None], chosen: Set[int], changed: Callable[[Step], Step]
) -> list[Array | None]:
    """The values of one seed, with some steps as they are changed; what does not come from these stays."""
    found, other = list(values), set[int]()
    with np.errstate(all="ignore"):
        for number, own in enumerate(flow.steps):
            if number not in chosen and other.isdisjoint(own.inputs):
                continue
            reads = [array for value in own.inputs if (array := found[value]) is not None]
            made = apply(changed(own) if number in chosen else own, reads)
            for value, output in zip(own.outputs, made, strict=False):
                if value != ABSENT and output is not None:
                    found[value] = np.asarray(output, dtype=np.float64)
                    other.add(value)
    return found
