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
from verdict.sweep.elements import Elements, Ids, Kind
from verdict.sweep.flow import MEAN, SUM
from verdict.sweep.multiple import multiple, unscaled
from verdict.sweep.trace import Keys, Trace


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
    due = _whole(owners, blocks[0].output, factor, parts)
    if due is None or due.shape != blocks[0].shape:
        return beside, np.full(len(beside), -1, dtype=np.int64)
    return beside, due.ravel()[places]


def _whole(owners: Sequence[int], output: int, factor: Fraction, parts: Parts) -> Ids | None:
    """What a single-device step makes of all that these parallel steps read, as many times as they read multiples."""
    steps = [parts.parallel.flow.steps[owner] for owner in owners]
    key = parts.keys.of(steps[0])
    if any(parts.keys.of(step) != key for step in steps):
        return None
    read = [[unscaled(parts.single, parts.elements, ids) for ids in parts.parallel.reads[owner]] for owner in owners]
    times = {prod((known[1] for known in each if known is not None), start=factor) for each in read}
    if len(times) > 1:
        return None
    bases = [
        [ids if known is None else known[0] for known, ids in zip(each, parts.parallel.reads[owner], strict=True)]
        for each, owner in zip(read, owners, strict=True)
    ]
    for number in parts.alike[steps[0].op]:
        step, own = parts.single.flow.steps[number], parts.single.reads[number]
        value = step.outputs[output] if parts.keys.of(step) == key else ABSENT
        ids = parts.single.ids[value] if value != ABSENT else None
        if ids is not None and all(np.isin(*pair).all() for each in bases for pair in zip(each, own, strict=True)):
            (scale,) = times
            return ids if scale == 1 else multiple(parts.single, parts.elements, ids, scale)
    return None
