"""Runs: stretches of a device's program in which one sequence of nodes comes again and again."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Tokens = NDArray[np.int64]

LEAST = 12
"""How many equal windows a run has: what is left out of a plan with fewer layers must be worth a second look."""
SHORTEST = 8
"""The shortest sequence that is looked for a second time; a window of a run may be shorter, as it comes many times."""
MIX = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
"""By how much a number is shifted, and what it is multiplied by, to mix its bits. That equal numbers are of equal
sequences is a guess, which is looked at.
"""


class Run(NamedTuple):
    """`windows` of `period` nodes each, from node `start` on, of which the k-th node looks alike in all. rest: how many
    nodes follow that go on so, fewer than a window has.
    """

    start: int
    period: int
    windows: int
    rest: int

    @property
    def size(self) -> int:
        """How many nodes it has."""
        return self.period * self.windows + self.rest


def runs_of(tokens: Tokens) -> list[Run]:
    """The runs of a program, in its order; no two have a node in common. tokens: of each node what it looks like.

    The longest sequences that come again are looked for first: what is repeated within a layer is no layer.
    """
    found: list[Run] = []
    for length, numbers in reversed([*_numbered(tokens)]):
        for run in _stretches(numbers, length):
            begins, end = run.start + run.period, run.start + run.size
            if not np.array_equal(tokens[begins:end], tokens[run.start : end - run.period]):
                continue
            if all(run.start + run.size <= one.start or run.start >= one.start + one.size for one in found):
                found.append(run)
    return sorted(found)


def _numbered(tokens: Tokens) -> Iterator[tuple[int, NDArray[np.uint64]]]:
    """Numbers of all sequences of nodes of a length, by where they begin, for lengths that double."""
    numbers, length = _mixed(tokens.astype(np.uint64)), 1
    while length * LEAST <= len(tokens):
        if length >= SHORTEST:
            yield length, numbers
        numbers = _mixed(numbers[:-length] + (numbers[length:] << np.uint64(1)))
        length *= 2


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Numbers each bit of which depends on all of one of 64 bits: the finalizer of SplitMix64 (Steele et al., 2014)."""
    with np.errstate(over="ignore"):
        for shift, factor in MIX:
            numbers = (numbers ^ (numbers >> np.uint64(shift))) * np.uint64(factor)
    return numbers ^ (numbers >> np.uint64(31))


def _stretches(numbers: NDArray[np.uint64], length: int) -> Iterator[Run]:
    """Runs in which each sequence of this length comes again after the same number of nodes."""
    order = np.argsort(numbers, kind="stable")
    again = numbers[order[1:]] == numbers[order[:-1]]
    after = np.zeros(len(numbers), dtype=np.int64)
    after[order[:-1][again]] = (order[1:] - order[:-1])[again]
    borders = np.flatnonzero(np.diff(after)) + 1
    for start, stop in zip((0, *borders.tolist()), (*borders.tolist(), len(after)), strict=True):
        period = int(after[start])
        size = stop - start + length - 1 + period
        if period and size >= LEAST * period:
            yield Run(start, period, size // period, size % period)
