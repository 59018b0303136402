"""Ranks that wait for each other: the circle in a graph of who waits for whom."""

from collections.abc import Mapping, Sequence

from verdict.graph.lockstep import Stuck


def circle(stuck: Sequence[Stuck]) -> tuple[Stuck, ...]:
    """Ranks of which each waits for the next one, and the last for the first; empty where all wait for one that ended.

    stuck: all ranks that do not reach their ends. Of several that a rank waits for, one that has ended counts: it
    never comes; else the first.
    """
    at = {waiting.device: waiting for waiting in stuck}
    waits: dict[int, int] = {}
    for waiting in stuck:
        ended = [rank for rank in waiting.awaits if rank not in at]
        waits.update((waiting.device, rank) for rank in (ended or waiting.awaits)[:1])
    ring = next((ring for rank in waits if (ring := _ring(waits, rank))), [])
    first = ring.index(min(ring)) if ring else 0
    return tuple(at[rank] for rank in (*ring[first:], *ring[:first]))


def _ring(waits: Mapping[int, int], rank: int) -> list[int]:
    """The circle at the end of the way of those for whom a rank waits; empty where there is none."""
    way: dict[int, None] = {}
    while rank not in way:
        way[rank] = None
        if rank not in waits:
            return []
        rank = waits[rank]
    ranks = list(way)
    return ranks[ranks.index(rank) :]


def told(ring: Sequence[Stuck]) -> tuple[str, ...]:
    """Where each rank of a circle waits for the next one, a line each."""
    return tuple(
        f"rank {one.device} waits at {one.step.node.op} {one.step.node.name}, {one.step.when}, for rank {other.device}"
        for one, other in zip(ring, (*ring[1:], *ring[:1]), strict=True)
    )
