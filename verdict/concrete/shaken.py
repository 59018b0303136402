"""Both plans on numbers that are shaken (verdict/ops/shaken.py): a difference that is no greater than what that moves
is one of floats, not of plans.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from verdict.comparison import Row
from verdict.concrete.arrays import Arrays
from verdict.graph import Plan
from verdict.ops import Array
from verdict.ops.shaken import is_real, is_steady, shaken
from verdict.semantics import Operation, Site


class Shaken(Arrays):
    """Floats of which each that an operator makes anew is off. What is of a type of integers stays."""

    def __init__(self, plan: Plan, given: Mapping[int, Array]) -> None:
        super().__init__(given, exact=False)
        self._plan = plan

    def apply(
        self, operation: Operation, grads: Sequence[Array], forward: Sequence[Array], site: Site
    ) -> Sequence[Array | None]:
        """What the operator's rule makes, shaken where it is of real numbers."""
        made, node = super().apply(operation, grads, forward, site), site.step.node
        return [
            shaken(node.op, operation.attrs, grads, forward, array)
            if array is not None and self._is_real(tensor, array)
            else array
            for tensor, array in zip(node.outputs, made, strict=False)
        ]

    def _is_real(self, tensor: int, array: Array) -> bool:
        if tensor < 0 or array.dtype.kind != "f":
            return False
        return is_real(self._plan.logicals[self._plan.tensors[tensor].logical].dtype)


def steady(rows: Sequence[Row], noise: Sequence[Row]) -> tuple[Row, ...]:
    """The rows, of which those agree that differ by no more than ten times what shaking moves both sides by.

    noise: rows of which that is the error.
    """
    pairs = zip(rows, noise, strict=True)
    return tuple(replace(row, agrees=row.agrees or not is_steady(row.error, moved.error)) for row, moved in pairs)
