"""Following the parallel flow, with guesses: what a step makes may be what the single-device plan has already."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import takewhile

import numpy as np

from verdict.counting import Progress, uncounted
from verdict.graph import ABSENT
from verdict.ops import Array
from verdict.ops.integers import GREATEST_COUNT
from verdict.sweep.claim import Claim
from verdict.sweep.elements import Ids, Kind
from verdict.sweep.flow import Flow, Step
from verdict.sweep.follow import Follower, present, take_given
from verdict.sweep.match import Catalogue, greatest
from verdict.sweep.multiple import multiple
from verdict.sweep.settle import STEADY
from verdict.sweep.trace import Trace

NOISE = 1e-13
"""What is below this on all seeds is zero but for rounding (the gradient of a key's bias): values say nothing of it."""
MOST_COUNTED = 1 << 16
"""Where most elements of an array are as great, they are no counts."""
Outputs = tuple[Ids | None, ...]
Guess = tuple[Ids, Ids]
"""Positions (flat) in what a step makes, and the single-device elements that may be there."""


@dataclass(slots=True)
class Guesses:
    """For outputs of parallel steps, what they may be. Each is looked up once; `refused` are those with no proof.

    factors: by what single-device elements may be scaled there.
    """

    catalogue: Catalogue
    single: Trace
    factors: tuple[Fraction, ...] = ()
    known: dict[tuple[int, int], tuple[Guess, ...]] = field(default_factory=dict)
    refused: set[tuple[int, int, bytes]] = field(default_factory=set)

    def of(
        self, step: int, output: int, arrays: list[Array], follower: Follower, op: str, reads: Sequence[Ids]
    ) -> Guess | None:
        """The likeliest guess that is not refused: what an operator `op` makes as well, before what others make, and
        what it makes of the elements that are read, before what it makes of others. On large numbers sqrt(x) and
        sqrt(x) + 1e-8 look the same; what is equal, but made of other elements, may take long to be proved.
        """
        if (step, output) not in self.known:
            self.known[step, output] = self._look(arrays, follower)
        left = [each for each in self.known[step, output] if (step, output, each[1].tobytes()) not in self.refused]
        if len(left) < 2:
            return left[0] if left else None
        return min(left, key=lambda guess: self._apart(guess[1], follower, op, reads))

    def _apart(self, ids: Ids, follower: Follower, op: str, reads: Sequence[Ids]) -> tuple[bool, int]:
        """Whether the single-device step that makes the first of some elements has another operator than `op`, and in
        how many places it reads none of the elements that are read there.
        """
        block = follower.elements.of(int(ids[0]))
        if block.kind is not Kind.SINGLE or self.single.flow.steps[block.owner].op != op:
            return True, len(reads)
        own = self.single.reads[block.owner]
        return False, sum(not np.isin(*pair).any() for pair in zip(reads, own, strict=False))

    def _look(self, arrays: list[Array], follower: Follower) -> tuple[Guess, ...]:
        size = arrays[0].size
        if not size:
            return ()
        everywhere = np.arange(size)
        if is_steady(arrays):
            ids = _steady(arrays, follower)
            return ((everywhere, ids),) if ids is not None else ()
        found = [(everywhere, box.ravel()) for box in self.catalogue.boxes(arrays)]
        if found:
            return tuple(found)
        found = [(everywhere, ids) for ids in self._each(arrays, follower)]
        if found:
            return tuple(found)
        scaled = [(factor, [np.asarray(array / float(factor)) for array in arrays]) for factor in self._scales(arrays)]
        for factor, parts in scaled:
            base = next(self.catalogue.boxes(parts), None)
            if base is not None:
                return ((everywhere, multiple(self.single, follower.elements, base, factor).ravel()),)
        for factor, parts in scaled:
            base = self.catalogue.scattered(parts)
            if base is not None:
                positions = np.flatnonzero(np.logical_or.reduce([array.ravel() != 0 for array in arrays]))
                chosen = base.ravel()[positions]
                return ((positions, multiple(self.single, follower.elements, chosen, factor)),)
        return ()

    def _each(self, arrays: list[Array], follower: Follower) -> list[Ids]:
        """What each element may be by itself: one that equals it, or a constant, as in rows that a mask has emptied.
        Those that are constant on all seeds are so, or by chance (what relu cuts off): both ways are tried, the one
        without constants first where it has all elements.
        """
        each, equal = (array.ravel() for array in self.catalogue.each(arrays))
        constants = _constants(arrays, follower)
        steady = constants >= 0
        if not (equal | steady).all():
            return []
        first, other = np.where(steady, constants, each), np.where(equal, each, constants)
        if np.array_equal(first, other):
            return [first]
        return [other, first] if equal.all() else [first, other]

    def _scales(self, arrays: Sequence[Array]) -> list[Fraction]:
        """By what factors arrays may be scaled: those under which their greatest element has a partner."""
        place = greatest(arrays[0])
        values = [float(array.flat[place]) for array in arrays]
        return [f for f in self.factors if self.catalogue.holds([value / float(f) for value in values])]


def is_steady(arrays: Sequence[Array]) -> bool:
    """Whether arrays consist of constants that are looked at, and of counts: of these many are equal by chance. Whole
    numbers that are great on each seed, as bits are, are none.
    """
    if not all(np.all(np.isin(array, STEADY) | (array == np.rint(array))) for array in arrays):
        return False
    return not all(_median(array) >= MOST_COUNTED for array in arrays)


def _median(array: Array) -> float:
    """The middle one of the sizes of an array's elements; none of counts and masks is of bits."""
    sizes = np.sort(np.abs(array).ravel())
    return float(sizes[len(sizes) // 2]) if len(sizes) and sizes[-1] < GREATEST_COUNT else 0.0


def is_noise(arrays: Sequence[Array]) -> bool:
    """Whether arrays are zero but for rounding."""
    return all(np.max(np.abs(array), initial=0.0) < NOISE for array in arrays)


def _steady(arrays: list[Array], follower: Follower) -> Ids | None:
    """The constants that an array consists of; None where an element is none of those that are looked at.

    Truth values and counts are never guessed to be others: too many are equal by chance.
    """
    ids = _constants(arrays, follower)
    return ids if (ids >= 0).all() else None


def _constants(arrays: list[Array], follower: Follower) -> Ids:
    """For each element the constant that it is on all seeds, of those that are looked at; -1 where it is none."""
    ids = np.full(arrays[0].size, -1, dtype=np.int64)
    for constant in STEADY:
        steady = np.logical_and.reduce([array.ravel() == constant for array in arrays])
        if steady.any():
            exact = constant if constant == float("-inf") else Fraction(constant)
            ids[steady] = follower.elements.constant(exact)
    return ids


def first_of(flow: Flow, refused: Sequence[Claim]) -> list[Claim]:
    """The claims that no other refused claim stands before: theirs are the wrong guesses."""
    outputs = {(claim.step, claim.output): claim for claim in refused}
    tainted: set[int] = set()
    found = []
    for number, step in enumerate(flow.steps):
        behind = not tainted.isdisjoint(step.inputs)
        for position, value in enumerate(step.outputs):
            claim = outputs.get((number, position))
            if claim is not None and not behind:
                found.append(claim)
            if value != ABSENT and (claim is not None or behind):
                tainted.add(value)
    return found


def follow_parallel(
    flow: Flow, given: Mapping[int, Ids], values: list[list[Array | None]], single: Trace, follower: Follower,
    guesses: Guesses, progress: Progress = uncounted,
) -> tuple[Trace, list[Claim]]:  # fmt: skip
    """The elements of the parallel flow, and the claims under which they are so. progress: of its steps."""
    trace = Trace(flow, [None] * flow.values)
    take_given(trace, given)
    claims: list[Claim] = []
    met: dict[tuple[int, bytes], Outputs] = {}
    for number, step in enumerate(single.flow.steps):
        known = tuple(single.ids[value] if value != ABSENT else None for value in step.outputs)
        met.setdefault(key_of_reads(follower, step, single.reads[number]), known)
    for number, step in enumerate(flow.steps):
        progress(number, len(flow.steps), "steps")
        reads = tuple(present(trace, value) for value in step.inputs)
        trace.reads.append(reads)
        key = key_of_reads(follower, step, reads)
        outputs: Outputs | None = _same(met.get(key), step) or follower.outputs(step, reads)
        made: list[Ids | None] = [None] * len(step.outputs)
        if outputs is None:
            resolved: list[Ids | None] = []
            for position, value in enumerate(step.outputs):
                arrays = [seed[value] for seed in values] if value != ABSENT else []
                present_arrays = [array for array in arrays if array is not None]
                if not present_arrays:
                    resolved.append(None)
                    continue
                ids = follower.elements.block(Kind.PARALLEL, number, position, present_arrays[0].shape)
                made[position] = ids
                guess = None
                if is_noise(present_arrays):
                    guess = _beside(claims, number, position, ids, single, follower)
                if guess is None or (number, position, guess[1].tobytes()) in guesses.refused:
                    guess = guesses.of(number, position, present_arrays, follower, step.op, reads)
                if guess is not None:
                    positions, right = guess
                    claims.append(Claim(ids.ravel()[positions], right, number, position))
                    ids = ids.copy()
                    ids.ravel()[positions] = right
                resolved.append(ids)
            outputs = tuple(resolved)
            met[key] = outputs
        trace.made.append(tuple(made))
        for value, found in zip(step.outputs, outputs, strict=False):
            if value != ABSENT:
                trace.ids[value] = found
    progress(len(flow.steps), len(flow.steps), "steps")
    return trace, claims


def _beside(
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


def key_of_reads(follower: Follower, step: Step, reads: tuple[Ids, ...]) -> tuple[int, bytes]:
    """What is the same for steps of one operator that read the same elements."""
    return follower.keys.of(step), b"|".join(repr(ids.shape).encode() + ids.tobytes() for ids in reads)


def _same(outputs: Outputs | None, step: Step) -> Outputs | None:
    """What a step that was met before made, where that is all that is wanted here."""
    if outputs is None or len(outputs) != len(step.outputs):
        return None
    lacks = any(value != ABSENT and found is None for value, found in zip(step.outputs, outputs, strict=True))
    return None if lacks else outputs
