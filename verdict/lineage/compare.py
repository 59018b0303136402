"""What a tensor holds against what it should hold: the kind of the difference, as a stable code."""

from collections import Counter
from collections.abc import Hashable
from typing import NamedTuple

from verdict.graph import Plan, Region, spelled
from verdict.lineage.columns import SUMMED, UNDECIDED
from verdict.lineage.reference import Base, Bases
from verdict.lineage.values import OVER_MICROBATCHES, OVER_REPLICAS, WHOLE, Label, Mark, Shard, Value


class Difference(NamedTuple):
    """code: a stable name. root: what it is about, equal for all that follows from one cause. text: for people.

    kind: what it is, whatever values and ranks it is about.
    """

    code: str
    root: tuple[object, ...]
    text: str
    kind: Hashable = ""


def difference(
    value: Value, expected: Bases, region: Region, bases: tuple[Base, ...], shard: Mark = WHOLE
) -> Difference | None:
    """Why `value` is not exactly `region` of the sum of `expected`, over this column; None where it is.

    shard: how the region that it must be goes on from replica to replica.
    """
    due_here = all(share.region == region and share.shard == shard and not share.part for share in value)
    if due_here and [share.base for share in value] == list(expected):
        return _not_once(value, bases)
    held, due = Counter(share.base for share in value), Counter(expected)
    for share in value:
        if share.part and share.base in due:
            label, (start, stop) = share.part[0]
            return Difference(
                "missing-reduction",
                (share.base,),
                f"it holds {bases[share.base].name} summed over {start}:{stop} of {label.size} of index axis "
                f"{label.atom} only",
                ("part", label.atom),
            )
    again = _not_once(value, bases)
    if again is not None:
        return again
    for base in sorted(held):
        if 0 < due[base] < held[base]:
            return Difference("reduced-twice", (base,), f"{bases[base].name} is counted {held[base]} times", "counted")
    foreign, absent = sorted(held - due), sorted(due - held)
    if foreign and absent:
        return Difference(
            "wrong-input",
            (foreign[0], absent[0]),
            f"it holds {bases[foreign[0]].name}, expected {bases[absent[0]].name}",
            "instead",
        )
    if foreign:
        return Difference("wrong-input", (foreign[0],), f"it also holds {bases[foreign[0]].name}", "besides")
    if absent:
        name = bases[absent[0]].name
        text = f"{name} is not in it" if value else f"it is zero, expected {name}"
        return Difference("gradient-missing", (absent[0],), text)
    for share in value:
        if share.region != region:
            return Difference(
                "wrong-slice",
                (share.base,),
                f"it holds {spelled(share.region)} of {bases[share.base].name}, expected {spelled(region)}",
                ("region", len(region)),
            )
        if share.shard != shard:
            held_so, due_so = (_on(spelled(share.region), mark) for mark in (share.shard, shard))
            text = f"it holds {held_so} of {bases[share.base].name}, expected {due_so}"
            return Difference("wrong-slice", (share.base,), text, ("shard", len(region)))
    return None


def _not_once(value: Value, bases: tuple[Base, ...]) -> Difference | None:
    """Why something is added up too often in a value, or is another multiple of itself; None where it is not."""
    for share in value:
        base = bases[share.base]
        if share.spread and base.column not in (SUMMED, UNDECIDED):
            text = f"{base.name} is added up over {_columns(share.spread)}, though it is no sum over the batch"
            return Difference("reduced-twice", (share.base, share.spread), text, ("added up", share.spread))
        if share.times != 1:
            text = f"it holds {share.times} times {base.name}"
            return Difference("wrong-scale", (share.base, share.times), text, ("times", share.times))
    return None


def incomplete(value: Value, bases: tuple[Base, ...], plan: Plan) -> Difference | None:
    """Why a sum over the batch is not complete over all microbatches and replicas of `plan`; None where it is."""
    found = unreduced(value, bases, OVER_MICROBATCHES, "microbatches") if plan.microbatches > 1 else None
    if found is None and plan.replicas > 1:
        found = unreduced(value, bases, OVER_REPLICAS, "replicas")
    return found


def unreduced(value: Value, bases: tuple[Base, ...], spread: int, over: str) -> Difference | None:
    """Why a sum over the batch is not complete: it must be summed `over` what the flag `spread` stands for."""
    for share in value:
        if bases[share.base].column == SUMMED and not share.spread & spread:
            return Difference(
                "missing-reduction", (share.base, over), f"{bases[share.base].name} is not summed over the {over}", over
            )
    return None


def are_parts(value: Value, label: Label, bases: tuple[Base, ...]) -> bool:
    """Whether a value is a part of all sums over `label`, as their nodes make it, or added up."""
    made = {(bases[share.base].node, axis) for share in value for known, _ in share.part for axis in known.axes}
    return all((axis.node, axis) in made for axis in label.axes)


def _columns(spread: int) -> str:
    names = {OVER_MICROBATCHES: "microbatches", OVER_REPLICAS: "replicas"}
    return " and ".join(name for flag, name in names.items() if spread & flag)


def _on(region: str, mark: Mark) -> str:
    """A region in words, with how it goes on from replica to replica."""
    if not isinstance(mark, Shard):
        return f"{region} on all replicas"
    return f"{region} on replica 0, {mark.stride} further on each of the next"
