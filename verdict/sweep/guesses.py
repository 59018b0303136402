"""What a parallel step may make: single-device elements that have its values, or that are made in the same way."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import takewhile
from typing import NamedTuple

import numpy as np

from verdict.graph import ABSENT
from verdict.ops import Array
from verdict.ops.integers import GREATEST_COUNT
from verdict.sweep.claim import Claim
from verdict.sweep.elements import Elements, Ids, Kind
from verdict.sweep.follow import Follower
from verdict.sweep.match import Catalogue, greatest
from verdict.sweep.multiple import multiple, unscaled
from verdict.sweep.noise import is_noise
from verdict.sweep.padded import padded
from verdict.sweep.seen import USUAL_SEEDS
from verdict.sweep.settle import STEADY
from verdict.sweep.trace import Trace

MOST_COUNTED = 1 << 16
"""Where most elements of an array are as great, they are no counts."""
Guess = tuple[Ids, Ids]
"""Positions (flat) in what a step makes, and the single-device elements that may be there."""


class Maker(NamedTuple):
    """A parallel step: its operator, the elements that it reads, and, as bits, the single-device steps above these."""

    op: str
    reads: Sequence[Ids]
    above: int


@dataclass(slots=True)
class Guesses:
    """For outputs of parallel steps, what they may be; `refused` are those with no proof.

    factors: by what single-device elements may be scaled there. known: for each output, how many kinds of guesses were
    looked for, and those of the last one. Another kind is looked for where none of these is left. usual: the catalogue
    of those seeds alone that hold no numbers which the plans name.
    """

    catalogue: Catalogue
    single: Trace
    factors: tuple[Fraction, ...] = ()
    known: dict[tuple[int, int], tuple[int, tuple[Guess, ...]]] = field(default_factory=dict)
    refused: set[tuple[int, int, bytes]] = field(default_factory=set)
    usual: Catalogue | None = None

    def of(
        self, step: int, output: int, arrays: list[Array], follower: Follower, maker: Maker
    ) -> Guess | None:
        """The likeliest guess that is not refused: what its operator makes as well, before what others make, what it
        makes of the elements that are read, before what it makes of others, and what is computed from all that the step
        is computed from, before what lacks more of it. On large numbers sqrt(x) and sqrt(x) + 1e-8 look the same; what
        is equal, but made of other elements, may take long to be proved; what a clamp lets through is what it reads.
        """
        place = (step, output)
        kind, found = self.known.get(place, (0, ()))
        left = self._left(place, found)
        kinds = _OF_CONSTANTS if not left and is_steady(arrays) else _KINDS
        while not left and kind < len(kinds):
            found = kinds[kind](self, arrays, follower, maker)
            kind, left = kind + 1, self._left(place, found)
            self.known[place] = kind, found
        if len(left) < 2:
            return left[0] if left else None
        return min(left, key=lambda guess: self._apart(guess[1], follower, maker))

    def may_be_noise(self, guess: Guess | None) -> bool:
        """Whether what an output that is zero but for rounding is guessed to be is so, too, as far as that is known."""
        return guess is None or (values := self.catalogue.of(guess[1])) is None or is_noise(values)

    def nothing(self, step: int, output: int, arrays: list[Array], follower: Follower) -> Guess | None:
        """Zeros, where an output is zero but for rounding: the gradient of a maximum that a softmax is shifted by."""
        if not arrays[0].size or not is_noise(arrays):
            return None
        ids = np.full(arrays[0].size, follower.elements.constant(Fraction(0)), dtype=np.int64)
        return None if (step, output, ids.tobytes()) in self.refused else (np.arange(ids.size), ids)

    def _apart(self, ids: Ids, follower: Follower, maker: Maker) -> tuple[bool, int, int]:
        """Whether the single-device step that makes the first of some elements has another operator, in how many places
        it reads none of the elements that are read there, and how many steps above these are not above it.
        """
        block = follower.elements.of(int(ids[0]))
        if block.kind is not Kind.SINGLE:
            return True, len(maker.reads), maker.above.bit_count()
        lacks = (maker.above & ~(self.single.above[block.owner] | 1 << block.owner)).bit_count()
        if self.single.flow.steps[block.owner].op != maker.op:
            return True, len(maker.reads), lacks
        own = self.single.reads[block.owner]
        return False, sum(not np.isin(*pair).any() for pair in zip(maker.reads, own, strict=False)), lacks

    def _left(self, place: tuple[int, int], found: tuple[Guess, ...]) -> list[Guess]:
        return [guess for guess in found if (*place, guess[1].tobytes()) not in self.refused]

    def _boxes(self, arrays: list[Array], follower: Follower, maker: Maker) -> tuple[Guess, ...]:
        """Regions of single-device arrays."""
        everywhere = np.arange(arrays[0].size)
        return tuple((everywhere, box.ravel()) for box in self.catalogue.boxes(arrays))

    def _padded(self, arrays: list[Array], follower: Follower, maker: Maker) -> tuple[Guess, ...]:
        """Regions of single-device arrays with a constant behind or in front of them."""
        everywhere, constants = np.arange(arrays[0].size), _constants(arrays, follower)
        return tuple((everywhere, ids.ravel()) for ids in padded(self.catalogue, arrays, constants))

    def _steady(self, arrays: list[Array], follower: Follower, maker: Maker) -> tuple[Guess, ...]:
        """Constants, where all elements are some that are looked at.

        Truth values and counts are never guessed to be others, but for one that stands alone (`_alone`): too many are
        equal by chance.
        """
        ids = _constants(arrays, follower)
        return ((np.arange(ids.size), ids),) if (ids >= 0).all() else ()

    def _alone(self, arrays: list[Array], follower: Follower, maker: Maker) -> tuple[Guess, ...]:
        """A number that stands alone, as a count of all targets that are not passed over does. What is divided by it
        would else be as many cases as there are choices of these.
        """
        if arrays[0].size != 1 or {float(array.flat[0]) for array in arrays} <= {*STEADY}:
            return ()
        return tuple((np.zeros(1, dtype=np.int64), ids) for ids in self.catalogue.alone(arrays))

    def _elements(self, arrays: list[Array], follower: Follower, maker: Maker) -> tuple[Guess, ...]:
        """Single-device elements, each by itself."""
        if not self._has_partner(arrays, greatest(arrays[0])):
            return ()
        return tuple((np.arange(arrays[0].size), ids) for ids in self._each(arrays, follower))

    def _multiples(self, arrays: list[Array], follower: Follower, maker: Maker) -> tuple[Guess, ...]:
        """Multiples of single-device elements: of a region of them, or of each by itself."""
        scaled = [(factor, [np.asarray(array / float(factor)) for array in arrays]) for factor in self._scales(arrays)]
        for factor, parts in scaled:
            boxes = list(self.catalogue.boxes(parts))
            if boxes:
                base = min(boxes, key=lambda box: self._apart(box.ravel(), follower, maker))
                every = np.arange(arrays[0].size)
                return ((every, multiple(self.single, follower.elements, base, factor).ravel()),)
        for factor, parts in scaled:
            found = self.catalogue.scattered(parts)
            if found is not None:
                positions = np.flatnonzero(np.logical_or.reduce([array.ravel() != 0 for array in arrays]))
                chosen = found.ravel()[positions]
                return ((positions, multiple(self.single, follower.elements, chosen, factor)),)
        return ()

    def _usual(self, arrays: list[Array], follower: Follower, maker: Maker) -> tuple[Guess, ...]:
        """Regions of single-device arrays, by the seeds without numbers that the plans name: where such a number, a
        divisor, makes one score of a softmax far greater than all others, its gradient is what rounding leaves of it.
        """
        self.usual = self.usual or self.catalogue.on(USUAL_SEEDS)
        everywhere = np.arange(arrays[0].size)
        return tuple((everywhere, box.ravel()) for box in self.usual.boxes(arrays[USUAL_SEEDS]))

    def _each(self, arrays: list[Array], follower: Follower) -> list[Ids]:
        """What each element may be by itself: one that equals it, or a constant, as in rows that a mask has emptied.
        Those that are constant on all seeds are so, or by chance (what relu cuts off): both ways are tried, the one
        without constants first where it has all elements, those beside them made by the same steps.
        """
        each, equal = (array.ravel() for array in self.catalogue.each(arrays))
        constants = _constants(arrays, follower)
        steady = constants >= 0
        if not (equal | steady).all():
            return []
        first, other = np.where(steady, constants, each), np.where(equal, each, constants)
        if np.array_equal(first, other):
            return [first]
        makers = [_makers(np.asarray(each[places], dtype=np.int64), follower) for places in (steady, ~steady)]
        return [other, first] if equal.all() and makers[0] <= makers[1] else [first, other]

    def _has_partner(self, arrays: Sequence[Array], place: int) -> bool:
        """Whether one element may be a single-device one, or one of the constants that are looked at."""
        values = [float(array.flat[place]) for array in arrays]
        return self.catalogue.holds(values) or any(all(value == known for value in values) for known in STEADY)

    def _scales(self, arrays: Sequence[Array]) -> list[Fraction]:
        """By what factors arrays may be scaled: those under which their greatest element has a partner."""
        place = greatest(arrays[0])
        values = [float(array.flat[place]) for array in arrays]
        return [f for f in self.factors if self.catalogue.holds([value / float(f) for value in values])]


_KINDS = (Guesses._boxes, Guesses._padded, Guesses._elements, Guesses._multiples, Guesses._usual)
"""The kinds of guesses, the likeliest first."""
_OF_CONSTANTS = (Guesses._steady, Guesses._alone)
"""Those of what consists of constants and counts."""


def _makers(ids: Ids, follower: Follower) -> set[tuple[Kind, int]]:
    """What makes some elements."""
    return {(block.kind, block.owner) for block in follower.elements.blocks_of(ids)}


def is_steady(arrays: Sequence[Array]) -> bool:
    """Whether arrays consist of constants that are looked at, and of counts: of these many are equal by chance. Whole
    numbers that are great on each seed, as bits are, are none.
    """
    first = float(arrays[0].flat[0]) if arrays[0].size else 0.0
    if first not in STEADY and first != np.rint(first):
        return False
    if not all(np.all(np.isin(array, STEADY) | (array == np.rint(array))) for array in arrays):
        return False
    return not all(_median(array) >= MOST_COUNTED for array in arrays)


def _median(array: Array) -> float:
    """The middle one of the sizes of an array's elements; none of counts and masks is of bits."""
    sizes = np.sort(np.abs(array).ravel())
    return float(sizes[len(sizes) // 2]) if len(sizes) and sizes[-1] < GREATEST_COUNT else 0.0


def _constants(arrays: list[Array], follower: Follower) -> Ids:
    """For each element the constant that it is on all seeds, of those that are looked at; -1 where it is none."""
    ids = np.full(arrays[0].size, -1, dtype=np.int64)
    for constant in STEADY:
        steady = np.logical_and.reduce([array.ravel() == constant for array in arrays])
        if steady.any():
            exact = constant if constant == float("-inf") else Fraction(constant)
            ids[steady] = follower.elements.constant(exact)
    return ids


def beside(
    claims: Sequence[Claim], number: int, position: int, ids: Ids, single: Trace, follower: Follower
) -> Guess | None:
    """What an output that is zero but for rounding may be: that output of the single-device step which makes what
    another output of this step is, from the same row on.
    """
    own = takewhile(lambda claim: claim.step == number, reversed(claims))
    known = next((claim for claim in own if claim.right.size), None)
    block = follower.elements.of(int(known.right[0])) if known is not None else None
    if known is None or block is None or block.kind is not Kind.SINGLE:
        return None
    outputs = single.flow.steps[block.owner].outputs
    due = single.ids[outputs[position]] if position < len(outputs) and outputs[position] != ABSENT else None
    if due is None or due.ndim != ids.ndim:
        return None
    row = int(np.unravel_index(int(known.right[0]) - block.start, block.shape)[0]) if due.shape != ids.shape else 0
    part = due[row : row + ids.shape[0]] if ids.ndim else due
    return (np.arange(ids.size), part.ravel()) if part.shape == ids.shape else None


def by_scaled_reads(
    steps: Sequence[int], reads: Sequence[Ids], position: int, ids: Ids, single: Trace, elements: Elements
) -> Guess | None:
    """What an output that is zero but for rounding may be: of one of these single-device steps, which have the same
    operator, the rows that it makes of the same elements; the same multiple of them where multiples are read.
    """
    bases = [unscaled(single, elements, read) for read in reads]
    factors = {found[1] for found in bases if found is not None}
    if len(factors) != 1:
        return None if factors else by_reads(steps, reads, position, ids, single)
    read = [own if found is None else found[0] for own, found in zip(reads, bases, strict=True)]
    guess = by_reads(steps, read, position, ids, single)
    return guess and (guess[0], multiple(single, elements, guess[1], factors.pop()))


def by_reads(steps: Sequence[int], reads: Sequence[Ids], position: int, ids: Ids, single: Trace) -> Guess | None:
    """What an output of counts, places or truth values may be: of one of these single-device steps, which have the same
    operator, the rows that it makes of the same elements; of several, the one that reads most of what is read. What is
    one element all over does not say which rows.
    """
    if not reads or not ids.size:
        return None
    told = next((k for k, read in enumerate(reads) if read.size and read.min() != read.max()), 0)
    found: list[tuple[int, Guess]] = []
    for number in steps:
        step, own = single.flow.steps[number], single.reads[number]
        value = step.outputs[position] if position < len(step.outputs) else ABSENT
        due = single.ids[value] if value != ABSENT else None
        rows = _rows(reads[told], own[told]) if told < len(own) else None
        if due is None or rows is None or due.ndim != ids.ndim:
            continue
        apart = [axis for axis in range(ids.ndim) if ids.shape[axis] != due.shape[axis]]
        if len(apart) == 1 and rows + ids.shape[apart[0]] <= due.shape[apart[0]]:
            part = np.take(due, np.arange(rows, rows + ids.shape[apart[0]]), axis=apart[0])
            others = sum(not np.isin(*pair).all() for pair in zip(reads, own, strict=False))
            found.append((others, (np.arange(ids.size), part.ravel())))
    return min(found, key=lambda each: each[0])[1] if found else None


def _rows(part: Ids, whole: Ids) -> int | None:
    """From which index on along one axis `part` is what `whole` has; None where it is not."""
    if part.ndim != whole.ndim or not part.size:
        return None
    apart = [axis for axis in range(part.ndim) if part.shape[axis] != whole.shape[axis]]
    if len(apart) != 1:
        return None
    (axis,) = apart
    first = np.take(part, [0], axis=axis)
    for start in range(whole.shape[axis] - part.shape[axis] + 1):
        if np.array_equal(np.take(whole, [start], axis=axis), first):
            same = np.array_equal(np.take(whole, np.arange(start, start + part.shape[axis]), axis=axis), part)
            return start if same else None
    return None
