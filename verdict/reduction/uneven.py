"""Few whole numbers that compare and add up as given ones do: what coordinates without a common divisor become.

    1001 words on two ranks, padded to 1002         500 -> 3, 501 -> 4, 1001 -> 7, 1002 -> 8

Sums of several of the numbers are equal, or one is less than the other, as those of what they become are (an
order-preserving Freiman isomorphism: Tao and Vu, Additive Combinatorics, section 5.3). So a part of a whole, what is
left of it, and a bound that is shifted and compared with another stay what they are.

They are found as Euclid would: each is a multiple of one of them and a rest, the rests become few numbers in the same
way, and the multiples are of the least number with which all sums compare.
"""

from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from itertools import combinations_with_replacement, pairwise
from math import comb
from typing import NamedTuple

import numpy as np

from verdict.ops import Array

MOST_SUMS = 20_000
"""So many sums take a second at most: those of three of 47 numbers, of five of 15, or of fifteen of five."""
BASES = 3
"""Of how many numbers the others are taken for multiples: of those that leave the fewest rests, and of the greatest."""
BEYOND = 4
"""How often as far as sums of rests reach a multiple may be: beyond that, sums compare as they do there."""
MOST_UNITS = 1_000
"""So many multiples are tried: what larger ones leave would be too long to be worth it."""
DEEPEST = 4
"""How often rests have rests: of ranks, microbatches and paddings each leaves one."""


class Wanted(NamedTuple):
    """What numbers become must be such. order: sums of so many compare alike. gap: between two that follow each other,
    where so much is there. leasts: numbers, and the least of what they become, where they are not less themselves.
    chunks: (whole, step, count): the step is the whole divided by the count, rounded up.
    """

    order: int
    gap: int
    leasts: tuple[tuple[int, int], ...] = ()
    chunks: tuple[tuple[int, int, int], ...] = ()


def few_alike(
    numbers: Iterable[int], order: int, gap: int, leasts: Collection[tuple[int, int]],
    chunks: Collection[tuple[int, int, int]],
) -> Mapping[int, int] | None:  # fmt: skip
    """For each number, all of them positive, what it becomes; None where nothing is found, or there are too many."""
    found = tuple(sorted(set(numbers)))
    if comb(len(found) + order, order) > MOST_SUMS:
        return None
    return _found(found, Wanted(order, gap, tuple(sorted(set(leasts))), tuple(sorted(set(chunks)))), DEEPEST)


@lru_cache(maxsize=1024)
def _found(numbers: tuple[int, ...], wanted: Wanted, deep: int) -> Mapping[int, int] | None:
    """The numbers as multiples of some of them: of those, what makes the greatest least."""
    if not deep:
        return None
    fewest = sorted(numbers, key=lambda base: (len(_rests(numbers, base)), base))
    bases = dict.fromkeys((*fewest[:BASES], *numbers[-BASES:]))
    each = [found for base in bases if (found := _of_multiples(numbers, base, wanted, deep)) is not None]
    return min(each, key=lambda found: found[numbers[-1]], default=None)


def _split(number: int, base: int) -> tuple[int, int]:
    """How often a number is the base, and what is left of it, which may be negative."""
    times = (2 * number + base) // (2 * base)
    return times, number - times * base


def _rests(numbers: tuple[int, ...], base: int) -> tuple[int, ...]:
    return tuple(sorted({abs(_split(number, base)[1]) for number in numbers} - {0}))


def _of_multiples(numbers: tuple[int, ...], base: int, wanted: Wanted, deep: int) -> Mapping[int, int] | None:
    rests = _rests(numbers, base)
    leasts = tuple(pair for pair in wanted.leasts if pair[0] in rests)
    small = _found(rests, wanted._replace(leasts=leasts, chunks=()), deep - 1) if rests else {}
    if small is None:
        return None
    signed = {0: 0, **small, **{-rest: -of for rest, of in small.items()}}
    parts = {number: _split(number, base) for number in numbers}
    far = max((wanted.gap, *small.values(), *(min(pair) for pair in wanted.leasts)))
    units = range(1, min(base, BEYOND * wanted.order * far, MOST_UNITS) + 1)
    each = ({number: times * unit + signed[rest] for number, (times, rest) in parts.items()} for unit in units)
    return next((found for found in each if _fits(found, wanted)), None)


def _fits(small: Mapping[int, int], wanted: Wanted) -> bool:
    """Whether numbers become such as are wanted."""
    pairs = list(pairwise({0: 0, **small}.items()))
    if any(not min(wanted.gap, b - a) <= its - own <= b - a for (a, own), (b, its) in pairs):
        return False
    if any(small[number] < min(number, least) for number, least in wanted.leasts):
        return False
    if any(-(-small[whole] // count) != small[step] for whole, step, count in wanted.chunks):
        return False
    ranked, signs = _sums(tuple(small), wanted.order)
    return bool(np.array_equal(np.sign(np.diff(ranked @ np.array([*small.values()]))), signs))


@lru_cache(maxsize=16)
def _sums(numbers: tuple[int, ...], order: int) -> tuple[Array, Array]:
    """How often each number is in each of the sums, which follow each other by size; and by which sign they do."""
    chosen = np.array(list(combinations_with_replacement(range(len(numbers) + 1), order)))
    counts = np.stack([(chosen == place).sum(axis=1) for place in range(len(numbers))], axis=1)
    sums = counts @ np.array(numbers)
    ranked = np.argsort(sums, kind="stable")
    return counts[ranked], np.sign(np.diff(sums[ranked]))
