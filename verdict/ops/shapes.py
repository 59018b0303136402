"""What shape rules have in common: checks of attributes and dimensions, broadcasting, and making Axes."""

import math
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from verdict.errors import NoRuleError, ShapeError
from verdict.graph import Shape
from verdict.ops.kinds import require_kinds
from verdict.ops.rule import Array, Atom, Attributes, Axes, Dim, Law

FLOATING = frozenset({"float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"})


def known(name: str, attrs: Attributes, names: Collection[str]) -> None:
    """Refuse every attribute that the rule does not know: it could change the meaning."""
    for attribute in attrs:
        if attribute not in names:
            listed = ", ".join(sorted(names)) or "none"
            raise NoRuleError(f"{name}: unknown attribute {attribute}; the operator has {listed}")
    require_kinds(name, attrs)


def arity(name: str, shapes: Sequence[Shape], *counts: int) -> None:
    """Refuse a wrong number of inputs."""
    if len(shapes) not in counts:
        wanted = " or ".join(str(count) for count in counts)
        raise ShapeError(f"{name}: takes {wanted} inputs, found {len(shapes)}")


def filled(name: str, shapes: Sequence[Shape]) -> None:
    """Refuse inputs without elements, where an operator has no rule for them."""
    for position, shape in enumerate(shapes):
        if 0 in shape:
            raise NoRuleError(f"{name}: input {position} of shape {shape} has no elements")


def axis(name: str, dim: Any, rank: int) -> int:
    """The dimension that a possibly negative index means."""
    if not is_integer(dim) or not -rank <= dim < rank:
        raise ShapeError(f"{name}: no dimension {dim} in a tensor of {rank} dimensions")
    return int(dim) % rank


def is_integer(value: Any) -> bool:
    """Whether an attribute is an integer (and no truth value)."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Whether an attribute is a finite real number (and no truth value)."""
    return (
        isinstance(value, (int, float, np.integer, np.floating))
        and not isinstance(value, bool)
        and math.isfinite(value)
    )


def floating(name: str, dtype: Any) -> None:
    """Refuse a cast that is not the identity over the real numbers."""
    if dtype is not None and dtype not in FLOATING:
        raise ShapeError(f"{name}: a cast to {dtype} is not known to be the identity over the real numbers")


def make_axes(
    atoms: Sequence[Atom],
    inputs: Sequence[Sequence[Dim]],
    outputs: Sequence[Sequence[Dim]],
    keep: Collection[str] = (),
) -> Axes:
    """Axes without the atoms of size one, except those to `keep`, and without a `least` above the size."""
    kept = tuple(
        Atom(atom.name, atom.size, atom.law, min(atom.least, atom.size))
        for atom in atoms
        if atom.size != 1 or atom.name in keep
    )
    names = {atom.name for atom in kept}

    def pruned(tensors: Sequence[Sequence[Dim]]) -> tuple[tuple[Dim, ...], ...]:
        return tuple(tuple(tuple(name for name in dim if name in names) for dim in dims) for dims in tensors)

    return Axes(kept, pruned(inputs), pruned(outputs))


def numbered(prefix: str, shape: Shape) -> tuple[tuple[Atom, ...], tuple[Dim, ...]]:
    """One EACH atom a dimension, named by its position, and the dimensions made of them."""
    atoms = tuple(Atom(f"{prefix}{position}", size) for position, size in enumerate(shape))
    return atoms, tuple((atom.name,) for atom in atoms)


def along_one(
    inputs: Sequence[tuple[Shape, int | None]], outputs: Sequence[tuple[Shape, int | None]]
) -> Axes:
    """Index by index in all dimensions but one: the place of that in each tensor, None where it has none of it.

    In that one it is computed along, and sizes may differ; the others are alike in all tensors, in their order.
    """
    atoms: dict[str, Atom] = {}

    def dims(prefix: str, shape: Shape, along: int | None) -> tuple[Dim, ...]:
        names = [f"d{k if along is None or k < along else k - 1}" if k != along else prefix for k in range(len(shape))]
        for k, (name, size) in enumerate(zip(names, shape, strict=True)):
            atoms.setdefault(name, Atom(name, size, Law.WHOLE, size) if k == along else Atom(name, size))
        return tuple((name,) for name in names)

    read = tuple(dims(f"x{k}", *one) for k, one in enumerate(inputs))
    written = tuple(dims(f"y{k}", *one) for k, one in enumerate(outputs))
    return make_axes(tuple(atoms.values()), read, written)


def broadcast(name: str, prefix: str, *shapes: Shape) -> tuple[tuple[Atom, ...], tuple[tuple[Dim, ...], ...]]:
    """The atoms of the broadcast shape, and the dimensions of each tensor, () where it is repeated."""
    rank = max(len(shape) for shape in shapes)
    sizes = []
    for place in range(rank):
        found = {shape[place - rank + len(shape)] for shape in shapes if place >= rank - len(shape)} - {1}
        if len(found) > 1:
            listed = " and ".join(str(shape) for shape in shapes)
            raise ShapeError(
                f"{name}: shapes {listed} do not broadcast: {sorted(found)} meet in one dimension"
            )
        sizes.append(found.pop() if found else 1)
    atoms, dims = numbered(prefix, tuple(sizes))
    each = tuple(
        tuple(dim if size != 1 else () for size, dim in zip(shape, dims[rank - len(shape) :], strict=True))
        for shape in shapes
    )
    return atoms, each


def together(name: str, *shapes: Shape) -> Shape:
    """The shape that some broadcast to."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise ShapeError(f"{name}: shapes {' and '.join(map(str, shapes))} do not broadcast") from None


def unbroadcast(gradient: Array, shape: Shape) -> Array:
    """Sum a gradient over the dimensions along which an input of `shape` was repeated."""
    extra = gradient.ndim - len(shape)
    repeated = tuple(
        place
        for place in range(gradient.ndim)
        if place < extra or shape[place - extra] != gradient.shape[place]
    )
    if not repeated:
        return gradient
    return np.asarray(np.sum(gradient, axis=repeated, keepdims=True), dtype=gradient.dtype).reshape(shape)


def reductions(name: str, attrs: Attributes, rank: int) -> tuple[int, ...]:
    """The dimensions that `dim` names (None: all of them), ascending."""
    dim = attrs.get("dim")
    if dim is None:
        return tuple(range(rank))
    named = dim if isinstance(dim, tuple) else (dim,)
    places = tuple(sorted(axis(name, place, rank) for place in named))
    if not places or len(set(places)) < len(places):
        raise ShapeError(f"{name}: dim {dim} names no dimension, or one of them twice")
    return places
