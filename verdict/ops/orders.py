"""Operators that put numbers into an order: sums of what an order permutes are sums of what it was before."""

from collections.abc import Mapping
from typing import Any

from verdict.graph import GRAD
from verdict.ops.names import name_of

ALL = (None, ())


def permutation(op: str, attrs: Mapping[str, Any]) -> tuple[int, int] | None:
    """The output of a node that holds, along a dimension, each place of it once, and the dimension."""
    return (1, int(attrs.get("dim", -1))) if _is(op, "sort") else None


def distinct(op: str, attrs: Mapping[str, Any]) -> tuple[int, int] | None:
    """The output of a node of which no row along a dimension, and no part of one, holds a place twice, and that
    dimension.
    """
    return (1, int(attrs.get("dim", -1))) if _is(op, "sort") or _is(op, "topk") else None


def hands_on(op: str) -> bool:
    """Whether a node hands on elements of its first input, each once at most and none beside them, in the rows in which
    they were.
    """
    return any(_is(op, name) for name in ("slice", "narrow", "clone", "detach", "alias", "contiguous"))


def written(op: str, attrs: Mapping[str, Any]) -> tuple[int, str] | None:
    """Of a node that writes its third input into its first, at the places that the second one says: along which
    dimension, and the operator that adds it there; None of any other.
    """
    return (int(attrs["dim"]), "aten.scatter_add") if op == "aten.scatter.src" else None


def padding(op: str, attrs: Mapping[str, Any]) -> tuple[int, str, Mapping[str, Any]] | None:
    """Of a node that puts its one input between zeros along a dimension: that dimension, and the operator that takes
    what stands there, with its attributes; None of any other.
    """
    if op != "aten.slice_backward":
        return None
    taken = {name: attrs[name] for name in ("dim", "start", "end", "step") if name in attrs}
    return int(attrs["dim"]), "aten.slice.Tensor", taken


def picking(op: str, attrs: Mapping[str, Any]) -> int | None:
    """The dimension along which a node takes elements of its first input, at the places that the second one says."""
    return int(attrs["dim"]) if _is(op, "gather") and "dim" in attrs else None


def adding(op: str, attrs: Mapping[str, Any], ndim: int) -> frozenset[int] | None:
    """The dimensions over which a node does nothing but to add up its one input; None where it does not."""
    if not _is(op, "sum"):
        return None
    dims = attrs.get("dim")
    every = range(ndim) if dims in ALL else [dims] if isinstance(dims, int) else dims
    return frozenset(dim % ndim for dim in every) if ndim else None


def _is(op: str, name: str) -> bool:
    return op.startswith("aten.") and not op.endswith(GRAD) and name_of(op) == name
