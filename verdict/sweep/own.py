"""Which plans are swept at their own shapes: what is given, computed and told apart there is little."""

from math import prod

import numpy as np

from verdict.comparison import Faulty
from verdict.graph import Plan
from verdict.inputs import domains
from verdict.ops.integers import MOST_LISTED
from verdict.reduction import Reduced
from verdict.semantics import bind, full, itself
from verdict.sweep.larger import operations_of

MOST_FULL, MOST_OWN = 60_000, 1_000_000
"""Up to so many elements that the single-device plan is given, and so many multiplications and additions of both plans,
plans are swept at their own shapes: terms of as many take up to minutes. Where what is given is no more, but shapes
cannot be reduced, too.
"""
MOST_SHORT = 300_000
"""From so many multiplications and additions on they are so only where reduced shapes leave something open: fewer take
some seconds.
"""
MOST_TOLD = 1_000
"""So they are up to so many values that integers which are given may have, over all of them: each is told apart from
the others by an indicator, and these are multiplied. Of 32 ids of 64 rows a proof takes minutes, of 8 of 16 a tenth of
a second.
"""
MANY_TOLD = 200
"""From so many on reduced shapes are tried first: of 32 labels of 10 words a loss took four seconds, and one there."""


def is_small(single: Plan, parallel: Plan) -> bool:
    """Whether two plans may be swept at their own shapes."""
    try:
        return fits(Reduced(single, parallel, bind(single, parallel), (full(single), full(parallel))))
    except Faulty:
        return False


def fits(own: Reduced, most_full: int | None = None) -> bool:
    """Whether plans may be swept at their own shapes. most_full: elements that are given, where another number of them
    is meant than for whole plans.
    """
    few = _given(own) <= (MOST_FULL if most_full is None else most_full)
    return few and is_computed(own) and _told(own) <= MOST_TOLD


def is_computed(own: Reduced) -> bool:
    """Whether no more is computed than may be at own shapes."""
    return operations_of(own) <= MOST_OWN


def is_long(own: Reduced) -> bool:
    """Whether reduced shapes are tried before own ones."""
    return operations_of(own) > MOST_SHORT or _told(own) > MANY_TOLD


def is_much(own: Reduced) -> bool:
    """Whether more is given than may be where shapes cannot be reduced."""
    return _given(own) > MOST_FULL


def _told(own: Reduced) -> int:
    """How many values the integers that the single-device plan is given may have, where each is told apart."""
    every = domains(own.single, own.small[0]).values()
    counts = (zip(each.kinds, np.bincount(each.place.ravel()).tolist(), strict=False) for each in every)
    told = ((kind.size, count) for each in counts for kind, count in each)
    return sum(size * count for size, count in told if size is not None and size <= MOST_LISTED)


def _given(own: Reduced) -> int:
    """How many elements the single-device plan is given."""
    return sum(prod(own.small[0].logicals[k]) for k in itself(own.single).logical)
