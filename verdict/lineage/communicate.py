"""What communication does to values: the meaning of each collective on formal sums of shares."""

from collections.abc import Sequence

from verdict.graph import extent
from verdict.lineage.values import Merge, Value, add, chunks, concatenate, piece


def all_reduce(values: Sequence[Value]) -> tuple[list[Value | None], tuple[Merge, ...]]:
    """Every member receives the sum of what the members put in."""
    total, merges = add(values)
    return [total] * len(values), merges


def all_gather(values: Sequence[Value], dim: int) -> tuple[list[Value | None], tuple[Merge, ...]]:
    """Every member receives the pieces side by side along `dim`, in the order of the group."""
    return [concatenate(values, dim)] * len(values), ()


def reduce_scatter(values: Sequence[Value], dim: int) -> tuple[list[Value | None], tuple[Merge, ...]]:
    """Member k receives the k-th chunk along `dim` of the sum."""
    total, merges = add(values)
    return [chunk(total, dim, k, len(values)) for k in range(len(values))], merges


def all_to_all(
    values: Sequence[Value], split_dim: int, concat_dim: int
) -> tuple[list[Value | None], tuple[Merge, ...]]:
    """Member k receives the k-th chunk along `split_dim` of every member, side by side along `concat_dim`."""
    received: list[Value | None] = []
    for k in range(len(values)):
        pieces = [chunk(value, split_dim, k, len(values)) for value in values]
        whole = [part for part in pieces if part is not None]
        received.append(concatenate(whole, concat_dim) if len(whole) == len(pieces) else None)
    return received, ()


def broadcast(values: Sequence[Value], root: int) -> tuple[list[Value | None], tuple[Merge, ...]]:
    """Every member receives what the member at position `root` of the group holds."""
    return [values[root]] * len(values), ()


def chunk(value: Value, dim: int, position: int, pieces: int) -> Value | None:
    """The chunk number `position` of `pieces` along `dim`, as torch.chunk cuts; None where there is none."""
    if not value:
        return value
    intervals = chunks(extent(value[0].region)[dim], pieces)
    return piece(value, dim, intervals[position]) if position < len(intervals) else None
