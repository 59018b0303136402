"""Collectives on arrays: from what the members put in, in the order of the group, to what each gets back."""

from collections.abc import Callable, Sequence

import numpy as np

from verdict.comparison import Fault, Faulty
from verdict.concrete.wiring import axis_of, chunks
from verdict.graph.lockstep import Step, attribute
from verdict.ops import Array


def reduced(values: Sequence[Array], how: str) -> Array:
    """The sum of all arrays, or their greatest, least or mean element by element."""
    stacked = np.stack(values)
    if how == "max":
        return np.asarray(stacked.max(axis=0))
    if how == "min":
        return np.asarray(stacked.min(axis=0))
    total = np.asarray(stacked.sum(axis=0))
    return np.asarray(total / len(values)) if how in ("avg", "mean") else total


REDUCTIONS = frozenset({"sum", "max", "min", "avg", "mean"})


def piece(value: Array, axis: int, position: int, pieces: int) -> Array | None:
    """Piece number `position` of torch.chunk along `axis`; None where there are fewer pieces."""
    intervals = chunks(value.shape[axis], pieces)
    if position >= len(intervals):
        return None
    return value[(slice(None),) * axis + (slice(*intervals[position]),)]


def gathered(values: Sequence[Array], axis: int) -> Array:
    """All arrays side by side along `axis`, in the order of the group."""
    return np.concatenate(values, axis=axis)


def scattered(values: Sequence[Array], axis: int, how: str) -> list[Array | None]:
    """Each member's piece of the reduction."""
    total = reduced(values, how)
    return [piece(total, axis, position, len(values)) for position in range(len(values))]


def exchanged(values: Sequence[Array], split: int, concat: int) -> list[Array | None]:
    """All to all: member k gets piece k, along `split`, of every member's array, side by side along `concat`."""
    found: list[Array | None] = []
    for position in range(len(values)):
        parts = [piece(value, split, position, len(values)) for value in values]
        whole = [part for part in parts if part is not None]
        found.append(np.concatenate(whole, axis=concat) if len(whole) == len(parts) else None)
    return found


def exchange(first: Step, ranks: tuple[int, ...], values: list[Array], where: str) -> list[Array | None]:
    """What each rank gets back; into a broadcast only the root's value goes."""
    node, count = first.node, len(ranks)
    how = attribute(node, "reduce") or "sum"
    if how not in REDUCTIONS:
        raise Faulty(Fault(f"the reduction {how} is not known", where, ours=True))
    root = attribute(node, "root")
    if node.op in ("broadcast", "reduce") and root not in ranks:
        raise Faulty(Fault(f"its root {root} is not in its group {list(ranks)}", where))
    if node.op == "broadcast" and values:
        return [values[0]] * count
    if len(values) % count or not values:
        raise Faulty(Fault("some members put nothing in", where))
    run: dict[str, Callable[[], list[Array | None]]] = {
        "all_reduce": lambda: [reduced(values, how)] * count,
        "all_gather": lambda: [gathered(values, axis_of(first, "dim", values[0].shape, where))] * count,
        "reduce_scatter": lambda: scattered(values, axis_of(first, "dim", values[0].shape, where), how),
        "all_to_all": lambda: exchanged(
            values,
            axis_of(first, "split_dim", values[0].shape, where),
            axis_of(first, "concat_dim", values[0].shape, where),
        ),
        "reduce": lambda: [reduced(values, how) if rank == root else None for rank in ranks],
    }
    try:
        return run[node.op]()
    except ValueError as error:
        raise Faulty(Fault(f"what its members put in does not fit together: {error}", where)) from None
