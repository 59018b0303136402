"""Whether random numbers matter to the results of a plan: changed in one draw, they change them."""

from math import prod

import numpy as np

from verdict.concrete import DIFFER
from verdict.graph.draws import Draw, replaced
from verdict.graph.matched import Matched, Wrong
from verdict.graph.region import slices
from verdict.ops.drawn import another, listed, sampled
from verdict.phases.numbers import run_on_numbers
from verdict.phases.query import Query

MOST_CHANGED = 2**16
"""Draws of more elements are not looked at."""
TRIED = 8
"""So many elements of two draws are changed, one by one, to find one that matters in both."""


def both_matter(query: Query, found: Matched, wrong: Wrong) -> bool:
    """Whether some element of both draws matters to the results of plans that are PROVED with their draws assigned.

    Where none does, each of two ranks may take another part of what both draw, and the draws are no copies.
    """
    if max(prod(draw.shape) for draw, _ in (*found.alone, *found.uses)) > MOST_CHANGED:
        return False
    random = np.random.default_rng(0)
    whole = {use.name: sampled(draw, random) for draw, use in reversed(found.alone)}
    alone = {(draw.segment, draw.node): whole[use.name] for draw, use in found.alone}
    ranks = {(draw.segment, draw.node): whole[use.name][slices(use.region)] for draw, use in found.uses}
    single = replaced(query.single, lambda draw: listed(draw, alone[draw.segment, draw.node]))

    def matters(changed: Draw, place: int) -> bool:
        values = ranks[changed.segment, changed.node].copy()
        values.flat[place] = another(changed, values.flat[place], random)
        values_of = {**ranks, (changed.segment, changed.node): values}
        parallel = replaced(query.parallel, lambda draw: listed(draw, values_of[draw.segment, draw.node]))
        told = run_on_numbers(single, parallel)
        return not isinstance(told, str) and told.outcome == DIFFER

    places = range(prod(wrong.one.shape)) if wrong.one.shape == wrong.other.shape else range(1)
    tried = random.permutation(np.asarray(places))[:TRIED]
    return any(matters(wrong.one, int(place)) and matters(wrong.other, int(place)) for place in tried)
