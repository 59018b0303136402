"""transpose: dimensions dim0 and dim1 change places. The gradient is the same transpose."""

from collections.abc import Sequence

import numpy as np

from verdict.errors import ShapeError
from verdict.graph import Shape
from verdict.ops.rule import Array, Atom, Attributes, Axes, OpRule
from verdict.ops.shapes import arity, axis, known, make_axes
from verdict.ops.types import like_first


def _axes(shapes: Sequence[Shape], attrs: Attributes) -> Axes:
    known("transpose", attrs, ("dim0", "dim1"))
    arity("transpose", shapes, 1)
    if "dim0" not in attrs or "dim1" not in attrs:
        raise ShapeError("transpose: needs both dim0 and dim1")
    (shape,) = shapes
    first, second = (axis("transpose", attrs[key], len(shape)) for key in ("dim0", "dim1"))
    atoms = tuple(
        Atom(f"d{place}", size, least=2 if place in {first, second} else 1)
        for place, size in enumerate(shape)
    )
    dims = [(atom.name,) for atom in atoms]
    swapped = list(dims)
    swapped[first], swapped[second] = dims[second], dims[first]
    return make_axes(atoms, (dims,), (swapped,))


def _swap(array: Array, attrs: Attributes) -> Array:
    return np.swapaxes(array, attrs["dim0"], attrs["dim1"])


def _forward(inputs: Sequence[Array], attrs: Attributes) -> tuple[Array, ...]:
    return (_swap(inputs[0], attrs),)


def _gradient(inputs: Sequence[Array], grads: Sequence[Array], attrs: Attributes) -> tuple[Array | None, ...]:
    return (_swap(grads[0], attrs),)


RULES = (
    OpRule(
        "transpose",
        _axes,
        _forward,
        _gradient,
        linear=frozenset({0}),
        moves=True,
        views=True,
        attributes=("dim0", "dim1"),
        formula="y[.., j, .., i, ..] = x[.., i, .., j, ..]",
        source="torch.transpose",
        types=like_first,
    ),
)
