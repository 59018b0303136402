"""Sums of numbers along one axis that meet each other: they are independent only of as many elements.

    p1 = sum of x;  p2 = sum of x ** 2;  p1 * p1 - p2, which is zero of one element        2 elements, at least

So as many elements are kept of an axis as different sums along it are multiplied, or are added to products of those;
and one more for what else is added. Where the axis is there again, its elements tell: x - mean(x).
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from math import prod

from verdict.graph.lockstep import COMMUNICATION
from verdict.ops import FACTS, Dim
from verdict.ops.choices import added_at
from verdict.reduction.coordinates import Coordinates
from verdict.reduction.factors import Factors
from verdict.reduction.products import sources_of, takes_part
from verdict.reduction.scales import Scales
from verdict.reduction.states import State
from verdict.reduction.visit import Axis, Visit

Parts = frozenset[frozenset[int]]
"""The forms of sums, those together that were multiplied by each other, or added to such a product."""


def keep_sums(known: Coordinates, factors: Factors, visits: Sequence[Visit], scales: Scales) -> None:
    """Say how many elements of each axis are needed for what is made of sums along it."""
    found: dict[int, Mapping[Axis, Parts]] = {}
    before = -1
    while before != (before := len(found)):  # what is sent may be made behind where it arrives
        for visit in visits:
            _follow(known, factors, visit, found)
    for each in found.values():
        for axis, parts in each.items():
            needed = max(map(len, parts)) + (len(parts) > 1)
            scales.least(axis.variable, axis.size, min(needed, axis.size))


def _follow(known: Coordinates, factors: Factors, visit: Visit, found: dict[int, Mapping[Axis, Parts]]) -> None:
    """Note of which sums along axes that it does not have a node makes something."""
    op, arity = visit.node.op, len(visit.node.inputs)
    read = [found[source] for source in sources_of(known, visit) if source in found]
    join = _added if op in COMMUNICATION or added_at(op, visit.attrs, arity) else _multiplied
    for position, logical in visit.made.items():
        own = _named(visit.made_dims(position))
        kept = _axes(factors, visit, own)
        one = frozenset([frozenset([known.counts.form(logical)])])
        new = dict.fromkeys(_axes(factors, visit, _summed(known, visit, logical) - own), one)
        axes = {axis for parts in read for axis in parts} - new.keys() - kept
        here = {axis: reduce(join, [parts[axis] for parts in read if axis in parts]) for axis in axes}
        if takes_part(known, visit, logical):
            here = dict.fromkeys(here, one)
        if here or new:
            found[logical] = {**here, **new}


def _summed(known: Coordinates, visit: Visit, made: int) -> frozenset[str]:
    """The atoms along which a node adds up numbers, and nothing else: it reads one tensor, or makes one number."""
    if FACTS.extreme(visit.node.op) or visit.node.op in COMMUNICATION:
        return frozenset()
    data = [position for position, logical in visit.read.items() if known.state(known.source(logical)) is State.DATA]
    alone = len(visit.read) == 1 or prod(known.plan.logicals[made].shape) == 1
    return visit.contracted(data) if alone else frozenset()


def _named(dims: Iterable[Dim]) -> frozenset[str]:
    return frozenset(name for dim in dims for name in dim)


def _axes(factors: Factors, visit: Visit, names: Iterable[str]) -> frozenset[Axis]:
    """Atoms as axes, those of one factor as one."""
    axes = visit.axes(name for name in names if name in visit.atoms)
    return frozenset(Axis(factors.find(axis.variable), axis.size) for axis in axes)


def _added(one: Parts, other: Parts) -> Parts:
    """What is added up has no more in common than some of the same sums."""
    parts = set(one)
    for part in other:
        same = {each for each in parts if not each.isdisjoint(part)}
        parts = parts - same | {part.union(*same)}
    return frozenset(parts)


def _multiplied(one: Parts, other: Parts) -> Parts:
    """What is multiplied is one; of what was added up and has nothing in common, the greatest."""
    return frozenset([max(one, key=len) | max(other, key=len)])
