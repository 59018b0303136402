"""Numbers that are shaken: what an operator makes is off by some hundred times what floats round it by.

A difference of two plans that this changes (1 - tanh(x)**2 where tanh(x) is 1 in floats) is one of floats,
not of plans.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from verdict.comparison import Row
from verdict.concrete.arrays import Arrays
from verdict.graph import Plan
from verdict.ops import Array
from verdict.semantics import Operation, Site

SHAKEN = 2e-14
"""Of itself, what a number is off by: some hundred times what floats round it by."""
STEADY = 0.1
"""Of itself, what a difference changes by at most that is none of floats: one of floats is a hundred times as great."""
OTHERS = ("bool", "complex", "int", "uint")
"""How the names of number formats begin that are none of real numbers: complex ones have an axis more."""
SPREAD = 1e6
"""What a number's digits are multiplied by for a sine that goes up and down with them."""


class Shaken(Arrays):
    """Floats of which each that an operator makes anew is off. What it hands on, what is infinite and what is of a type
    of integers stays, and equal numbers stay equal: what is compared, or the greatest, is so as before.
    """

    def __init__(self, plan: Plan, given: Mapping[int, Array]) -> None:
        super().__init__(given, exact=False)
        self._plan = plan

    def apply(
        self, operation: Operation, grads: Sequence[Array], forward: Sequence[Array], site: Site
    ) -> Sequence[Array | None]:
        """What the operator's rule makes, shaken where it is of real numbers."""
        made = super().apply(operation, grads, forward, site)
        read = [array.ravel() for array in (*grads, *forward) if array.dtype.kind == "f"]
        known = np.concatenate(read) if read else np.zeros(0)
        tensors = site.step.node.outputs
        return [
            array if array is None or not self._is_real(tensor, array) else _off(array, known)
            for tensor, array in zip(tensors, made, strict=False)
        ]

    def _is_real(self, tensor: int, array: Array) -> bool:
        if tensor < 0 or array.dtype.kind != "f":
            return False
        return not self._plan.logicals[self._plan.tensors[tensor].logical].dtype.startswith(OTHERS)


def _off(array: Array, known: Array) -> Array:
    digits, _ = np.frexp(array)
    kept = np.isin(array, known) | ~np.isfinite(array)
    return np.where(kept, array, array * (1 + SHAKEN * np.sin(SPREAD * digits)))


def steady(rows: Sequence[Row], shaken: Sequence[Row]) -> tuple[Row, ...]:
    """The rows, of which those agree whose difference is another one where numbers are shaken."""
    pairs = zip(rows, shaken, strict=True)
    return tuple(replace(row, agrees=row.agrees or not _is_alike(row.error, other.error)) for row, other in pairs)


def _is_alike(error: float, shaken: float) -> bool:
    return bool(np.isclose(shaken, error, rtol=STEADY, atol=0.0, equal_nan=True))
