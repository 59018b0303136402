"""How often coordinates of one axis are moved on the way through a plan: as parts of a whole that begin inside of it,
and where what is looked up is named by coordinates that a number was added to.

An element of a part of a part is as far from the first one of the whole as both begin: a sum of two numbers. Of what is
moved again and again, sums of many are compared, and of two that meet those of both.
"""

from collections.abc import Iterable, Mapping, Set

from verdict.reduction.added import NUMBER
from verdict.reduction.coordinates import Coordinates
from verdict.reduction.factors import Factors
from verdict.reduction.scales import MOST_MOVED
from verdict.reduction.visit import Visit


def moved(known: Coordinates, factors: Factors, visits: Iterable[Visit], roots: Set[int]) -> Mapping[int, int]:
    """How often at most coordinates along each of some factors are moved."""
    found: dict[int, dict[int, int]] = {}
    each_own = [(visit, _moves(known, factors, visit) & roots) for visit in visits]
    before = -1
    while before != (before := sum(sum(each.values()) for each in found.values())):
        for visit, own in each_own:
            read = [found.get(known.source(logical), {}) for logical in visit.read.values()]
            here = {root for each in read for root in each} | own
            many = {root: max((each.get(root, 0) for each in read), default=0) + (root in own) for root in here}
            for logical in visit.made.values():
                kept = found.get(logical, {})
                most = {root: min(max(times, kept.get(root, 0)), MOST_MOVED) for root, times in many.items()}
                if most:
                    found[logical] = {**kept, **most}
    return {root: max((each.get(root, 0) for each in found.values()), default=0) for root in roots}


def _moves(known: Coordinates, factors: Factors, visit: Visit) -> frozenset[int]:
    """The factors along which a node takes, or puts, parts that do not begin where the whole begins, or elements that
    shifted coordinates name.
    """
    whole = {atom for atom, cuts in visit.pattern.cuts.items() if len(cuts) > 2 or cuts[0] > 0}
    tied = {atom for tie in visit.pattern.ties for atom in tie}
    ids = {atom: known.logical(visit.node.inputs[position]) for position, atom in visit.pattern.along.items()}
    named = {atom for atom, logical in ids.items() if known.added(logical)[NUMBER]}
    atoms = (whole & tied | named) & set(visit.atoms)
    return frozenset(root for atom in atoms for root in factors.leaves(visit.atoms[atom]))
