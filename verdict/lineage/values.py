"""What a parallel tensor holds, in terms of single-device values: a formal sum of shares.

A *base* is a value of the single-device plan: the output of one of its operators, a weight, an input. A
*share* of it is a region (in the coordinates of one column, that is one replica and microbatch) and a part:
for each summed index axis that was cut, the interval that was summed over. A gradient is a formal sum,
because the trees that add gradients differ between the plans. Sums that tile an axis merge into the whole.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import groupby
from typing import NamedTuple

from verdict.graph import Interval, Region

OWN_COLUMN, OVER_MICROBATCHES, OVER_REPLICAS = 0, 1, 2
"""What a share was summed over, as flags. Only a base that is a sum over the columns may be summed so."""


class Label(NamedTuple):
    """A summed index axis: of which output of which single-device node, which atom, its size in one column.

    beside: others of this size, each a node, an output and an atom, over which is summed together with it: of what adds
    up several sums, of which a rank has the same part.
    """

    node: int
    output: int
    atom: str
    size: int
    beside: tuple[tuple[int, int, str], ...] = ()

    @property
    def axes(self) -> tuple["Label", ...]:
        """All axes that are summed over together."""
        return Label(*self[:4]), *(Label(*other, self.size) for other in self.beside)


def joined(labels: Iterable[Label]) -> Label:
    """Axes of one size as one, the same in whatever order they come."""
    first, *others = sorted({axis for label in labels for axis in label.axes})
    return first._replace(beside=tuple(other[:3] for other in others))


Part = tuple[tuple[Label, Interval], ...]
"""Sorted by label; an axis that is not listed is summed over whole."""


class Shard(NamedTuple):
    """What of a share lies further on from replica to replica, and by how much: the region along `axis`, or, with
    axis -1, the interval of its part at `label`. Region and part are those of replica 0.
    """

    axis: int
    stride: int
    label: Label | None = None


Mark = Shard | tuple[()]
WHOLE: tuple[()] = ()
"""The mark of a share that all replicas have."""


Times = int | Fraction
"""By what a value is multiplied. Whole numbers are quicker to compare and to look up."""
ONCE = 1
"""The factor of what is neither multiplied nor averaged."""


class Share(NamedTuple):
    """A region of a base, or a part of its sum, times a number; of each replica its own where there is a shard mark."""

    base: int
    region: Region
    part: Part = ()
    spread: int = OWN_COLUMN
    shard: Mark = WHOLE
    times: Times = ONCE


Value = tuple[Share, ...]
"""A formal sum, sorted. () is zero."""


class Merge(NamedTuple):
    """Parts of one base that were added up: the boxes in their order. It holds by the base's summing law."""

    base: int
    parts: tuple[Part, ...]
    shard: Mark = WHOLE


def add(values: Iterable[Value]) -> tuple[Value, tuple[Merge, ...]]:
    """The formal sum of `values`, with parts that tile an axis merged, and which merges that took.

    What is summed over no index at all is zero, and left out.
    """
    shares = sorted((share for value in values for share in value if not _is_zero(share)), key=_place)
    merges: list[Merge] = []
    total: list[Share] = []
    for _, group in groupby(shares, key=_place):
        members = tuple(group)
        parts = tuple(member.part for member in members)
        merged = merge_parts(parts)
        if len(merged) < len(parts):
            merges.append(Merge(members[0].base, parts, members[0].shard))
        total.extend(members[0]._replace(part=part) for part in merged)
    return tuple(sorted(total)), tuple(merges)


def _is_zero(share: Share) -> bool:
    moves = isinstance(share.shard, Shard) and share.shard.label is not None
    return not moves and any(begin == stop for _, (begin, stop) in share.part)


def scaled(value: Value, times: Times) -> Value:
    """A number times a value."""
    return tuple(share._replace(times=share.times * times) for share in value)


def _place(share: Share) -> tuple[int, Region, int, Mark, Times]:
    """Equal for parts that add up."""
    base, region, _, spread, shard, times = share
    return base, region, spread, shard, times


def merge_parts(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Join parts that are neighbours along one label and alike in all others, as long as there are any."""
    remaining = sorted(parts)
    joined = True
    while joined:
        joined = False
        for i, first in enumerate(remaining):
            for j in range(i + 1, len(remaining)):
                union = _join(first, remaining[j])
                if union is not None:
                    remaining = sorted([*remaining[:i], *remaining[i + 1 : j], *remaining[j + 1 :], union])
                    joined = True
                    break
            if joined:
                break
    return tuple(remaining)


def _join(first: Part, second: Part) -> Part | None:
    if len(first) != len(second):
        return None
    apart = [k for k, (one, other) in enumerate(zip(first, second, strict=True)) if one != other]
    if len(apart) != 1:
        return None
    (k,) = apart
    (label, (start, middle)), (other, (begin, stop)) = first[k], second[k]
    if label != other or middle != begin:
        return None
    if (start, stop) == (0, label.size):
        return (*first[:k], *first[k + 1 :])
    return (*first[:k], (label, (start, stop)), *first[k + 1 :])


def concatenate(values: Sequence[Value], dim: int) -> Value | None:
    """The value of pieces side by side along `dim`, in the order given; None where they are no one region."""
    if len({len(value) for value in values}) != 1:
        return None
    shares = []
    for pieces in zip(*values, strict=True):
        first = pieces[0]
        start, stop = first.region[dim]
        for piece in pieces[1:]:
            begin, end = piece.region[dim]
            if begin != stop or _beside(piece, dim) != _beside(first, dim):
                return None
            stop = end
        shares.append(first._replace(region=_along(first.region, dim, (start, stop))))
    return tuple(shares)


def _beside(share: Share, dim: int) -> Share:
    return share._replace(region=_along(share.region, dim, (0, 0)))


def _along(region: Region, dim: int, interval: Interval) -> Region:
    return (*region[:dim], interval, *region[dim + 1 :])


def piece(value: Value, dim: int, interval: Interval) -> Value:
    """The elements `interval` along `dim` of a tensor, in its local coordinates."""
    start, stop = interval
    return tuple(
        share._replace(region=_along(share.region, dim, (share.region[dim][0] + start, share.region[dim][0] + stop)))
        for share in value
    )
