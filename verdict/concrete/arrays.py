"""Concrete execution: numpy arrays as the domain of the interpreter, floats or exact rationals.

A complex array has a trailing axis of length two.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from verdict.errors import ShapeError
from verdict.graph import Interval, Shape
from verdict.ops import Array
from verdict.ops.integers import cast
from verdict.ops.whole import Run, exactly
from verdict.semantics import Operation, Site


class Arrays:
    """given: arrays by logical tensor of the single-device plan. exact: whether numbers are rationals."""

    def __init__(self, given: Mapping[int, Array], exact: bool) -> None:
        self._given, self._exact = given, exact

    def given(self, logical: int, cuts: tuple[tuple[slice, ...], ...]) -> Array:
        """A region of a given array."""
        found = self._given[logical]
        for cut in cuts:
            found = np.asarray(found[cut])
        return found

    def fill(self, shape: Shape, number: int) -> Array:
        """An array of one number."""
        return np.full(shape, Fraction(number), dtype=object) if self._exact else np.full(shape, float(number))

    def apply(
        self, operation: Operation, grads: Sequence[Array], forward: Sequence[Array], site: Site
    ) -> Sequence[Array | None]:
        """What the operator's rule makes."""
        rule, attrs = operation.read.rule, operation.attrs

        def run(inputs: Sequence[Array]) -> Sequence[Array | None]:
            own, rest = inputs[: len(grads)], inputs[len(grads) :]
            return rule.gradient(rest, own, attrs) if operation.read.is_gradient else rule.forward(rest, attrs)

        try:
            return self._run(run, (*grads, *forward))
        except (ValueError, IndexError, ArithmeticError, ShapeError) as error:
            outside = isinstance(error, IndexError)
            raise site.fault(f"it cannot be computed: {error}", ours=not outside) from error

    def cast(self, value: Array, dtype: str, site: Site) -> Array:
        """Integers of a type."""
        return cast(value, dtype)

    def reduce(self, values: Sequence[Array], how: str, site: Site) -> Array:
        """The sum of all arrays, or their greatest, least or mean element by element."""
        return self._made(lambda arrays: _reduced(arrays, how), values)

    def piece(self, value: Array, axis: int, interval: Interval, site: Site) -> Array:
        """An interval along an axis."""
        return value[(slice(None),) * axis + (slice(*interval),)]

    def join(self, values: Sequence[Array], axis: int, site: Site) -> Array:
        """All arrays side by side along `axis`."""
        return self._made(lambda arrays: np.concatenate(arrays, axis=axis), values)

    def shape(self, value: Array) -> Shape:
        """The array's shape."""
        return value.shape

    def _made(self, run: Callable[[Sequence[Array]], Array], inputs: Sequence[Array]) -> Array:
        (found,) = self._run(lambda arrays: (run(arrays),), inputs)
        return np.asarray(found)

    def _run(self, run: Run, inputs: Sequence[Array]) -> Sequence[Array | None]:
        return run(inputs) if self._exact else exactly(run, inputs)


def _reduced(values: Sequence[Array], how: str) -> Array:
    stacked = np.stack(values)
    if how == "max":
        return np.asarray(stacked.max(axis=0))
    if how == "min":
        return np.asarray(stacked.min(axis=0))
    total = np.asarray(stacked.sum(axis=0))
    return np.asarray(total / len(values)) if how in ("avg", "mean") else total
