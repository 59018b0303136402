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
        each = np.array([ids.ravel()[places[left]] for ids in reads])
        blocks = [parts.elements.of(int(element)) for element in each[:, 0]]
        within = each - np.array([[block.start] for block in blocks])
        inside = (within == within[0]).all(axis=0) & (within[0] >= 0) & (within[0] < prod(blocks[0].shape))
        owners = [block.owner for block in blocks if block.kind is Kind.PARALLEL and block[3:] == blocks[0][3:]]
        if len(owners) == len(blocks):
            due = _whole(owners, blocks[0].output, Fraction(1, len(reads)) if op == MEAN else Fraction(1), parts)
            if due is not None and due.shape == blocks[0].shape:
                found[left[inside]] = due.ravel()[within[0][inside]]
        left = left[1:][~inside[1:]]
    return found


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
