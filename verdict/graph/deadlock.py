"""Ranks that wait for each other: the circle in a graph of who waits for whom."""

from collections.abc import Sequence

from verdict.graph.lockstep import Stuck


def circle(stuck: Sequence[Stuck]) -> tuple[Stuck, ...]:
    """Ranks of which each waits for the next one, and the last for the first; empty where all wait for one that ended.

    stuck: all ranks that do not reach their ends. Of several that a rank waits for, one that has ended counts: it
    never comes; else the first.
    """
    import networkx  # noqa: PLC0415  (a sixth of the time in which the command starts)

    at = {waiting.device: waiting for waiting in stuck}
    waits = networkx.DiGraph()
    for waiting in stuck:
        ended = [rank for rank in waiting.awaits if rank not in at]
        waits.add_edges_from((waiting.device, rank) for rank in (ended or waiting.awaits)[:1])
    try:
        ring = [rank for rank, _ in networkx.find_cycle(waits)]
    except networkx.NetworkXNoCycle:
        return ()
    first = ring.index(min(ring))
    return tuple(at[rank] for rank in (*ring[first:], *ring[:first]))


def told(ring: Sequence[Stuck]) -> tuple[str, ...]:
    """Where each rank of a circle waits for the next one, a line each."""
    return tuple(
        f"rank {one.device} waits at {one.step.node.op} {one.step.node.name}, {one.step.when}, for rank {other.device}"
        for one, other in zip(ring, (*ring[1:], *ring[:1]), strict=True)
    )
