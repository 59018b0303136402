"""The flow of a plan: every rank and microbatch unrolled into one straight line of steps without communication.

A collective is what it does to values: a sum, a concatenation, a piece. So whoever runs a flow, on floats or on
solver terms, needs to know operators and arrays and nothing of ranks, messages or microbatches.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from verdict.errors import ShapeError, VerdictError
from verdict.graph import GRAD, Shape
from verdict.ops import RULES, Array, numbers
from verdict.ops.integers import cast
from verdict.solver import SolverError


class Inapplicable(Exception):
    """An operator asks its elements for what tokens and terms do not have, or looks up what is not there."""


CANNOT = (VerdictError, ShapeError, SolverError, ArithmeticError, Inapplicable)
"""What is raised where an operator cannot be run on what it is given (tokens, terms, numbers out of its domain).

Anything else is an error of ours and ends the program.
"""
OF_ELEMENTS = (TypeError, AttributeError, ValueError, IndexError)
"""What Python and numpy raise where elements that are objects lack an operation."""


class Place(NamedTuple):
    """Where a step stands: rank, microbatch (ONCE_A_STEP where none), and the node's name in its plan."""

    rank: int
    microbatch: int
    name: str


class Step(NamedTuple):
    """One operator on values. grads: how many leading inputs are gradients of outputs, for `.grad` operators.

    inputs, outputs: numbers of values, an output may be ABSENT. full: the attributes that the plan has at full shapes.
    """

    op: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    attrs: Mapping[str, Any]
    grads: int
    place: Place
    full: tuple[tuple[str, Any], ...] = ()

    @property
    def stated(self) -> Mapping[str, Any]:
        """The attributes for people: as the plan has them where it does."""
        return {**self.attrs, **{name: value for name, value in self.full if name in self.attrs}}


class Given(NamedTuple):
    """A value that the plan is given: slices to be taken, one after the other, of a single-device logical tensor."""

    value: int
    logical: int
    slices: tuple[tuple[slice, ...], ...]


class Result(NamedTuple):
    """A declared output: `value` is that region of the single-device output that has the same key.

    key: ("loss", name), ("gradient", single logical), ("output", single logical or name).
    declared: its places in `Plan.declared`, several of parts of one sum.
    """

    key: tuple[Hashable, ...]
    what: str
    where: str
    value: int
    region: tuple[slice, ...]
    declared: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Flow:
    """All steps in an order in which nothing is read before it is made. values: how many there are.

    truths: those of them that are truth values, as the types of what makes them have it; reals: those that operators
    make that are real numbers. elements: how many all values have.
    """

    values: int
    given: tuple[Given, ...]
    steps: tuple[Step, ...]
    results: tuple[Result, ...]
    truths: frozenset[int] = frozenset()
    reals: frozenset[int] = frozenset()
    elements: int = 0


def _fill(inputs: Sequence[Array], attrs: Mapping[str, Any]) -> tuple[Array, ...]:
    return (np.full(attrs["shape"], Fraction(attrs["number"]), dtype=object),)


def _sum(inputs: Sequence[Array], attrs: Mapping[str, Any]) -> tuple[Array, ...]:
    total = inputs[0]
    for value in inputs[1:]:
        total = np.asarray(total + value)
    return (total,)


def _mean(inputs: Sequence[Array], attrs: Mapping[str, Any]) -> tuple[Array, ...]:
    (total,) = _sum(inputs, attrs)
    return (np.asarray(total * Fraction(1, len(inputs)) if numbers.of_objects(total) else total / len(inputs)),)


def _max(inputs: Sequence[Array], attrs: Mapping[str, Any]) -> tuple[Array, ...]:
    greatest = inputs[0]
    for value in inputs[1:]:
        greatest = numbers.maximum(greatest, value)
    return (greatest,)


def _min(inputs: Sequence[Array], attrs: Mapping[str, Any]) -> tuple[Array, ...]:
    (greatest,) = _max([np.asarray(-value) for value in inputs], attrs)
    return (np.asarray(-greatest),)


def _piece(inputs: Sequence[Array], attrs: Mapping[str, Any]) -> tuple[Array, ...]:
    axis: int = attrs["axis"]
    return (inputs[0][(slice(None),) * axis + (slice(attrs["start"], attrs["stop"]),)],)


def _concatenate(inputs: Sequence[Array], attrs: Mapping[str, Any]) -> tuple[Array, ...]:
    return (np.concatenate(inputs, axis=attrs["axis"]),)


def _times(inputs: Sequence[Array], attrs: Mapping[str, Any]) -> tuple[Array, ...]:
    factor = attrs["factor"]
    return (np.asarray(inputs[0] * (factor if numbers.of_objects(inputs[0]) else float(factor))),)


FILL, SUM, MEAN, PIECE, CONCATENATE = "~fill", "~sum", "~mean", "~piece", "~concatenate"
TIMES, CAST = "~times", "~cast"
REDUCTIONS = {"sum": SUM, "avg": MEAN, "mean": MEAN, "max": "~max", "min": "~min"}
"""From the `reduce` attribute of a collective to the operator on what its members put in."""

_OWN: Mapping[str, Callable[[Sequence[Array], Mapping[str, Any]], tuple[Array, ...]]] = {
    FILL: _fill,
    SUM: _sum,
    MEAN: _mean,
    "~max": _max,
    "~min": _min,
    PIECE: _piece,
    CONCATENATE: _concatenate,
    TIMES: _times,
    CAST: lambda inputs, attrs: (cast(inputs[0], attrs["dtype"]),),
}


def apply(step: Step, inputs: Sequence[Array]) -> tuple[Array | None, ...]:
    """What `step` makes of `inputs`: arrays of floats, of exact rationals, of solver terms, or of anything for a step
    that only moves elements. Raises one of CANNOT where it makes nothing of them.
    """
    try:
        return _apply(step, inputs)
    except OF_ELEMENTS as error:
        if isinstance(error, IndexError) or any(numbers.of_objects(array) for array in inputs):
            raise Inapplicable(f"{step.op}: {error}") from error
        raise


def require_fit(step: Step, shapes: Sequence[Shape]) -> None:
    """Raise ShapeError or Inapplicable where a step that is only tried takes no inputs of these shapes."""
    if step.op in _OWN:
        return
    rule = RULES[step.op.removesuffix(GRAD)]
    grads, forward = tuple(shapes[: step.grads]), tuple(shapes[step.grads :])
    made = rule.axes(forward, step.attrs).output_shapes
    if grads and grads != made:
        raise Inapplicable(f"{step.op}: gradients of shapes {grads} where its outputs have {made}")


def attempt(step: Step, inputs: Sequence[Array]) -> tuple[Array | None, ...]:
    """What `apply` makes of inputs that were not made for the step: whatever the operator raises is Inapplicable."""
    try:
        return _apply(step, inputs)
    except OF_ELEMENTS as error:
        raise Inapplicable(f"{step.op}: {error}") from error


def _apply(step: Step, inputs: Sequence[Array]) -> tuple[Array | None, ...]:
    with np.errstate(all="ignore"):  # what is no number, of a row that is masked as a whole, is told by who reads it
        if step.op in _OWN:
            return _OWN[step.op](inputs, step.attrs)
        rule = RULES[step.op.removesuffix(GRAD)]
        if step.op.endswith(GRAD):
            return tuple(rule.gradient(inputs[step.grads :], inputs[: step.grads], step.attrs))
        return tuple(rule.forward(inputs, step.attrs))
