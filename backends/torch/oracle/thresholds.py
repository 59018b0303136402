"""The numbers that attributes name, with their neighbours: bounds, compared numbers, thresholds.

What a change of one of them changes shows only where an element lies on it, or between the old and the new one. So
real inputs are given some of these numbers, most often those that one of two plans alone names. Weights and buffers are
not: of two different scales of one element each both would often be one number.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import torch

from verdict.graph import Plan

MOST = 100.0
"""Numbers beyond this are not given: what is computed of them would drown the others."""
LONGEST = 8
"""Longer tuples are values or sizes."""
STEP = 1e-3
"""How far a neighbour lies from a number, as a share of it, or of one where it is less."""
SHARE = 0.25
"""The share of elements that are given what attributes name; twice as many where elements are few."""


def thresholds(single: Plan, parallel: Plan) -> tuple[float, ...]:
    """The numbers that two plans name and their neighbours; half of them are what one of the plans alone names."""
    one, other = _named(single), _named(parallel)
    everything, apart = _near(one | other), (*_near(one ^ other), *_between(sorted(one ^ other)))
    return (*everything, *apart * -(-len(everything) // max(1, len(apart))))


def mixed(numbers: Any, matter: Sequence[float], random: torch.Generator, seed: int) -> Any:
    """The numbers, some of them replaced by what matters, which comes in turn over the elements and the seeds."""
    count = numbers.numel()
    turn = (seed * count + torch.randperm(count, generator=random)) % len(matter)
    chosen = torch.tensor(matter, dtype=numbers.dtype)[turn].reshape(numbers.shape)
    share = SHARE if count > 2 * len(matter) else 2 * SHARE
    return torch.where(torch.rand(numbers.shape, generator=random) < share, chosen, numbers)


def _near(numbers: set[float]) -> tuple[float, ...]:
    steps = {number: STEP * max(1.0, abs(number)) for number in sorted(numbers)}
    return tuple(near for number, step in steps.items() for near in (number - step, number, number + step))


def _between(numbers: Sequence[float]) -> tuple[float, ...]:
    """The middle of each two that are so near each other that no neighbour of them lies between them."""
    return tuple((low + high) / 2 for low, high in pairwise(numbers) if high - low <= 2 * STEP * max(1.0, abs(low)))


def _named(plan: Plan) -> set[float]:
    nodes = (node for segment in plan.segments for node in segment.nodes)
    found = {float(number) for node in nodes for _, value in node.attrs for number in _numbers(value)}
    return {number for number in found if math.isfinite(number) and abs(number) <= MOST}


def _numbers(value: Any) -> Iterator[float]:
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield value if isinstance(value, float) or abs(value) <= MOST else math.inf
    elif isinstance(value, tuple) and len(value) <= LONGEST:
        for item in value:
            yield from _numbers(item)
