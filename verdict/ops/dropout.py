"""dropout: y = x m, where m is 1 / (1 - p) for an element that is kept and 0 for one that is dropped; dx = dy m

Without training, or with p = 0, y = x. Which elements are kept is decided by a random state. A proof takes it
that the state is shared: an element of a tensor is kept or dropped alike wherever it is computed, whatever the
share, device and microbatch, as if m were drawn once for the whole single-device tensor. Different p draw
different m.

On terms m is an unknown function of the element itself and p. Within a stage each element of a tensor is an
expression of its own, so this tells elements apart by their place; two nodes that draw for the same input
cannot be told apart, and such nodes are never compared (`random`). What this model does not know is that
dropout is linear for a fixed m.
"""

from collections.abc import Sequence

import numpy as np

from verdict.errors import ShapeError
from verdict.graph import Shape
from verdict.ops import numbers
from verdict.ops.rule import Array, Attributes, Axes, OpRule
from verdict.ops.shapes import arity, is_number, known, make_axes, numbered
from verdict.outcome import Assumption

STATE = Assumption(
    "dropout-state",
    "dropout keeps or drops each element of a single-device tensor alike on all ranks, shares and microbatches",
)


def check(name: str, p: object, training: object) -> None:
    """Refuse what is no probability, and a flag that is neither True nor False."""
    if not is_number(p) or not 0 <= float(p) <= 1:  # type: ignore[arg-type]
        raise ShapeError(f"{name}: the dropout probability is {p}, it must be a number from 0 to 1")
    if not isinstance(training, bool):
        raise ShapeError(f"{name}: training is {training}, it must be True or False")


def factor(x: Array, p: float, training: bool) -> Array:
    """m for every element of x."""
    return numbers.kept(x, p if training else 0)


def _axes(shapes: Sequence[Shape], attrs: Attributes) -> Axes:
    known("dropout", attrs, ("p", "training"))
    arity("dropout", shapes, 1)
    check("dropout", attrs.get("p", 0.5), attrs.get("training", True))
    atoms, dims = numbered("d", shapes[0])
    return make_axes(atoms, (dims,), (dims,))


def _factor(x: Array, attrs: Attributes) -> Array:
    return factor(x, attrs.get("p", 0.5), attrs.get("training", True))


def _forward(inputs: Sequence[Array], attrs: Attributes) -> tuple[Array, ...]:
    return (np.asarray(inputs[0] * _factor(inputs[0], attrs)),)


def _gradient(inputs: Sequence[Array], grads: Sequence[Array], attrs: Attributes) -> tuple[Array | None, ...]:
    return (np.asarray(grads[0] * _factor(inputs[0], attrs)),)


RULES = (
    OpRule(
        "dropout",
        _axes,
        _forward,
        _gradient,
        drops=lambda attrs: attrs.get("p", 0.5) if attrs.get("training", True) else 0,
        assumptions=(STATE,),
        attributes=("p", "training"),
        formula="y = x / (1 - p) where the random state keeps x, else 0",
        source="torch.nn.functional.dropout",
    ),
)
