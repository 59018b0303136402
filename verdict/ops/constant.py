"""constant: a tensor whose elements the plan names.

It reads nothing and has no gradient. The elements are exact: 0.1 is a tenth.
"""

import math
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from verdict.errors import ShapeError
from verdict.graph import Shape
from verdict.ops import numbers
from verdict.ops.rule import Array, Atom, Attributes, Axes, Law, OpRule
from verdict.ops.shapes import arity, known, make_axes

CONSTANT = "constant"


def _axes(shapes: Sequence[Shape], attrs: Attributes) -> Axes:
    known(CONSTANT, attrs, ("shape", "values"))
    arity(CONSTANT, shapes, 0)
    shape, values = attrs.get("shape"), attrs.get("values")
    if not isinstance(shape, tuple) or not isinstance(values, tuple) or prod(shape) != len(values):
        raise ShapeError(f"constant: needs a shape and as many values; shape is {shape}")
    atoms = tuple(Atom(f"d{k}", size, Law.WHOLE, size) for k, size in enumerate(shape))
    return make_axes(atoms, (), (tuple((atom.name,) for atom in atoms),))


def _forward(inputs: Sequence[Array], attrs: Attributes) -> tuple[Array, ...]:
    return (listed(attrs["values"], attrs["shape"]),)


def listed(named: Sequence[Any], shape: Shape) -> Array:
    """The numbers that a plan names, exactly, in a shape."""
    values = [_exact(value) for value in named]
    if all(isinstance(value, int) for value in values):
        return np.asarray(values, dtype=np.int64).reshape(shape)
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made.reshape(shape)


def _exact(value: Any) -> Any:
    if isinstance(value, float):
        return numbers.rational(value) if math.isfinite(value) else value
    return int(value)


def _gradient(inputs: Sequence[Array], grads: Sequence[Array], attrs: Attributes) -> tuple[Array | None, ...]:
    return ()


RULES = (
    OpRule(
        CONSTANT,
        _axes,
        _forward,
        _gradient,
        attributes=("shape", "values"),
        formula="y = values, of shape `shape`",
        source="docs/plan-format.md",
    ),
)
