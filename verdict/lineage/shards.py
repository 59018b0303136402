"""Shards over replicas: of each replica its own piece of a value, a fixed stride further on each.

One replica is walked. A share with a `Shard` has the region that replica 0 has; replica r has it r strides further
along an axis, or, where the mark is on a part of a sum, sums over an interval that lies r strides further.

    scatter   region [a, b) -> [a, a + n) with stride n, where the replicas' n elements each make b - a
    gather    region [a, a + n) with stride n -> [a, a + R n)
    sum       the part [a, a + n) with stride n of a sum -> the part [a, a + R n)
"""

from collections.abc import Mapping
from typing import NamedTuple

from verdict.graph import Held, Interval, Plan, Region, contains, extent
from verdict.lineage.columns import NO_COLUMN, SUMMED
from verdict.lineage.reference import Base
from verdict.lineage.values import OVER_REPLICAS, OWN_COLUMN, WHOLE, Label, Mark, Part, Shard, Share, Value

FEW = 8
"""Up to so many places all are looked at."""


def standing(places: int, every: bool) -> tuple[int, ...]:
    """Of evenly spaced places those that stand for all: the first two, two in the middle and the last two.

    Replica by replica, each new piece has a piece before it and a piece behind it: the pattern of cuts is that of the
    first, of a middle or of the last one. every: all places.
    """
    if every or places <= FEW:
        return tuple(range(places))
    return (0, 1, places // 2, places // 2 + 1, places - 2, places - 1)


class Stated(NamedTuple):
    """What a plan says that a tensor is of its logical one: the region on replica 0, and how it goes on."""

    region: Region
    shard: Mark = WHOLE


def stated(plan: Plan, divided: Mapping[int, int], tensor: int) -> Stated:
    """The region of the whole that a tensor is stated to be. divided: as `shard_axes` says."""
    share = plan.tensors[tensor]
    axis = divided.get(share.logical)
    if axis is None:
        return Stated(share.region)
    start, stop = share.region[axis]
    first = start * plan.replicas
    return Stated(along(share.region, axis, (first, first + stop - start)), Shard(axis, stop - start))


def stated_end(plan: Plan, divided: Mapping[int, int], held: Held) -> Stated | None:
    """The region of a weight or buffer of which `held` declares something; None where replicas cannot divide it so.

    Where more is declared than the device has of it, that is all of what the tensor is stated to be.
    """
    of, own = stated(plan, divided, held.weight), plan.tensors[held.tensor].region
    axis = divided.get(plan.tensors[held.tensor].logical)
    more = len(own) == len(of.region) and extent(own) != extent(of.region) and contains(own, of.region)
    if axis is None and not of.shard and more:
        return stated(plan, divided, held.tensor)
    return of if axis is None or of.shard else scattered(of, axis, plan.replicas)


def together(of: Stated, replicas: int) -> Region:
    """The region that all replicas have."""
    if not isinstance(of.shard, Shard):
        return of.region
    start, stop = of.region[of.shard.axis]
    return along(of.region, of.shard.axis, (start, stop + (replicas - 1) * of.shard.stride))


def scattered(of: Stated, axis: int, replicas: int) -> Stated | None:
    """Of a region that all replicas have the piece of each; None where it is divided already, or unevenly."""
    start, stop = of.region[axis]
    size, rest = divmod(stop - start, replicas)
    if replicas == 1:
        return of
    return None if rest or of.shard else Stated(along(of.region, axis, (start, start + size)), Shard(axis, size))


def scatter(value: Value, axis: int, replicas: int) -> Value | None:
    """The piece of each replica of a value that all of them have."""
    found = [scattered(Stated(share.region, share.shard), axis, replicas) for share in value]
    pairs = zip(value, found, strict=True)
    pieces = tuple(share._replace(region=of.region, shard=of.shard) for share, of in pairs if of is not None)
    return pieces if len(pieces) == len(value) else None


def alike(share: Share, bases: tuple[Base, ...]) -> bool:
    """Whether all replicas have pieces of one tensor: not each of the results of its own column of the batch."""
    column = bases[share.base].column
    if column == SUMMED:
        return bool(share.spread & OVER_REPLICAS)
    return column == NO_COLUMN and share.spread == OWN_COLUMN


def gather(value: Value, axis: int, replicas: int) -> Value | None:
    """The pieces of all replicas side by side along `axis`, in their order; None where they are no one region."""
    if replicas == 1:
        return value
    whole = []
    for share in value:
        start, stop = share.region[axis]
        if share.shard != Shard(axis, stop - start):
            return None
        whole.append(
            share._replace(region=along(share.region, axis, (start, start + replicas * (stop - start))), shard=WHOLE)
        )
    return tuple(whole)


def added(share: Share, bases: tuple[Base, ...], replicas: int) -> tuple[Share, tuple[int, ...]] | None:
    """A part of a sum that goes on from replica to replica, added up over them, with the cuts between them.

    None where the replicas' parts are no such interval, or are parts of sums of their own columns.
    """
    shard = share.shard
    if not isinstance(shard, Shard) or shard.label is None:
        return None
    start, stop = dict(share.part)[shard.label]
    if not alike(share, bases) or stop - start != shard.stride:
        return None
    cuts = tuple(range(start, start + (replicas + 1) * shard.stride, shard.stride))
    return share._replace(part=_with(share.part, shard.label, (cuts[0], cuts[-1])), shard=WHOLE), cuts


def at_replica(of: Stated, replica: int) -> Region:
    """The region that one replica has."""
    if not isinstance(of.shard, Shard) or of.shard.label is not None:
        return of.region
    start, stop = of.region[of.shard.axis]
    by = replica * of.shard.stride
    return along(of.region, of.shard.axis, (start + by, stop + by))


def along(region: Region, axis: int, interval: Interval) -> Region:
    """The region with another interval along one axis."""
    return (*region[:axis], interval, *region[axis + 1 :])


def _with(part: Part, label: Label, interval: Interval) -> Part:
    rest = tuple(item for item in part if item[0] != label)
    return rest if interval == (0, label.size) else tuple(sorted((*rest, (label, interval))))
