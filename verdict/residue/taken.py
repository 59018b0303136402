"""Which pieces of what it is given whole a device takes: recorded programs slice, join and index their inputs.

The operators themselves are run on the numbers of elements: what goes on with these, and with numbers that are all
further on, is picked.
"""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from math import prod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from verdict.graph import ABSENT, BUFFER, GRAD, INPUT, Interval, Node, Plan, Shape
from verdict.ops import FACTS, RULES
from verdict.ops.types import is_whole, kind
from verdict.residue.flattened import shape_of
from verdict.sweep.flow import CANNOT, OF_ELEMENTS

MOST_ELEMENTS = 1 << 20
"""The most elements of a tensor that are looked at: 8 MiB of numbers."""
RENAMED = 3
"""Elements have so many times their numbers the second time: what adds to numbers, or multiplies them, is seen."""
Numbers = npt.NDArray[np.int64]


class Taken(NamedTuple):
    """What a device has of a logical tensor: these intervals of an axis, one after the other."""

    logical: int
    axis: int
    intervals: tuple[Interval, ...]


def given_whole(plan: Plan) -> dict[int, tuple[int, Numbers]]:
    """The tensors that are all of what is given, with their logical ones and the numbers of their elements."""
    found = {}
    for tensor, (logical, _, _) in enumerate(plan.tensors):
        if plan.logicals[logical].kind in (INPUT, BUFFER) and _is_whole(plan, tensor):
            shape = shape_of(plan, tensor)
            found[tensor] = logical, np.arange(prod(shape)).reshape(shape)
    return found


def taken(plan: Plan, device: int, given: Mapping[int, tuple[int, Numbers]]) -> Iterator[Taken]:
    """The pieces that a device puts together of tensors that it is given whole, in the order in which it does.

    given: what `given_whole` says of the plan.
    """
    constants: dict[int, npt.NDArray[np.generic]] = {}
    elements = dict(given)
    for call in plan.programs[device]:
        for node in plan.segments[call.segment].nodes:
            if not all(tensor in elements or tensor in constants for tensor in node.inputs):
                continue
            made = _made(node, plan, constants, elements)
            for tensor, (logical, numbers) in made.items():
                elements[tensor] = logical, numbers
                found = _along(numbers, plan.logicals[logical].shape)
                if found is not None:
                    yield Taken(logical, *found)


def _is_whole(plan: Plan, tensor: int) -> bool:
    """Whether a tensor is all of a logical one, and not too much."""
    logical, region, _ = plan.tensors[tensor]
    of = plan.logicals[logical]
    return all(cut == (0, size) for cut, size in zip(region, of.shape, strict=True)) and prod(of.shape) <= MOST_ELEMENTS


def _made(
    node: Node, plan: Plan, constants: dict[int, npt.NDArray[np.generic]], elements: Mapping[int, tuple[int, Numbers]]
) -> dict[int, tuple[int, Numbers]]:
    """What a node picks of elements of one tensor. Whole numbers that it makes of nothing, or of such, are noted: they
    may be places.
    """
    rule, read = RULES.get(node.op), [tensor for tensor in node.inputs if tensor in elements]
    small = all(prod(shape_of(plan, tensor)) <= MOST_ELEMENTS for tensor in node.outputs if tensor != ABSENT)
    logicals = {elements[tensor][0] for tensor in read}
    if rule is None or not small or len(logicals) > 1 or node.op.endswith(GRAD) or FACTS.random(node.op):
        return {}
    if not read and not all(_is_whole_number(plan, tensor) for tensor in node.outputs if tensor != ABSENT):
        return {}
    runs = []
    for renamed in (_as_they_are, _renamed) if read else (_as_they_are,):
        inputs = [renamed(elements[t][1]) if t in elements else constants[t] for t in node.inputs]
        try:
            with np.errstate(all="ignore"):
                runs.append(rule.forward(inputs, dict(node.attrs)))
        except (*CANNOT, *OF_ELEMENTS):
            return {}
    if not read:
        made = zip(node.outputs, runs[0], strict=True)
        constants.update((tensor, np.asarray(y)) for tensor, y in made if tensor != ABSENT and y is not None)
        return {}
    found = {}
    for tensor, each in zip(node.outputs, zip(*runs, strict=True), strict=True):
        one, other = map(_numbers, each)
        if tensor != ABSENT and one is not None and other is not None and np.array_equal(_renamed(one), other):
            found[tensor] = (min(logicals), one)
    return found


def _as_they_are(numbers: Numbers) -> Numbers:
    return numbers


def _renamed(numbers: Numbers) -> Numbers:
    """Other numbers of the same elements: what calculates with numbers makes others of these than what picks some."""
    return RENAMED * numbers + MOST_ELEMENTS


def _is_whole_number(plan: Plan, tensor: int) -> bool:
    return is_whole(kind(plan.logicals[plan.tensors[tensor].logical].dtype))


def _numbers(made: npt.NDArray[np.generic] | None) -> Numbers | None:
    """What is made of numbers of elements, as such; None where it is something else."""
    found = None if made is None else np.asarray(made)
    if found is None or found.dtype.kind not in "iuO" or not all(isinstance(x, int) for x in found.ravel().tolist()):
        return None
    return found.astype(np.int64)


def _along(numbers: Numbers, shape: Shape) -> tuple[int, tuple[Interval, ...]] | None:
    """Along which axis a tensor is intervals of one of this shape, and which; None where it is none."""
    apart = [axis for axis, (n, m) in enumerate(zip(numbers.shape, shape, strict=False)) if n != m]
    if numbers.ndim != len(shape) or len(apart) != 1 or not numbers.size:
        return None
    (axis,) = apart
    first = numbers[tuple(slice(None) if k == axis else 0 for k in range(numbers.ndim))]
    places = first // prod(shape[axis + 1 :])
    if places.min() < 0 or places.max() >= shape[axis] or not np.array_equal(
        np.take(np.arange(prod(shape)).reshape(shape), places, axis), numbers
    ):
        return None
    breaks = [0, *(np.flatnonzero(np.diff(places) != 1) + 1).tolist(), len(places)]
    intervals = tuple((int(places[a]), int(places[b - 1]) + 1) for a, b in pairwise(breaks))
    return axis, intervals
