"""Single-device numbers that lie between known bounds, as inputs are stated to: what is counted of labels, say."""

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from verdict.graph import ABSENT
from verdict.lineage.reference import Bases, Reference
from verdict.ops.between import between
from verdict.ops.domain import BITS
from verdict.ops.rule import Array
from verdict.ops.signs import NOT_NEGATIVE, POSITIVE

MOST_COUNTED = 60_000
"""The most elements of a tensor that is followed: as many as a plan is given that is proved at its own shapes."""
GREATEST = 1 << 36
"""The greatest whole number that is followed: a sum of as many such as are followed is exact in 64-bit floats."""
Bounds = tuple[Array, Array]


def signs_by_count(table: Reference) -> Mapping[int, int]:
    """The signs of whole numbers that are computed from nothing but inputs whose bounds are stated, and constants:
    NOT_NEGATIVE or POSITIVE where all elements are so, at the shapes of the single-device plan. Integers of few bits,
    which wrap around, are not followed.
    """
    stated, known = dict[str, tuple[int, int]](), dict[int, Bounds]()
    for name, low, high in table.plan.ranges:
        if low is not None and high is not None and max(-low, high) <= GREATEST:
            stated[name] = low, high
    if not stated:
        return {}
    for number, base in enumerate(table.bases):
        if base.node < 0 and base.logical in stated and prod(base.shape) <= MOST_COUNTED:
            least, greatest = (np.full(base.shape, float(end)) for end in stated[base.logical])
            known[number] = least, greatest
    for partner in table.partners:
        read = [_added(known, bases) for bases in partner.inputs]
        given = [bounds for bounds in read if bounds is not None]
        if len(given) < len(read) or len(partner.outputs) != 1 or partner.outputs[0] == ABSENT:
            continue
        base = table.bases[partner.outputs[0]]
        if prod(base.shape) > MOST_COUNTED or base.dtype in BITS:
            continue
        lows, highs = [low for low, _ in given], [high for _, high in given]
        made = between(partner.node.op, dict(partner.node.attrs), lows, highs)
        ends = [np.asarray(end, dtype=float) for end in made or ()]
        if ends and all(((abs(end) <= GREATEST) & (end == end.round())).all() for end in ends):
            known[partner.outputs[0]] = ends[0], ends[1]
    found = {number: least.min() for number, (least, _) in known.items() if least.size}
    return {number: POSITIVE if end > 0 else NOT_NEGATIVE for number, end in found.items() if end >= 0}


def _added(known: Mapping[int, Bounds], bases: Bases) -> Bounds | None:
    """The bounds of what values add up to; None where those of one are not known."""
    found: Sequence[Bounds] = [known[base] for base in bases if base in known]
    if not bases or len(found) < len(bases):
        return None
    return np.asarray(sum(low for low, _ in found)), np.asarray(sum(high for _, high in found))
