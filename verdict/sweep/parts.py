"""What sums over ranks may be where they are zero but for rounding (the gradient of a key's bias): their values say
nothing of them, what they are sums of does.

Each rank's part is made by a step of one operator, of elements that one single-device step of that operator reads: the
sum of the parts may be what that step makes of all of them.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import prod
from typing import NamedTuple

import numpy as np

from verdict.graph import ABSENT
from verdict.ops import Array
from verdict.sweep.elements import Block, Elements, Ids, Kind
from verdict.sweep.flow import CANNOT, MEAN, SUM, Step, attempt
from verdict.sweep.multiple import multiple, unscaled
from verdict.sweep.trace import Keys, Trace

SAME = 1e-9
"""How near, relative to the value, sums of random numbers are that are added up in another order."""


class Parts(NamedTuple):
    """Where the parts of sums are looked for. alike: single-device steps by their operator."""

    parallel: Trace
    single: Trace
    elements: Elements
    keys: Keys
    alike: Mapping[str, Sequence[int]]


def by_parts(op: str, reads: Sequence[Ids], places: Ids, parts: Parts) -> Ids:
    """For some elements of what a step sums over ranks the single-device elements that they may be; -1 where none is
    found. places: which of them, flat.
    """
    found = np.full(len(places), -1, dtype=np.int64)
    left = np.arange(len(places) if op in (SUM, MEAN) and reads else 0)
    while left.size:
        beside, ids = _made(_weight(op, reads), np.array([each.ravel()[places[left]] for each in reads]), parts)
        found[left[beside]] = ids
        left = np.delete(left, [0, *beside])
    return found


def is_part(step: Step, reads: Sequence[Ids], output: int, parts: Parts) -> bool:
    """Whether a single-device step that is alike reads all that a step reads, if other multiples of it: what the step
    makes may be a part of what that one makes, which a sum over ranks tells.
    """
    return _whole([step], [reads], output, Fraction(1), parts) is not None


def _weight(op: str, reads: Sequence[Ids]) -> Fraction:
    return Fraction(1, len(reads)) if op == MEAN else Fraction(1)


def _made(factor: Fraction, each: Ids, parts: Parts) -> tuple[Ids, Ids]:
    """Which elements are made by the same steps as the first one, in the same places, and what `factor` times their sum
    may be, -1 where that is not told. each: a row for each part. Sums of sums are looked into.
    """
    blocks = [parts.elements.of(int(element)) for element in each[:, 0]]
    within = each - np.array([[block.start] for block in blocks])
    beside = np.flatnonzero((within == within[0]).all(axis=0) & (within[0] >= 0) & (within[0] < prod(blocks[0].shape)))
    if not beside.size or any(block.kind is not Kind.PARALLEL or block[3:] != blocks[0][3:] for block in blocks):
        return beside, np.full(len(beside), -1, dtype=np.int64)
    owners, places = [block.owner for block in blocks], within[0][beside]
    op, read = parts.parallel.flow.steps[owners[0]].op, [parts.parallel.reads[owner] for owner in owners]
    if op in (SUM, MEAN) and all(parts.parallel.flow.steps[owner].op == op for owner in owners):
        rows = [ids.ravel()[places] for reads in read for ids in reads]
        inner, ids = _made(factor * _weight(op, read[0]), np.array(rows), parts)
        return beside[inner], ids
    steps = [parts.parallel.flow.steps[owner] for owner in owners]
    whole = _whole(steps, read, blocks[0].output, factor, parts)
    due = None if whole is None else _due(whole, steps[0], blocks[0], parts)
    return beside, np.full(len(beside), -1, dtype=np.int64) if due is None else due.ravel()[places]


class _Whole(NamedTuple):
    """A single-device step that reads all of what the parts of a sum are made of. ids: what it makes. bases: what each
    part is made of, as the step reads it. times: how many times that is what the parts add up to.
    """

    step: int
    ids: Ids
    bases: Sequence[Sequence[Ids]]
    times: Fraction


def _whole(
    steps: Sequence[Step], reads: Sequence[Sequence[Ids]], output: int, factor: Fraction, parts: Parts
) -> _Whole | None:
    """The single-device step that reads all that some parallel steps read, if other multiples of it."""
    key = parts.keys.of(steps[0])
    if any(parts.keys.of(step) != key for step in steps):
        return None
    known = [[unscaled(parts.single, parts.elements, ids) for ids in own] for own in reads]
    times = {prod((found[1] for found in each if found is not None), start=factor) for each in known}
    if len(times) > 1:
        return None
    (scale,) = times
    bases = [
        [ids if found is None else found[0] for found, ids in zip(each, own, strict=True)]
        for each, own in zip(known, reads, strict=True)
    ]
    for number in parts.alike[steps[0].op]:
        step, own = parts.single.flow.steps[number], parts.single.reads[number]
        value = step.outputs[output] if parts.keys.of(step) == key else ABSENT
        ids = parts.single.ids[value] if value != ABSENT else None
        if ids is not None and all(np.isin(*pair).all() for each in bases for pair in zip(each, own, strict=True)):
            return _Whole(number, ids, bases, scale)
    return None


def _due(whole: _Whole, step: Step, block: Block, parts: Parts) -> Ids | None:
    """What parts add up to, of which one is a block: all that the single-device step makes, or some of it, as where a
    rank has its own heads of some rows alone. Which, random numbers in the place of what is read tell.
    """
    ids = whole.ids if whole.ids.shape == block.shape else _some(whole, step, block.output, parts)
    if ids is None or whole.times == 1:
        return ids
    return multiple(parts.single, parts.elements, ids, whole.times)


def _some(whole: _Whole, step: Step, output: int, parts: Parts) -> Ids | None:
    """Those elements of what a single-device step makes that the sum of the parts is, whatever is read; None where some
    are several, or none.
    """
    numbers = np.random.default_rng(0).normal(size=parts.elements.count)

    def made(reads: Sequence[Ids]) -> Array | None:
        return attempt(step, [numbers[ids] for ids in reads])[output]

    try:
        full, each = made(parts.single.reads[whole.step]), [made(reads) for reads in whole.bases]
    except CANNOT:
        return None
    if full is None or any(part is None for part in each):
        return None
    total = np.sum(np.array(each, dtype=np.float64), axis=0)
    every = np.asarray(full, dtype=np.float64).ravel()
    order, near = np.argsort(every), SAME * np.abs(total.ravel())
    low = np.searchsorted(every, total.ravel() - near, "left", order)
    high = np.searchsorted(every, total.ravel() + near, "right", order)
    if not (high - low == 1).all():
        return None
    return np.asarray(whole.ids.ravel()[order[low]], dtype=np.int64).reshape(total.shape)
