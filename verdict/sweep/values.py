"""The values of all elements of a flow on several seeds, in floats: from which equal elements are guessed."""

from collections.abc import Mapping, Sequence, Set
from functools import partial

import numpy as np

from verdict.graph import ABSENT, BUFFER, Plan
from verdict.ops import Array
from verdict.ops.shaken import shaken
from verdict.ops.whole import exactly, is_exact
from verdict.sweep.flow import Flow, Step, apply

SEEDS = 6
"""On how many seeds both plans are run."""
Values = list[list[Array | None]]
"""For each seed, the array of each value of a flow."""


def run(
    flow: Flow, given: Mapping[int, Array], kept: Set[int] | None = None, shakes: bool = False
) -> list[Array | None]:
    """The value of every number of a flow; None for what no step makes. given: arrays by single logical tensor.

    kept: those that are wanted at the end, if not all are; others are forgotten when they have been read for the last
    time. shakes: whether what operators make is off by far more than rounding (verdict/ops/shaken.py).
    """
    values: list[Array | None] = [None] * flow.values
    exact: dict[int, Array] = {}
    for item in flow.given:
        whole = given[item.logical]
        for slices in item.slices:
            whole = np.asarray(whole[slices])
        values[item.value] = whole
    last = {} if kept is None else _last_reads(flow, kept)
    with np.errstate(all="ignore"):
        for number, step in enumerate(flow.steps):
            read = [exact.get(value, _present(values, value)) for value in step.inputs]
            made = exactly(partial(apply, step), read)
            if shakes:
                made = tuple(_shaken(step, read, *each, flow.reals) for each in zip(step.outputs, made, strict=False))
            for value, output in zip(step.outputs, made, strict=False):
                if value != ABSENT and output is not None:
                    values[value] = np.asarray(output, dtype=np.float64)
                    if is_exact(output):
                        exact[value] = output
            for value in last.get(number, ()):
                values[value] = None
                exact.pop(value, None)
    return values


def _shaken(step: Step, read: Sequence[Array], value: int, made: Array | None, reals: Set[int]) -> Array | None:
    if made is None or value not in reals or made.dtype.kind != "f":
        return made
    return shaken(step.op, step.attrs, read[: step.grads], read[step.grads :], made)


def _last_reads(flow: Flow, kept: Set[int]) -> dict[int, list[int]]:
    """For each step the values that nobody reads after it."""
    last = {value: number for number, step in enumerate(flow.steps) for value in (*step.inputs, *step.outputs)}
    found: dict[int, list[int]] = {}
    for value, number in last.items():
        if value != ABSENT and value not in kept:
            found.setdefault(number, []).append(value)
    return found


def _present(values: Sequence[Array | None], number: int) -> Array:
    array = values[number]
    if array is None:
        raise ValueError("nothing is made where an input is wanted")
    return array


def positive_buffers(plan: Plan, given: Mapping[int, Array]) -> dict[int, Array]:
    """The same values with buffers positive, since some are read under roots (the second moments of an optimizer)."""
    return {
        logical: positive(array) if plan.logicals[logical].kind == BUFFER else array for logical, array in given.items()
    }


def positive(array: Array) -> Array:
    """The numbers without their signs, and none of them 0; integers as they are."""
    return np.asarray(np.abs(array) + 0.05) if array.dtype == np.float64 else array


def nearest_to_no_numbers(flow: Flow, given: Mapping[int, Array]) -> frozenset[int]:
    """The given tensors of numbers, by logical tensor, that the fewest steps lie between and a step that makes what is
    no number of numbers: a root of one, say.
    """
    values = run(flow, given)
    makers = {value: number for number, step in enumerate(flow.steps) for value in step.outputs if value != ABSENT}
    owners = {item.value: item.logical for item in flow.given if given[item.logical].dtype == np.float64}
    found: set[int] = set()
    for step in flow.steps:
        if any(not _finite(values[value]) for value in step.outputs if value != ABSENT) and all(
            _finite(values[value]) for value in step.inputs
        ):
            found |= _nearest(flow, step.inputs, makers, owners)
    return frozenset(found)


def _nearest(flow: Flow, inputs: Sequence[int], makers: Mapping[int, int], owners: Mapping[int, int]) -> frozenset[int]:
    """Of the given tensors that values come from those that are read the fewest steps before."""
    level, seen = set(inputs), set(inputs)
    while level:
        found = frozenset(owners[value] for value in level if value in owners)
        if found:
            return found
        level = {read for value in level if value in makers for read in flow.steps[makers[value]].inputs} - seen
        seen |= level
    return frozenset()


def _finite(array: Array | None) -> bool:
    return array is None or bool(np.isfinite(array).all())
