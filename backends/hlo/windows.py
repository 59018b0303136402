"""Opcodes that read or write windows of an array at positions: slices with starts, gather and scatter."""

from typing import Any

from verdict.backends.hlo.instruction import ASSIGN, At
from verdict.backends.hlo.values import Known, Leaf, Refused


def _starts(at: At, first: int, sizes: tuple[int, ...]) -> tuple[int, ...] | None:
    """The starts from operand `first` on, clamped so that a slice of `sizes` lies inside; None where one is data."""
    starts = at.operands[first:]
    if len(starts) != len(at.operands[0].shape) or any(start.shape != () for start in starts):
        raise Refused("it has no scalar start for each dimension")
    known = [int(start.array) for start in starts if isinstance(start, Known)]
    if len(known) < len(starts):
        return None
    spans = [size - length for size, length in zip(at.operands[0].shape, sizes, strict=True)]
    return tuple(max(0, min(start, span)) for start, span in zip(known, spans, strict=True))


def dynamic_slice(at: At) -> Leaf:
    """A slice whose starts are clamped: a plain one where they are known."""
    sizes = at.numbers("dynamic_slice_sizes")
    if len(sizes) != len(at.operands[0].shape):
        raise Refused("it does not say its size in each dimension")
    starts = _starts(at, 1, sizes)
    if starts is None:
        return at.emit("hlo.dynamic_slice", sizes=sizes)
    limits = tuple(start + size for start, size in zip(starts, sizes, strict=True))
    return at.emit("hlo.slice", at.operands[:1], starts=starts, limits=limits, strides=(1,) * len(sizes))


def dynamic_update_slice(at: At) -> Leaf:
    """An update whose starts are clamped: of a known part where they are known."""
    if len(at.operands[1].shape) != len(at.operands[0].shape):
        raise Refused("its update has another rank")
    starts = _starts(at, 2, at.operands[1].shape)
    if starts is None:
        return at.emit("hlo.dynamic_update_slice")
    if at.operands[1].shape == at.operands[0].shape:
        return at.operands[1]
    return at.emit("hlo.update_slice", at.operands[:2], starts=starts)


def _shared(at: At, batching: str, index_batching: str, start_map: str) -> dict[str, Any]:
    vector = at.each.attrs.get("index_vector_dim", "")
    if not vector.isdecimal():
        raise Refused("it does not say its index_vector_dim")
    return {
        "index_vector": int(vector),
        "batching": at.numbers(batching),
        "index_batching": at.numbers(index_batching),
        "start_map": at.numbers(start_map),
    }


def gather(at: At) -> Leaf:
    """The windows at positions, which are clamped."""
    return at.emit(
        "hlo.gather",
        offset=at.numbers("offset_dims"),
        collapsed=at.numbers("collapsed_slice_dims"),
        sizes=at.numbers("slice_sizes"),
        **_shared(at, "operand_batching_dims", "start_indices_batching_dims", "start_index_map"),
    )


def scatter(at: At) -> Leaf:
    """Windows joined to what is at positions, or written there; what lies outside is dropped."""
    how = at.reducer()
    if len(at.operands) != 3 or how not in ("add", "maximum", "minimum", ASSIGN):
        raise Refused("a scatter of several arrays, or by another operator than a sum or an extreme, has no rule")
    return at.emit(
        "hlo.scatter" if how == ASSIGN else f"hlo.scatter_{how}",
        window=at.numbers("update_window_dims"),
        inserted=at.numbers("inserted_window_dims"),
        **_shared(at, "input_batching_dims", "scatter_indices_batching_dims", "scatter_dims_to_operand_dims"),
    )
