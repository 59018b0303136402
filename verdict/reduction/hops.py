"""Ids that are looked up by ids: each lookup names another element, so that there must be as many.

    b = next[a];  c = next[b];  is_ring = (c == a) & (b != a)        a ring of two: 2 elements, at least

So as many elements are kept of an axis as coordinates along it lie behind what is made of truth values or ids.
"""

from collections import Counter
from collections.abc import Iterable

from verdict.graph import ABSENT
from verdict.reduction.coordinates import Coordinates
from verdict.reduction.factors import Factors
from verdict.reduction.scales import Scales
from verdict.reduction.states import FEW, IDS
from verdict.reduction.visit import Axis, Visit

MORE = 1
"""How many elements more than those show that there are others."""

Named = frozenset[tuple[int, int]]
"""Coordinates: the variable of the axis along which they lie, and how they are computed."""


def keep_hops(known: Coordinates, factors: Factors, visits: Iterable[Visit], scales: Scales) -> None:
    """Say how many elements of each axis are needed for the ids that lookups make."""
    found: dict[int, Named] = {}
    axes: dict[int, Axis] = {}
    for visit in visits:
        sources = [known.source(known.logical(tensor)) for tensor in visit.node.inputs if tensor != ABSENT]
        here = frozenset[tuple[int, int]]().union(*(found.get(source, ()) for source in sources))
        looked_up = [known.source(known.logical(visit.node.inputs[position])) for position in visit.pattern.along]
        for logical in visit.made.values():
            state = known.state(logical)
            if looked_up and state in IDS:
                for named in (*looked_up, logical):
                    axis = known.axis_of(named)
                    if axis is not None:
                        root = factors.find(axis.variable)
                        axes[root] = axis
                        here |= {(root, known.counts.form(named))}
            if here and state in IDS | FEW:
                found[logical] = here | found.get(logical, frozenset())
    for named in found.values():
        for root, count in Counter(root for root, _ in named).items():
            scales.between(axes[root].variable, axes[root].size, count + MORE)
