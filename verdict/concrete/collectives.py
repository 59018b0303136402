"""Collectives on arrays: from what the members put in, in the order of the group, to what each gets back."""

from collections.abc import Sequence

import numpy as np

from verdict.concrete.wiring import chunks
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
