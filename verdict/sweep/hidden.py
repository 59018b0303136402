"""What counts as numbers, though it is made of infinite ones, and may be none."""

from collections.abc import Sequence, Set

import numpy as np

from verdict.ops import FACTS
from verdict.ops.signs import compares
from verdict.sweep.elements import Elements, Ids
from verdict.sweep.flow import Step
from verdict.sweep.trace import makes_infinite


def hides_none(step: Step, reads: Sequence[Ids], positions: Set[int], rises: bool, elements: Elements) -> bool:
    """Whether a step may make what counts as numbers of infinite ones, and is none: the softmax of a row that has no
    finite element, or of what is no number itself.

    positions: at which inputs it reads what may be infinite; rises: whether that may be plus infinity. The greater one
    of minus infinity, as reductions begin with it, and a number is that number.
    """
    if compares(step.op):
        return False
    if positions:
        return FACTS.finite(step.op, positions, step.grads, rises)
    written = {k for k, ids in enumerate(reads) if makes_infinite({}, [ids], elements)}
    if not written or FACTS.covers(step.op) or not FACTS.finite(step.op, written, step.grads, rises=False):
        return False
    return any(_has_infinite_row(reads[k], step.attrs.get("dim", -1), elements) for k in written)


def _has_infinite_row(ids: Ids, axis: int, elements: Elements) -> bool:
    """Whether all along an axis some elements are minus infinity."""
    infinite = np.isin(ids, elements.constant(float("-inf")))
    return bool(infinite.all(axis=axis).any()) if ids.ndim else bool(infinite)
