"""What the declared outputs hold at the end of the step: a part of a sum over devices together with the other parts."""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress

from verdict.graph import ONCE_A_STEP, Held, Place
from verdict.lineage.holdings import Holdings
from verdict.lineage.lineages import End, Unfollowed
from verdict.lineage.values import Value

_Sum = tuple[int, object, int]


def ends_of(holdings: Holdings) -> Iterator[End]:
    """Every declared output with what it holds. Of each other part the first device that holds it counts."""
    for declared in (holdings.plan.losses, holdings.plan.gradients, holdings.plan.outputs):
        first: dict[_Sum, dict[int, Held]] = defaultdict(dict)
        sums = [first[_sum(holdings, held)] for held in declared]
        for held, parts in zip(declared, sums, strict=True):
            parts.setdefault(holdings.plan.tensors[held.tensor].part[0], held)
        for held, parts in zip(declared, sums, strict=True):
            yield End(held, _total(holdings, held, parts))


def _sum(holdings: Holdings, held: Held) -> _Sum:
    """Equal for the parts of one sum."""
    share = holdings.plan.tensors[held.tensor]
    return share.logical, share.region, share.part[1]


def _total(holdings: Holdings, held: Held, first: dict[int, Held]) -> Value | None:
    mine, parts = holdings.plan.tensors[held.tensor].part
    if parts == 1:
        return holdings.read(held.device, held.tensor)
    missing = [part for part in range(parts) if part not in first]
    if missing:
        place = Place(held.device, ONCE_A_STEP, "the end of the step", "output")
        with suppress(Unfollowed):
            holdings.gap(f"no rank holds part {missing[0]} of {parts} of {holdings.name(held.tensor)}", place)
        return None
    of = [held if part == mine else first[part] for part in range(parts)]
    values = [value for end in of if (value := holdings.read(end.device, end.tensor)) is not None]
    return holdings.sum(values) if len(values) == parts else None
