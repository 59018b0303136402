"""Random numbers that are drawn several times for the same values: the model of randomness cannot tell them apart.

What an element is multiplied by is modelled as one unknown function of the element. That is right where an element
is drawn for once; two draws for one element are independent in truth, and equal in the model.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from verdict.ops import FACTS, Array
from verdict.sweep.flow import Flow, Step

DIGITS = 10
"""Values that agree so far are taken for equal."""


def drawn_twice(flow: Flow, values: Sequence[Sequence[Array | None]]) -> tuple[tuple[str, str], ...]:
    """The steps that draw for values for which another step of their rank draws, too: where, and why that matters.

    values: of each seed, those of the flow. Zeros are left out, which stay zeros.
    """
    seen: dict[int, list[tuple[Step, npt.NDArray[np.float64]]]] = {}
    found: dict[tuple[str, str], None] = {}
    for step in flow.steps:
        if not FACTS.draws(step.op, step.attrs):
            continue
        own = _elements(step, values)
        for other, theirs in seen.setdefault(step.place.rank, []):
            if other.op == step.op and _meet(own, theirs):
                why = f"it draws random numbers for the same values as {other.place.name}, which are others in truth"
                found[f"{step.op} {step.place.name}", why] = None
        seen[step.place.rank].append((step, own))
    return tuple(found)


def _elements(step: Step, values: Sequence[Sequence[Array | None]]) -> npt.NDArray[np.float64]:
    """One row for each element that is drawn for, its values on all seeds; for an operator of several inputs, one row
    for all that it reads.
    """
    rows = np.array([_side(step, seed) for seed in values], dtype=np.float64).T
    if len(step.inputs) > 1:
        rows = rows.reshape(1, -1)
    with np.errstate(all="ignore"):
        sizes = 10.0 ** (DIGITS - np.ceil(np.log10(np.maximum(np.abs(rows), 1e-300))))
        rounded = np.where(rows == 0, 0.0, np.round(rows * sizes) / sizes)
    kept = rounded[np.any(rounded != 0, axis=1)]
    return np.asarray(np.unique(kept, axis=0), dtype=np.float64)


def _side(step: Step, seed: Sequence[Array | None]) -> npt.NDArray[np.float64]:
    arrays: Iterator[Array] = (array for value in step.inputs if (array := seed[value]) is not None)
    return np.concatenate([np.asarray(array, dtype=np.float64).ravel() for array in arrays])


def _meet(one: npt.NDArray[np.float64], other: npt.NDArray[np.float64]) -> bool:
    """Whether two sets of rows have one in common."""
    if not len(one) or not len(other) or one.shape[1] != other.shape[1]:
        return False
    both = np.concatenate([one, other])
    return len(np.unique(both, axis=0)) < len(both)
