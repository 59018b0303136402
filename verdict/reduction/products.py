"""Products of what is picked from axes, as of counts: none is zero only where each of them has an element of its own.

    load[e] = sum over t of [ids[t] = e];  load[0] * load[1] * .. * load[31]        32 tokens, at least

So as many elements are kept of an axis as different sums of few values along it are multiplied.
"""

from collections.abc import Iterable, Mapping
from math import prod

from verdict.graph import ABSENT
from verdict.ops import FACTS, Flow
from verdict.ops.choices import added_at, multiplies_along
from verdict.reduction.coordinates import Coordinates
from verdict.reduction.factors import Factors
from verdict.reduction.scales import Scales
from verdict.reduction.states import FEW, IDS
from verdict.reduction.visit import Axis, Visit

Picked = Mapping[Axis, frozenset[int]]
"""By axis the forms of different sums along it."""


def keep_products(known: Coordinates, factors: Factors, visits: Iterable[Visit], scales: Scales) -> None:
    """Say how many elements of each axis are needed where sums along it are multiplied."""
    found: dict[int, Picked] = {}
    for visit in visits:
        read = [found[source] for t in visit.node.inputs if t != ABSENT and (source := _source(known, t)) in found]
        summed = {Axis(factors.find(axis.variable), axis.size) for axis in _sums(known, visit)}
        if not (read or summed):
            continue
        here = _joined(read, bool(added_at(visit.node.op, visit.attrs, len(visit.node.inputs))))
        for logical in visit.made.values():
            one = frozenset((known.counts.form(logical),))
            parts = dict.fromkeys(here, one) if _takes_part(known, visit, logical) else here
            found[logical] = _joined((parts, dict.fromkeys(summed, one)), False)
        if multiplies_along(visit.node.op):
            known.keep_axes(here)
    for axis, forms in _joined(found.values(), True).items():
        scales.least(axis.variable, axis.size, len(forms) + 1)


def _takes_part(known: Coordinates, visit: Visit, logical: int) -> bool:
    """Whether a node takes some of the elements of what it reads: those of another part are another sum."""
    shapes = known.plan.logicals
    most = max((prod(shapes[read].shape) for read in visit.read.values()), default=0)
    return visit.flow is Flow.MOVED and prod(shapes[logical].shape) < most


def _source(known: Coordinates, tensor: int) -> int:
    return known.source(known.logical(tensor))


def _sums(known: Coordinates, visit: Visit) -> frozenset[Axis]:
    """The axes along which a node adds up what integers, or truth values, choose."""
    few = [position for position, logical in visit.read.items() if known.state(logical) in FEW | IDS]
    if FACTS.extreme(visit.node.op) or not (few or visit.pattern.along):
        return frozenset()
    made = {name for dims in visit.pattern.axes.outputs for dim in dims for name in dim}
    return visit.axes(visit.contracted(few or visit.read) - made)


def _joined(each: Iterable[Picked], adds: bool) -> Picked:
    """The sums that are multiplied where some are; of those that are added up (adds), the most of one of them."""
    found: dict[Axis, frozenset[int]] = {}
    for one in each:
        for axis, forms in one.items():
            before = found.get(axis, frozenset())
            found[axis] = max(before, forms, key=len) if adds else before | forms
    return found
