"""softmax: y[.., k, ..] = exp(x[.., k, ..]) / sum over j of exp(x[.., j, ..])

    dx = y (dy - sum over k of y dy)

Numbers are shifted by their greatest first, which changes nothing but the range; terms are not.
exp(-inf) = 0, so a masked position has weight 0. A row of nothing but -inf has no value.
"""

from collections.abc import Sequence

import numpy as np

from verdict.errors import ShapeError
from verdict.graph import Shape
from verdict.ops import numbers
from verdict.ops.casts import CAST
from verdict.ops.rule import Array, Atom, Attributes, Axes, Law, OpRule
from verdict.ops.shapes import arity, axis, floating, known, make_axes
from verdict.ops.types import floats


def _axes(shapes: Sequence[Shape], attrs: Attributes) -> Axes:
    known("softmax", attrs, ("dim", "dtype"))
    arity("softmax", shapes, 1)
    floating("softmax", attrs.get("dtype"))
    if "dim" not in attrs:
        raise ShapeError("softmax: needs dim")
    (shape,) = shapes
    along = axis("softmax", attrs["dim"], len(shape))
    atoms = tuple(
        Atom("k", size, Law.WHOLE, 2) if place == along else Atom(f"b{place}", size)
        for place, size in enumerate(shape)
    )
    dims = tuple((atom.name,) for atom in atoms)
    return make_axes(atoms, (dims,), (dims,))


def softmax(x: Array, along: int) -> Array:
    """exp(x) over its sum along the dimension `along`."""
    powers = numbers.exp(x if numbers.has_terms(x) else np.asarray(x - numbers.amax(x, along)))
    return numbers.divide(powers, np.sum(powers, axis=along, keepdims=True))


def _forward(inputs: Sequence[Array], attrs: Attributes) -> tuple[Array, ...]:
    return (softmax(inputs[0], attrs["dim"]),)


def _gradient(inputs: Sequence[Array], grads: Sequence[Array], attrs: Attributes) -> tuple[Array | None, ...]:
    y = softmax(inputs[0], attrs["dim"])
    weighted = np.sum(y * grads[0], axis=attrs["dim"], keepdims=True)
    return (np.asarray(y * (grads[0] - weighted)),)


RULES = (
    OpRule(
        "softmax",
        _axes,
        _forward,
        _gradient,
        assumptions=(CAST,),
        attributes=("dim", "dtype"),
        formula="y[k] = exp(x[k]) / sum over j of exp(x[j]), along dim",
        source="torch.nn.functional.softmax",
        types=floats,
    ),
)
