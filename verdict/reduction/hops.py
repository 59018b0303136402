"""Ids that are looked up by ids: each lookup names another element, so that there must be as many.

    b = next[a];  c = next[b];  is_ring = (c == a) & (b != a)        a ring of two: 2 elements, at least

So as many elements are kept of an axis as coordinates along it lie behind what is made of truth values or ids.
"""

from collections import Counter
from collections.abc import Sequence

from verdict.reduction.coordinates import Coordinates
from verdict.reduction.factors import Factors
from verdict.reduction.products import sources_of
from verdict.reduction.scales import Scales
from verdict.reduction.states import FEW, IDS
from verdict.reduction.visit import Axis, Visit

MORE = 1
"""How many elements more than those show that there are others."""

Named = frozenset[tuple[int, int]]
"""Coordinates: the variable of the axis along which they lie, and how they are computed."""
NOTHING: Named = frozenset()


def keep_hops(known: Coordinates, factors: Factors, visits: Sequence[Visit], scales: Scales) -> None:
    """Say how many elements of each axis are needed for the ids that lookups make."""
    found: dict[int, Named] = {}
    axes: dict[int, Axis] = {}
    before = -1
    while before != (before := len(found)):  # what is sent may be made behind where it arrives
        for visit in visits:
            read = NOTHING.union(*(found.get(source, NOTHING) for source in sources_of(known, visit)))
            for logical in visit.made.values():
                own = _looked_up(known, visit, logical)
                axes.update({factors.find(axis.variable): axis for axis in own.values()})
                here = read.union((factors.find(axis.variable), known.counts.form(k)) for k, axis in own.items())
                if here and known.state(logical) in IDS | FEW:
                    found[logical] = here | found.get(logical, NOTHING)
    for each in found.values():
        for root, count in Counter(root for root, _ in each).items():
            scales.between(axes[root].variable, axes[root].size, count + MORE)


def _looked_up(known: Coordinates, visit: Visit, made: int) -> dict[int, Axis]:
    """The ids by which others are looked up, and those, with the axes along which they lie."""
    by = [known.source(known.logical(visit.node.inputs[position])) for position in visit.pattern.along]
    if not by or known.state(made) not in IDS:
        return {}
    named = ((logical, known.axis_of(logical)) for logical in (*by, made))
    return {logical: axis for logical, axis in named if axis is not None}
