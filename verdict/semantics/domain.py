"""The domain of an interpreter of plans: what its values are, and what can be done to them.

A domain knows operators and nothing of ranks, microbatches, messages or groups: those are the machine's.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from verdict.graph import Interval, Shape
from verdict.semantics.arity import Reading
from verdict.semantics.site import Site

V = TypeVar("V")
"""A value of a domain: what one tensor holds on one rank."""


class Operation(NamedTuple):
    """A node that computes, at the shapes of its plan.

    attrs: at these shapes. grads: the shapes of the gradients that it reads; made: of all that it makes. casts: for
    each output the type of integers to which it must still be cast, empty where it need not be.
    """

    read: Reading
    attrs: Mapping[str, Any]
    grads: tuple[Shape, ...]
    made: tuple[Shape, ...]
    casts: tuple[str, ...]


class Domain(Protocol[V]):
    """What an interpreter asks of its values. site: where it stands. What cannot be done raises Faulty."""

    def given(self, logical: int, cuts: tuple[tuple[slice, ...], ...]) -> V:
        """These cuts, one after the other, of a tensor that the single-device plan is given."""

    def fill(self, shape: Shape, number: int) -> V:
        """One number everywhere."""

    def apply(self, operation: Operation, grads: Sequence[V], forward: Sequence[V], site: Site) -> Sequence[V | None]:
        """What an operator, or its gradient, makes; None for a gradient that there is none of."""

    def cast(self, value: V, dtype: str, site: Site) -> V:
        """The value as integers of a type, which wrap around."""

    def reduce(self, values: Sequence[V], how: str, site: Site) -> V:
        """The reduction, element by element, of several values of one shape. how: one of REDUCTIONS."""

    def piece(self, value: V, axis: int, interval: Interval, site: Site) -> V:
        """The elements of an interval along an axis."""

    def join(self, values: Sequence[V], axis: int, site: Site) -> V:
        """Values side by side along an axis."""

    def shape(self, value: V) -> Shape:
        """The shape of a value; that of complex numbers may have a trailing axis of two."""
