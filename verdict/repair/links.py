"""Which collective makes the tensors that devices need out of those that they hold, by what these hold."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from verdict.graph import COPY, Attrs, Region, chunks
from verdict.lineage import Value
from verdict.lineage.values import add, concatenate, piece
from verdict.repair.case import Case


class Link(NamedTuple):
    """A copy, or a collective of a group."""

    op: str
    attrs: Attrs
    group: tuple[int, ...]


def link(case: Case, device: int, sources: Mapping[int, int], regions: Mapping[int, Region]) -> Link | None:
    """How `device`, with others, comes from what `sources` hold to a whole value of its region.

    sources, regions: by device. The groups that the plan uses are tried first, then all devices together.
    """
    own = case.held(device, sources[device])
    if not own:
        return None
    if own == _whole(own, regions[device]):
        return Link(COPY, (), (device,))
    for group in _groups(case, device, sources):
        values = {rank: case.held(rank, sources[rank]) for rank in group}
        known = {rank: value for rank, value in values.items() if value}
        found = _collective(known, device, regions) if len(known) == len(group) else None
        if found is not None:
            return found
    return None


def _groups(case: Case, device: int, sources: Mapping[int, int]) -> Iterator[tuple[int, ...]]:
    for group in case.groups:
        if device in group and all(rank in sources for rank in group):
            yield group
    everyone = tuple(sorted(sources))
    if len(everyone) > 1 and everyone not in case.groups:
        yield everyone


def _collective(values: Mapping[int, Value], device: int, regions: Mapping[int, Region]) -> Link | None:
    group, own, region = tuple(sorted(values)), values[device], regions[device]
    total, _ = add([values[rank] for rank in group])
    if total == _whole(own, region):
        return Link("all_reduce", (("ranks", group), ("reduce", "sum")), group)
    for dim in range(len(region)):
        ordered = tuple(sorted(group, key=lambda rank: values[rank][0].region[dim]))
        if concatenate([values[rank] for rank in ordered], dim) == _whole(own, region):
            return Link("all_gather", (("dim", dim), ("ranks", ordered)), ordered)
    for dim in range(len(region)):
        ordered = tuple(sorted(group, key=lambda rank: regions[rank][dim]))
        if _is_cut(own, dim, ordered, regions):
            return Link("chunk", (("dim", dim), ("ranks", ordered)), ordered)
        if len({share.region for share in total}) == 1 and _is_cut(total, dim, ordered, regions):
            return Link("reduce_scatter", (("dim", dim), ("ranks", ordered)), ordered)
    return None


def _is_cut(value: Value, dim: int, ordered: tuple[int, ...], regions: Mapping[int, Region]) -> bool:
    """Whether the pieces of a whole value, in this order of ranks, are the regions that these need."""
    start, stop = value[0].region[dim]
    intervals = chunks(stop - start, len(ordered))
    return len(intervals) == len(ordered) and all(
        piece(value, dim, interval) == _whole(value, regions[rank])
        for rank, interval in zip(ordered, intervals, strict=True)
    )


def _whole(value: Value, region: Region) -> Value:
    """What a value is when nothing is missing in its sums, of this region."""
    return tuple(share._replace(region=region, part=()) for share in value)
