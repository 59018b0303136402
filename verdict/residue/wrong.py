"""Which guesses of the islands without a proof are wrong, and by what factor."""

from collections.abc import Iterator, Mapping, Sequence, Set
from fractions import Fraction

from verdict.lineage import Lineages
from verdict.lineage.grounds import CutPoint, Guess
from verdict.lineage.meaning import read_by
from verdict.outcome import Unknown
from verdict.residue.islands import MOST_COPIES, Column, Island
from verdict.sweep import Swept


def is_proved(swept: Swept | Unknown | None, island: Island) -> bool:
    """Whether all that is guessed of an island has a proof."""
    if (
        swept is None
        or isinstance(swept, Unknown)
        or swept.is_refuted
        or swept.open
        or swept.unusual
        or swept.fault is not None
    ):
        return False
    return swept.established == frozenset(range(len(island.due)))


def first(wrong: Mapping[int, Sequence[CutPoint]], islands: Sequence[Island]) -> list[int]:
    """The wrong islands that rest on no other one: what rests on a wrong guess may be right, or wrong by chance."""
    rests = {k: any(not islands[k].given.keys().isdisjoint(wrong[j]) for j in wrong if j != k) for k in wrong}
    return [k for k in wrong if not rests[k]] or list(wrong)


def resting_on(
    wrong: Mapping[int, Sequence[CutPoint]], islands: Sequence[Island], column: Column
) -> set[CutPoint]:
    """What rests on doubtful points of wrong islands: what is guessed to be the same value, on any device, and all that
    is computed from that.
    """
    values = {tuple(s.base for s in islands[k].due[point]) for k, points in wrong.items() for point in points}
    due = ((point, value) for island in islands for point, value in island.due.items())
    behind = {point for point, value in due if tuple(share.base for share in value) in values}
    for event in column.events:
        if any((device, tensor) in behind for device, node in event.nodes for tensor in read_by(node)):
            behind.update((device, tensor) for device, node in event.nodes for tensor in node.outputs)
    return behind


def in_turn(islands: Sequence[Island], column: Column) -> list[int]:
    """The places of islands, each behind those that it rests on."""
    depth: dict[CutPoint, int] = {}
    due = {point for island in islands for point in island.due}
    for event in column.events:
        read = ((device, tensor) for device, node in event.nodes for tensor in read_by(node))
        deep = max((depth.get(point, 0) for point in read), default=0)
        made = ((device, tensor) for device, node in event.nodes for tensor in node.outputs)
        depth.update((point, deep + (point in due)) for point in made if deep or point in due)
    deepest = [max((depth.get(point, 0) for point in island.given), default=0) for island in islands]
    return sorted(range(len(islands)), key=deepest.__getitem__)


def earliest_of(
    wrong: Mapping[int, Sequence[CutPoint]], islands: Sequence[Island], column: Column
) -> frozenset[CutPoint]:
    """The doubtful points of wrong islands that are computed, as their islands do so, from nothing that rests on a
    doubtful value, on any device: a multiple of what rests on a wrong guess says how wrong that is.
    """
    behind = resting_on(wrong, islands, column)
    found = set[CutPoint]()
    for k, points in wrong.items():
        resting = behind.intersection(islands[k].given)
        for event in islands[k].events:
            if any((device, tensor) in resting for device, node in event.nodes for tensor in read_by(node)):
                resting.update((device, tensor) for device, node in event.nodes for tensor in node.outputs)
        found.update(point for point in points if point not in resting)
    return frozenset(found)


def doubtful(swept: Swept | Unknown | None, island: Island) -> list[CutPoint]:
    """The guesses of an island that are wrong, else those that have no proof, or all where it is not known which."""
    points = list(island.due)
    if not isinstance(swept, Swept):
        return points
    different = [points[place] for one in swept.different for place in one.result.declared]
    return different or [point for place, point in enumerate(points) if place not in swept.established]


def scaled(
    swept: Swept | Unknown | None, island: Island, walk: Lineages, earliest: Set[CutPoint]
) -> Iterator[tuple[Guess, Fraction | None]]:
    """The wrong guesses of an island, of those that are asked for, each with how often it is what is due; None where it
    is no multiple of that.
    """
    points = list(island.due)
    different = swept.different if isinstance(swept, Swept) else ()
    for point, times in ((points[place], item.times) for item in different for place in item.result.declared):
        if point not in earliest:
            continue
        value = walk.cuts[point]
        total = times * value[0].times if times is not None and not value[0].part else None
        is_multiple = total is not None and 0 < total <= MOST_COPIES
        yield (*point, tuple(share.base for share in value)), total if is_multiple else None
