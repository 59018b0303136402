"""The single-device flow swept against itself: of elements that are equal for all values, the first stands for all.

g (x x) and (g x) x are one value, which a plan may add up as either. Steps of one operator on the same elements are the
same; what else has equal values on all seeds is claimed to be, and proved, before the parallel plan is looked at.
"""

from collections.abc import Iterable, Iterator, Sequence
from math import prod

import numpy as np

from verdict.graph import ABSENT
from verdict.ops import Array
from verdict.sweep.claim import Claim
from verdict.sweep.elements import Elements, Ids, Kind
from verdict.sweep.follow import Follower, present
from verdict.sweep.guesses import is_steady
from verdict.sweep.match import Catalogue
from verdict.sweep.noise import is_noise
from verdict.sweep.parallel import key_of_reads
from verdict.sweep.trace import Trace, above

Repeats = dict[tuple[int, int], Ids]
"""By step and output, the earlier elements that an output may be."""


def repeats(
    trace: Trace, values: Sequence[Sequence[Array | None]], catalogue: Catalogue, elements: Elements
) -> Repeats:
    """The outputs of single-device steps that equal earlier elements on all seeds. Truth values and counts are too many
    that are equal by chance, but for those by which something is divided.
    """
    found: Repeats = {}
    for number, step in enumerate(trace.flow.steps):
        for position, value in enumerate(step.outputs):
            made = trace.made[number][position] if position < len(trace.made[number]) else None
            arrays = [array for seed in values if value != ABSENT and (array := seed[value]) is not None]
            counts = made is not None and made.size == 1 and (number, position) in trace.counts
            if made is None or not made.size or (is_steady(arrays) and not counts) or is_noise(arrays):
                continue
            boxes = catalogue.alone(arrays) if counts else catalogue.boxes(arrays)
            earlier = (box.reshape(made.shape) for box in boxes if _stand_before(box, int(made.flat[0]), elements))
            box = next(earlier, None)
            if box is not None:
                found[number, position] = box
    return found


def _stand_before(ids: Ids, start: int, elements: Elements) -> bool:
    """Whether elements are variables that stand before a step's own, the first of which is `start`."""
    return bool(np.all(ids < start)) and all(block.kind is not Kind.CONSTANT for block in elements.blocks_of(ids))


def merged(trace: Trace, repeated: Repeats, follower: Follower) -> tuple[Trace, Trace, list[Claim]]:
    """The single-device flow on the first elements of each value, the steps by which it is so, and the claims.

    Every claim rests on claims of earlier steps alone. Each is made in both directions.
    """
    own, beside = _bare(trace), _bare(trace)
    same = np.arange(follower.elements.count, dtype=np.int64)
    met: dict[tuple[int, bytes], int] = {}
    claims: list[Claim] = []
    for number, step in enumerate(trace.flow.steps):
        reads = tuple(same[ids] for ids in trace.reads[number])
        first = met.setdefault(key_of_reads(follower, step, reads), number)
        beside.reads.append(reads)
        beside.made.append((None,) * len(step.outputs))
        for position, ids in enumerate(trace.made[number]):
            if ids is None:
                continue
            if first != number:
                same[ids] = same[_made_of(trace, first, position)]
            elif (number, position) in repeated:
                due = same[repeated[number, position]]
                fresh = _beside(beside, (number, position), ids.shape, follower.elements)
                claims.append(Claim(fresh.ravel(), due.ravel(), number, position))
                claims += [Claim(*back, number, position) for back in _back(beside, due, ids, follower.elements)]
                same[ids] = due
        own.reads.append(reads)
        own.made.append(trace.made[number])
        own.above.append(above(own, reads, follower.elements))
    own.ids = [None if ids is None else same[ids] for ids in trace.ids]
    return own, beside, claims


def _back(beside: Trace, due: Ids, ids: Ids, elements: Elements) -> Iterator[tuple[Ids, Ids]]:
    """The elements of single-device steps as those of parallel ones, and what they are in turn to be: a claim holds
    where its right side has a value, and what is merged must have one at the same places.
    """
    for block in elements.blocks_of(due):
        if block.kind is not Kind.SINGLE:
            continue
        fresh = _beside(beside, (block.owner, block.output), block.shape, elements)
        within = (due >= block.start) & (due < block.start + prod(block.shape))
        yield fresh.ravel()[due[within] - block.start], ids[within]


def _beside(beside: Trace, place: tuple[int, int], shape: tuple[int, ...], elements: Elements) -> Ids:
    """What a step makes as one of its outputs, as elements of the parallel flow: the same ones whenever it is asked."""
    number, position = place
    outputs = list(beside.made[number])
    fresh = outputs[position]
    if fresh is None:
        outputs[position] = fresh = elements.block(Kind.PARALLEL, number, position, shape)
        beside.made[number] = tuple(outputs)
    return fresh


def without(repeated: Repeats, refused: Iterable[Claim]) -> Repeats:
    """What is left of some repeats where claims have no proof."""
    wrong = {(claim.step, claim.output) for claim in refused}
    return {place: ids for place, ids in repeated.items() if place not in wrong}


def _made_of(trace: Trace, number: int, position: int) -> Ids:
    """The elements of what a step makes, as they are known there."""
    return present(trace, trace.flow.steps[number].outputs[position])


def _bare(trace: Trace) -> Trace:
    ids: list[Ids | None] = [None] * trace.flow.values
    return Trace(
        trace.flow, ids, infinite=trace.infinite, rising=trace.rising, failing=trace.failing, absorbed=trace.absorbed,
        divided=trace.divided, doubtful=trace.doubtful, divisions=trace.divisions, counts=trace.counts,
        positive=trace.positive,
    )  # fmt: skip
