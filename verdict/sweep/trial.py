"""A claim on random numbers before it is put to the solver: where its cone is too small, its sides differ at once.

Every variable has a number of its own, and the steps of the cone are executed on whole arrays. A difference is no
refutation, and no difference no proof: it only saves the solver what could not be proved.
"""

import numpy as np
import numpy.typing as npt

from verdict.inputs import random_integers
from verdict.ops import Array
from verdict.ops.whole import is_beyond
from verdict.sweep.claim import Claim, Cone
from verdict.sweep.elements import Ids, Kind
from verdict.sweep.flow import CANNOT, Inapplicable, apply
from verdict.sweep.trace import Trace, Traces

APART = 1e-5
"""The least difference, relative to the greater value, that cannot be rounding."""
LEAST, NOTHING = 1e-3, 1e-9
"""Smaller values count as one of that size: rounding of what cancels; and where all that is drawn is zero."""
SIGNED = 3
"""How many draws are of both signs: where the greatest of some numbers is taken, one may not show a difference."""
WIDE = 8.0
"""How far numbers of one draw spread: beyond limits that others do not reach (6, 7), and below 33, where one less a
sigmoid is hardly more than its rounding.
"""
NARROW = 1e-3
"""How far they spread in another: the norm of a thousand of them is below the limits at which gradients are cut."""
MOST_COUNTED = 8
"""How much greater than the least number some integers are drawn of which none is the greatest."""

Floats = npt.NDArray[np.float64]


class Trial:
    """Numbers for all elements, drawn several times: near one, where roots and logarithms have values, of both signs,
    further apart, close to zero, and zeros, at which a norm or a probability passes the bound that keeps it from zero.
    What is positive on all seeds is so here: a root of it has a value.
    """

    def __init__(self, traces: Traces, seed: int) -> None:
        random = np.random.default_rng([seed, 40])
        count = traces.elements.count
        self.traces = traces
        numbers = [random.uniform(0.5, 1.5, count), *(random.normal(size=count) for _ in range(SIGNED))]
        numbers.append(random.normal(size=count) * WIDE)
        given = np.zeros(count, dtype=np.bool_)
        for block in traces.elements.blocks:
            end = block.start + int(np.prod(block.shape, dtype=np.int64))
            positive = traces.is_positive(block)
            given[block.start : end] = block.kind is Kind.CONSTANT or traces.are_whole(block) or positive
            for values in numbers:
                if block.kind is Kind.CONSTANT:
                    values[block.start] = float(block.constant)
                elif positive:
                    values[block.start : end] = np.abs(values[block.start : end])
                elif block.kind is Kind.GIVEN and block.owner in traces.integers:
                    drawn = random_integers(random, traces.integers[block.owner])
                    values[block.start : end] = drawn.ravel()
                elif (known := traces.within(block)) is not None:
                    low = known.low or 0
                    ends = low, (low + MOST_COUNTED if known.high is None else known.high) + 1
                    values[block.start : end] = random.integers(*ends, end - block.start)
        narrow = np.where(given, numbers[0], NARROW * numbers[1])
        for values in (*numbers, narrow):
            values[traces.positive] = np.abs(values[traces.positive])
        zeros = np.where(given, numbers[0], 0.0)
        self.draws = [*((values, LEAST) for values in numbers), (narrow, LEAST * NARROW), (zeros, NOTHING)]
        self._reads: dict[tuple[bool, int], tuple[tuple[bool, bool], ...]] = {}

    def differ(self, claim: Claim, cone: Cone) -> bool:
        """Whether the two sides of a claim are surely apart for some numbers."""
        return any(self._differ(values, claim, cone, least) for values, least in self.draws)

    def _differ(self, values: Floats, claim: Claim, cone: Cone, least: float) -> bool:
        single, parallel = self.traces.single, self.traces.parallel
        variables = [(ids, values[ids]) for number in cone.single for ids in single.made[number] if ids is not None]
        try:
            with np.errstate(all="ignore"):
                for trace, steps in ((single, cone.single), (parallel, cone.parallel)):
                    for number in steps:
                        self._run(values, trace, number)
            return _apart(values[claim.right], values[claim.left], least)
        except CANNOT:
            return False
        finally:
            for ids, drawn in variables:
                values[ids] = drawn

    def _run(self, values: Floats, trace: Trace, number: int) -> None:
        known = self._known(trace, number)
        inputs = [_read(values, ids, whole) for ids, (whole, _) in zip(trace.reads[number], known, strict=True)]
        computed = apply(trace.flow.steps[number], inputs)
        made = [None if array is None else np.asarray(array, dtype=np.float64) for array in computed]
        given = (array for array, (_, any_given) in zip(inputs, known, strict=True) if any_given)
        if any(map(is_beyond, (*given, *made))):
            raise Inapplicable("floats do not hold such integers")
        for ids, array in zip(trace.made[number], made, strict=False):
            if ids is not None and array is not None:
                values[ids] = array

    def _known(self, trace: Trace, number: int) -> tuple[tuple[bool, bool], ...]:
        """Of each array that a step reads whether all is whole numbers, and whether some is a constant or such."""
        key = trace is self.traces.single, number
        if key not in self._reads:
            every = [self.traces.elements.blocks_of(ids) for ids in trace.reads[number]]
            wholes = [[self.traces.are_whole(block) for block in blocks] for blocks in every]
            constant = [any(block.kind is Kind.CONSTANT for block in blocks) for blocks in every]
            self._reads[key] = tuple((all(w), any(w) or c) for w, c in zip(wholes, constant, strict=True))
        return self._reads[key]


def _read(values: Floats, ids: Ids, whole: bool) -> Array:
    found = np.asarray(values[ids])  # of one element numpy makes a number
    return found.astype(np.int64) if whole else found


def _apart(right: Floats, left: Floats, least: float) -> bool:
    both = np.isfinite(right) & np.isfinite(left)
    right, left = right[both], left[both]
    return bool(np.any(np.abs(right - left) > APART * np.maximum(np.maximum(np.abs(right), np.abs(left)), least)))
