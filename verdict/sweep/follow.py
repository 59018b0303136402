"""Following the elements of a flow from step to step: constants, moves, and what a step computes anew."""

from collections.abc import Hashable, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from verdict.graph import ABSENT
from verdict.inputs import Domain
from verdict.ops import Array
from verdict.ops.signs import NOT_NEGATIVE, POSITIVE, adds_up, may_fail, sign, strict
from verdict.sweep.elements import Elements, Ids, Kind, of_numbers
from verdict.sweep.flow import CANNOT, Flow, Step, apply
from verdict.sweep.hidden import hides_none
from verdict.sweep.infinite import note_infinite
from verdict.sweep.moves import Moves
from verdict.sweep.orders import Orders
from verdict.sweep.settle import settle
from verdict.sweep.trace import Keys, Trace, above, reads_infinite, reads_rising


class Follower:
    """What following both flows shares: the elements, the moves and orders that are known, the keys of operators.

    integers: what the elements of given logical tensors of integers may be.
    """

    def __init__(self, elements: Elements, keys: Keys, integers: Mapping[int, Domain] = MappingProxyType({})) -> None:
        self.elements, self.keys, self.integers = elements, keys, integers
        self.moves, self.orders = Moves(), Orders(elements)

    def outputs(self, step: Step, reads: tuple[Ids, ...]) -> tuple[Ids | None, ...] | None:
        """The elements of the outputs of a step that computes nothing new; None for one that does."""
        moved = self.moves.of(self.keys.of(step), step, reads, self.elements)
        if moved is not None:
            return moved
        before = self.orders.before(step, reads)
        return self._constants(step, reads if before is None else (before,))

    def _constants(self, step: Step, reads: tuple[Ids, ...]) -> tuple[Ids | None, ...] | None:
        values = [self.elements.constants(ids) for ids in reads]
        inputs = []
        for ids, numbers in zip(reads, values, strict=True):
            if numbers is None:
                return None
            array = np.empty(ids.size, dtype=object)
            array[:] = numbers
            inputs.append(array.reshape(ids.shape))
        try:
            made = apply(step, inputs)
        except CANNOT:
            return None
        found = [None if array is None else of_numbers(self.elements, np.asarray(array, object)) for array in made]
        if any(ids is None and array is not None for ids, array in zip(found, made, strict=True)):
            return None
        return tuple(found)


class Stated(NamedTuple):
    """What holds of the single-device flow, beside its numbers.

    doubtful: the given tensors that need not hold numbers. unsigned: those that are not negative. positive: those that
    are greater than zero. divisions: the steps that divide by zero nowhere where anything is compared. counts: the
    values that count something there.
    """

    doubtful: frozenset[int] = frozenset()
    unsigned: frozenset[int] = frozenset()
    positive: frozenset[int] = frozenset()
    divisions: frozenset[int] = frozenset()
    counts: frozenset[Hashable] = frozenset()


NOTHING = Stated()


def follow_single(
    flow: Flow, given: Mapping[int, Ids], values: list[list[Array | None]], follower: Follower,
    stated: Stated = NOTHING,
) -> Trace:  # fmt: skip
    """The elements of the single-device flow. given: those of each given logical tensor. values: of each seed."""
    ids: list[Ids | None] = [None] * flow.values
    made_by = ((number, k, value) for number, step in enumerate(flow.steps) for k, value in enumerate(step.outputs))
    counts = frozenset((number, k) for number, k, value in made_by if value in stated.counts)
    trace = Trace(
        flow, ids, doubtful=stated.doubtful, positive=stated.positive, divisions=stated.divisions, counts=counts
    )
    take_given(trace, given)
    zero = follower.elements.constant(Fraction(0))
    signs = {item.value: NOT_NEGATIVE for item in flow.given if item.logical in stated.unsigned}
    signs |= {item.value: POSITIVE for item in flow.given if item.logical in stated.positive}
    for number, step in enumerate(flow.steps):
        reads = tuple(present(trace, value) for value in step.inputs)
        known = follower.outputs(step, reads)
        made: list[Ids | None] = []
        for position, value in enumerate(step.outputs):
            array = values[0][value] if value != ABSENT else None
            fresh = array is not None and known is None
            shape = array.shape if array is not None else ()
            made.append(follower.elements.block(Kind.SINGLE, number, position, shape) if fresh else None)
        trace.reads.append(reads)
        trace.made.append(tuple(made))
        follower.orders.note(step, reads, made)
        trace.above.append(above(trace, reads, follower.elements))
        numbers = [values[0][value] if value != ABSENT else None for value in step.inputs]
        read = [
            _least(step, signs.get(value, 0), ids == zero, array)
            for value, ids, array in zip(step.inputs, reads, numbers, strict=True)
        ]
        fails = bool(trace.above[number] & trace.failing) or _reads_doubtful(trace, reads, follower.elements)
        if fails and not strict(step.op):
            trace.absorbed |= trace.above[number] & trace.failing
        infinite, rises = reads_infinite(trace, number), reads_rising(trace, number)
        hides = hides_none(step, reads, infinite, rises, follower.elements)
        makes_none = hides or may_fail(step.op, step.attrs, read, step.grads)
        if fails or (makes_none and number not in stated.divisions):
            trace.failing |= 1 << number
        if makes_none or trace.above[number] & trace.divided:
            trace.divided |= 1 << number
        for position, value in enumerate(step.outputs):
            signs[value] = sign(step.op, step.attrs, read, step.inputs, not infinite, position)
        for position, value in enumerate(step.outputs):
            if value != ABSENT:
                trace.ids[value] = known[position] if known is not None else made[position]
        if known is None:
            settle(trace, number, values, follower.elements, follower.keys, follower.integers)
            note_infinite(trace, number, follower.elements, follower.keys, follower.integers)
    return trace


def _least(step: Step, sign: int, zeros: npt.NDArray[np.bool_], array: Array | None) -> int:
    """The sign of what is read: what is known of elements that are computed, and zeros among them, as a mask makes. Of
    what a step adds up it is that of the others where no sum is one of zeros alone.

    array: what is read on some numbers.
    """
    if sign <= NOT_NEGATIVE or not zeros.any():
        return sign
    if array is None or not adds_up(step.op) or step.attrs.get("dim") in (None, ()):
        return NOT_NEGATIVE
    alone = np.logical_or(zeros, array == 0).all(axis=step.attrs["dim"])
    return NOT_NEGATIVE if bool(np.any(alone)) else sign


def _reads_doubtful(trace: Trace, reads: tuple[Ids, ...], elements: Elements) -> bool:
    """Whether a step reads what is given and need not be a number."""
    if not trace.doubtful:
        return False
    blocks = (block for ids in reads for block in elements.blocks_of(ids))
    return any(block.kind is Kind.GIVEN and block.owner in trace.doubtful for block in blocks)


def take_given(trace: Trace, given: Mapping[int, Ids]) -> None:
    """The elements of what a plan is given."""
    for item in trace.flow.given:
        ids = given[item.logical]
        for slices in item.slices:
            ids = np.asarray(ids[slices])
        trace.ids[item.value] = ids


def present(trace: Trace, value: int) -> Ids:
    """The elements of a value that a step reads."""
    ids = trace.ids[value]
    if ids is None:
        raise ValueError("nothing is made where an input is wanted")
    return ids
