"""Places in a storage as runs: sorted intervals of neighbouring elements, apart from each other.

So a tensor of a thousand million elements that lies in one piece is one interval.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import NamedTuple

Run = tuple[int, int]
"""start:stop, in elements of the storage."""
Runs = tuple[Run, ...]


class Blank(NamedTuple):
    """A tensor that was read, and how it lies in its memory.

    maker: the step that allocated that. blank: where in it nothing was written by then.
    """

    maker: int
    blank: Runs
    size: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int


def runs_of(size: Sequence[int], stride: Sequence[int], offset: int) -> Runs:
    """Where the elements of a tensor of this geometry lie."""
    if 0 in size:
        return ()
    length, outer = 1, []
    for step, count in sorted(zip(stride, size, strict=True)):
        if step == length:
            length *= count
        elif step and count > 1:
            outer.append(range(0, step * count, step))
    starts = sorted({offset + sum(places) for places in product(*outer)})
    return tuple(_merged((start, start + length) for start in starts))


def without(runs: Runs, gone: Runs) -> Runs:
    """The places of `runs` that are none of `gone`."""
    left: list[Run] = []
    at = 0
    for start, stop in runs:
        while at < len(gone) and gone[at][1] <= start:
            at += 1
        begin, place = start, at
        while begin < stop and place < len(gone) and gone[place][0] < stop:
            if begin < gone[place][0]:
                left.append((begin, gone[place][0]))
            begin = max(begin, gone[place][1])
            place += 1
        if begin < stop:
            left.append((begin, stop))
    return tuple(left)


def meet(runs: Runs, others: Runs) -> bool:
    """Whether some place is in both."""
    return without(runs, others) != runs


def _merged(runs: Iterable[Run]) -> Iterator[Run]:
    last: Run | None = None
    for start, stop in runs:
        if last is None or start > last[1]:
            if last is not None:
                yield last
            last = (start, stop)
        else:
            last = (last[0], max(last[1], stop))
    if last is not None:
        yield last
