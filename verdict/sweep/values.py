"""The values of all elements of a flow on several seeds, in floats: from which equal elements are guessed."""

from collections.abc import Mapping, Sequence

import numpy as np

from verdict.graph import ABSENT, BUFFER, Plan
from verdict.ops import Array
from verdict.sweep.flow import Flow, apply

SEEDS = 3
"""On how many seeds both plans are run."""


def run(flow: Flow, given: Mapping[int, Array]) -> list[Array | None]:
    """The value of every number of a flow; None for what no step makes. given: arrays by single logical tensor."""
    values: list[Array | None] = [None] * flow.values
    for item in flow.given:
        whole = given[item.logical]
        for slices in item.slices:
            whole = np.asarray(whole[slices])
        values[item.value] = whole
    with np.errstate(all="ignore"):
        for step in flow.steps:
            made = apply(step, [_present(values, number) for number in step.inputs])
            for number, output in zip(step.outputs, made, strict=False):
                if number != ABSENT and output is not None:
                    values[number] = np.asarray(output, dtype=np.float64)
    return values


def _present(values: Sequence[Array | None], number: int) -> Array:
    array = values[number]
    if array is None:
        raise ValueError("nothing is made where an input is wanted")
    return array


def positive_buffers(plan: Plan, given: Mapping[int, Array]) -> dict[int, Array]:
    """The same values with buffers positive, since some are read under roots (the second moments of an optimizer)."""
    return {
        logical: np.asarray(np.abs(array) + 0.05)
        if plan.logicals[logical].kind == BUFFER and array.dtype == np.float64
        else array
        for logical, array in given.items()
    }
