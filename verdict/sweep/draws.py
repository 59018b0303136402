"""Random numbers of which the model of randomness cannot say what they are.

What an element is multiplied by is modelled as one unknown function of the element. That is right where an element
is drawn for once; two draws for one element, or for two equal ones, are independent in truth, and equal in the model.
Of a number the function is a number, which stands for what is drawn and is nothing that could be drawn.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from verdict.graph import GRAD
from verdict.ops import FACTS, Array
from verdict.sweep.flow import Flow, Step

DIGITS = 10
"""Values that agree so far are taken for equal."""


def drawn_twice(flow: Flow, values: Sequence[Sequence[Array | None]]) -> tuple[tuple[str, str], ...]:
    """The steps that draw for constants, or for values for which they, or another step of their rank, draw again: where
    that is, and why it matters.

    values: of each seed, those of the flow. Zeros are left out, which stay zeros.
    """
    seen: dict[int, list[tuple[Step, npt.NDArray[np.float64]]]] = {}
    found: dict[tuple[str, str], None] = {}
    for step in flow.steps:
        if FACTS.drops(step.op.removesuffix(GRAD), step.attrs) and (why := _of_no_use(step, values)):
            found[f"{step.op} {step.place.name}", why] = None
        if not FACTS.draws(step.op, step.attrs):
            continue
        own = _elements(step, values)
        for other, theirs in seen.setdefault(step.place.rank, []):
            if other.op == step.op and _meet(own, theirs):
                why = f"it draws random numbers for the same values as {other.place.name}, which are others in truth"
                found[f"{step.op} {step.place.name}", why] = None
        seen[step.place.rank].append((step, own))
    return tuple(found)


def _of_no_use(step: Step, values: Sequence[Sequence[Array | None]]) -> str:
    """Why what a step draws cannot be modelled; empty where it can.

    Of several inputs rows of the first one count, zeros too: what is drawn for is made of them within the step.
    Zeros alone stay zeros where they are dropped; a gradient that is dropped for them does not.
    """
    step = step._replace(inputs=step.inputs[step.grads :])
    drawn = _rounded(step, values)
    several = len(step.inputs) > 1
    if several:
        first = next(array for value in step.inputs if (array := values[0][value]) is not None)
        drawn = drawn[: first.size].reshape(-1, (first.shape[-1] if first.ndim else 1) * len(values))
    elif not step.grads:
        drawn = drawn[np.any(drawn != 0, axis=1)]
    if FACTS.draws(step.op.removesuffix(GRAD), step.attrs) and len(np.unique(drawn, axis=0)) < len(drawn):
        return "it draws random numbers for equal values, which are others in truth"
    constant = not several and len(values) > 1 and bool((drawn == drawn[:, :1]).all(axis=1).any())
    return "it draws random numbers for constants, which stand for no draw" if constant else ""


def _elements(step: Step, values: Sequence[Sequence[Array | None]]) -> npt.NDArray[np.float64]:
    """One row for each element that is drawn for, its values on all seeds; for an operator of several inputs, one row
    for all that it reads.
    """
    rows = _rounded(step, values)
    if len(step.inputs) > 1:
        rows = rows.reshape(1, -1)
    kept = rows[np.any(rows != 0, axis=1)]
    return np.asarray(np.unique(kept, axis=0), dtype=np.float64)


def _rounded(step: Step, values: Sequence[Sequence[Array | None]]) -> npt.NDArray[np.float64]:
    """One row for each element that a step reads, its values on all seeds."""
    rows = np.array([_side(step, seed) for seed in values], dtype=np.float64).T
    with np.errstate(all="ignore"):
        sizes = 10.0 ** (DIGITS - np.ceil(np.log10(np.maximum(np.abs(rows), 1e-300))))
        return np.where(rows == 0, 0.0, np.round(rows * sizes) / sizes)


def _side(step: Step, seed: Sequence[Array | None]) -> npt.NDArray[np.float64]:
    arrays: Iterator[Array] = (array for value in step.inputs if (array := seed[value]) is not None)
    return np.concatenate([np.asarray(array, dtype=np.float64).ravel() for array in arrays])


def _meet(one: npt.NDArray[np.float64], other: npt.NDArray[np.float64]) -> bool:
    """Whether two sets of rows have one in common."""
    if not len(one) or not len(other) or one.shape[1] != other.shape[1]:
        return False
    both = np.concatenate([one, other])
    return len(np.unique(both, axis=0)) < len(both)
