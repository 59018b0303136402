"""Which integers a plan can be given, found by giving them to the single-device plan: it runs, or torch refuses.

The integers that matter are the sizes of all axes and the whole numbers among all attributes of both plans, each with
its neighbours. Where the single-device plan accepts all of them, what is drawn goes a little beyond them on both sides,
and every third seed also draws what does not fit into 8, 16 or 31 bits. Where it refuses some, they name elements of a
table: then they lie from 0 to the last one that is accepted, or are an integer below 0 that an attribute names (a
target that is ignored, say). A negative index that torch would count from the end is not drawn.
"""

from collections.abc import Callable, Container, Iterator, Mapping
from typing import Any, NamedTuple

import torch

from verdict.graph import Plan

Accepts = Callable[[int, tuple[int, ...]], bool]
"""Whether the single-device plan runs where this logical tensor holds these integers."""
WILD = (-129, 128, 255, 256, 300, 32768, 65536 + 7, 2**31 + 5, -(2**31) - 3)
"""Integers that do not fit into 8, 16 or 31 bits."""
MOST = 1 << 40
"""Integers of plans beyond this are not among those that matter."""
UNSAID = frozenset({"values", "channel", "ranks", "root", "peer"})
"""Attributes whose integers no input is compared with: tables, and who speaks with whom."""
ROWS = 0.5
"""Of the integers that are drawn, the share that lie among the rows of a table."""


class Integers(NamedTuple):
    """The integers that an input may hold. edges: those of them that matter. apart: those that one plan alone names."""

    low: int
    high: int
    beside: tuple[int, ...]
    edges: tuple[int, ...]
    apart: tuple[int, ...] = ()


def marks(*plans: Plan) -> tuple[int, ...]:
    """The integers that plans name: sizes and attributes."""
    found = {1}
    for plan in plans:
        found |= {size for logical in plan.logicals for size in logical.shape}
        for segment in plan.segments:
            for node in segment.nodes:
                found |= {number for name, value in node.attrs if name not in UNSAID for number in _whole(value)}
    return tuple(sorted(number for number in found if abs(number) < MOST))


def _whole(value: Any) -> Iterator[int]:
    if isinstance(value, int) and not isinstance(value, bool):
        yield value
    elif isinstance(value, float) and value.is_integer() and abs(value) < MOST:
        yield int(value)
    elif isinstance(value, tuple):
        for item in value:
            yield from _whole(item)


def accepted(tensor: int, dtype: str, named: tuple[int, ...], accepts: Accepts, apart: Container[int] = ()) -> Integers:
    """The integers that an input of this type may hold."""
    if dtype == "bool":
        return Integers(0, 1, (), (0, 1))
    kind = torch.iinfo(getattr(torch, dtype))
    near = {number + step for number in named for step in (-1, 0, 1)} | {0, 1, -1}
    candidates = sorted(number for number in near if kind.min <= number <= kind.max)
    high = _furthest([number for number in candidates if number >= 1], lambda number: accepts(tensor, (number, 0)))
    below = [number for number in reversed(candidates) if number <= 0]
    low = _furthest(below, lambda number: accepts(tensor, (number, 0))) if high == candidates[-1] else 0
    others = tuple(number for number in named if kind.min <= number < low)
    beside = tuple(number for number in others if accepts(tensor, (number, 0)))
    edges = tuple(n for n in candidates if low <= n <= high)
    return Integers(low, high, beside, edges, tuple(n for n in (*edges, *beside) if n in apart))


def _furthest(candidates: list[int], fine: Callable[[int], bool]) -> int:
    """The last of the candidates that is accepted, where whatever comes before an accepted one is accepted, too."""
    if fine(candidates[-1]):
        return candidates[-1]
    good, bad = 0, len(candidates) - 1
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if fine(candidates[middle]) else (good, middle)
    return candidates[good]


def drawn(known: Integers, shape: tuple[int, ...], random: torch.Generator, seed: int) -> Any:
    """Random integers: some from low to high, the others what matters, in turn over the elements and the seeds.

    Of tables of any size that matters, rows are drawn often: half of what lies anywhere is from 0 to some edge.
    """
    anywhere = torch.randint(known.low, known.high + 1, shape, generator=random)
    tops = torch.tensor([edge for edge in known.edges if edge > 0] or [known.high])
    rows = torch.rand(shape, generator=random) * (tops[torch.randint(len(tops), shape, generator=random)] + 1)
    anywhere = torch.where(torch.rand(shape, generator=random) < ROWS, rows.long(), anywhere)
    matter = [*known.edges, *known.beside * max(1, len(known.edges) // 4)]
    matter += known.apart * max(1, len(matter) // (2 * len(known.apart) or 1))
    if seed % 3 == 2 and known.high - known.low > max(abs(n) for n in known.edges):
        matter += [number for number in WILD if known.low <= number <= known.high]
    count = anywhere.numel()
    turn = (seed * count + torch.randperm(count, generator=random)) % len(matter)
    share = 0.5 if count > 2 * len(matter) else 0.2
    chosen = torch.tensor(matter)[turn].reshape(shape)
    return torch.where(torch.rand(shape, generator=random) < share, anywhere, chosen)


def ranges(single: Plan, parallel: Plan, wanted: Mapping[int, str], accepts: Accepts) -> dict[int, Integers]:
    """What each integer tensor of the single-device plan may hold. wanted: the types of those."""
    named, apart = marks(single, parallel), set(marks(single)) ^ set(marks(parallel))
    return {tensor: accepted(tensor, dtype, named, accepts, apart) for tensor, dtype in wanted.items()}
