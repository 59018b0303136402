"""Values from which guesses are made, with the greatest constants of both plans made moderate.

A mask of -1e30 swallows whatever is added to it, and exp makes zero of it: a sum over some pieces of a sequence then
has the values of the sum over all of them, and is another number by formula, as is a maximum without the mask. With
constants as others, of either sign, such values are apart. Guesses are claims, whatever they are made from; nothing is
compared or refuted on these values.
"""

from collections.abc import Mapping, Sequence, Set
from math import copysign, isfinite, log10
from typing import Any

import numpy as np

from verdict.graph import ABSENT
from verdict.ops import Array
from verdict.sweep.flow import CANNOT, Flow, apply

GREAT = 1e8
"""Finite constants from here on are masks."""
TIMES = (1, -1, -8)
"""What moderate constants are multiplied by on one seed after the other: beside other values, or above them."""

Values = list[list[Array | None]]


def tempered(flows: tuple[Flow, Flow], values: tuple[Values, Values]) -> tuple[Values, Values]:
    """The values of both flows, of each seed, with moderate constants; as they are where a flow cannot be run so."""
    great = tuple(frozenset(k for k, step in enumerate(flow.steps) if _is_great(step.attrs)) for flow in flows)
    if not any(great):
        return values
    try:
        one, other = (
            [_again(flow, seed, steps, TIMES[k % len(TIMES)]) for k, seed in enumerate(seeds)]
            for flow, seeds, steps in zip(flows, values, great, strict=True)
        )
    except CANNOT:
        return values
    return one, other


def _is_great(value: Any) -> bool:
    if isinstance(value, tuple | Mapping):
        return any(map(_is_great, value.values() if isinstance(value, Mapping) else value))
    return isinstance(value, float) and isfinite(value) and abs(value) >= GREAT


def _moderate(value: Any, times: int) -> Any:
    if isinstance(value, tuple):
        return tuple(_moderate(each, times) for each in value)
    return times * copysign(1 + log10(abs(value)) / 10, value) if _is_great(value) else value


def _again(flow: Flow, values: Sequence[Array | None], great: Set[int], times: int) -> list[Array | None]:
    """The values of one seed, with moderate attributes of some steps; what does not come from these stays."""
    found, other = list(values), set[int]()
    with np.errstate(all="ignore"):
        for number, own in enumerate(flow.steps):
            step = own
            if number not in great and other.isdisjoint(step.inputs):
                continue
            reads = [array for value in step.inputs if (array := found[value]) is not None]
            if number in great:
                step = step._replace(attrs={name: _moderate(each, times) for name, each in step.attrs.items()})
            made = apply(step, reads)
            for value, output in zip(step.outputs, made, strict=False):
                if value != ABSENT and output is not None:
                    found[value] = np.asarray(output, dtype=np.float64)
                    other.add(value)
    return found
