"""The least whole numbers that compare and add up as given ones do: what coordinates without a common divisor become.

    1001 words on two ranks, padded to 1002         500 -> 3, 501 -> 4, 1001 -> 7, 1002 -> 8

Sums of several of the numbers are equal, or one is less than the other, as those of what they become are (an
order-preserving Freiman isomorphism: Tao and Vu, Additive Combinatorics, section 5.3). So a part of a whole, what is
left of it, and a bound that is shifted and compared with another stay what they are.
"""

from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from itertools import combinations_with_replacement, pairwise
from math import comb

import numpy as np

from verdict.ops import Array
from verdict.solver import least_whole

MOST_SUMS = 8_000
"""So many sums take a second or two at most: those of three of 34 numbers, or of five of 12."""

Pairs = tuple[tuple[int, int], ...]
Chunks = tuple[tuple[int, int, int], ...]


def least_alike(
    numbers: Iterable[int], order: int, gap: int, leasts: Collection[tuple[int, int]],
    chunks: Collection[tuple[int, int, int]],
) -> Mapping[int, int] | None:  # fmt: skip
    """For each number, all of them positive, what it becomes; None where there are too many of them.

    order: sums of how many are compared. gap: what at least stays between two that follow each other, where so much is
    there. leasts: numbers, and what at least becomes of them, where they are not less. chunks: (whole, step, count):
    the step is the whole divided by the count, rounded up, and stays that.
    """
    found = tuple(sorted(set(numbers)))
    if comb(len(found) + order, order) > MOST_SUMS:
        return None
    return _solved(found, order, gap, tuple(sorted(set(leasts))), tuple(sorted(set(chunks))))


@lru_cache(maxsize=256)
def _solved(numbers: tuple[int, ...], order: int, gap: int, leasts: Pairs, chunks: Chunks) -> Mapping[int, int] | None:
    unit = np.eye(len(numbers), dtype=np.int64)
    of = dict(zip(numbers, unit, strict=True))
    equal, less = _differences(numbers, order)
    bounds = [(of[number], min(number, least)) for number, least in leasts]
    for one, other in pairwise((0, *numbers)):
        between = of[other] - of.get(one, 0)
        bounds += [(between, min(gap, other - one)), (-between, one - other)]
    for whole, step, count in chunks:
        bounds += [(count * of[step] - of[whole], 0), (of[whole] - count * of[step], 1 - count)]
    small = least_whole(len(numbers), equal, less, bounds)
    if small is None or np.any(equal @ small != 0) or np.any(less @ small < 1):
        return None
    return dict(zip(numbers, small, strict=True))


def _differences(numbers: tuple[int, ...], order: int) -> tuple[Array, Array]:
    """Of sums that follow each other by size, how often the greater has each number more than the other: of those that
    are equal, and of those that are not.
    """
    chosen = np.array(list(combinations_with_replacement(range(len(numbers) + 1), order)))
    counts = np.stack([(chosen == place).sum(axis=1) for place in range(len(numbers))], axis=1)
    sums = counts @ np.array(numbers)
    ranked = np.argsort(sums, kind="stable")
    between, is_same = np.diff(counts[ranked], axis=0), np.diff(sums[ranked]) == 0
    return np.unique(between[is_same], axis=0), np.unique(between[~is_same], axis=0)
