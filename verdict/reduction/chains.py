"""How often relations between coordinates follow each other on the way through a plan.

    y = mask(i > j) * x;  y @ (y @ (y @ h))         i > j > k > l: four coordinates in their order

Along an axis of fewer elements than that the last product is zero, whatever stands beside it. And where each relation
adds a number (i = j + 409), the sum of all of them is compared with the axis. Where equal coordinates are related (a
causal mask lets a position see itself) a product of many is what one of them is. A matrix times itself has chains of
twice as many between its rows and its columns: z = y @ y; z = z @ z is of four.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from verdict.graph import ABSENT
from verdict.ops import Flow
from verdict.ops.choices import lets_through, of_equal, orders, turned
from verdict.reduction.added import NUMBER, coordinates
from verdict.reduction.coordinates import Coordinates
from verdict.reduction.factors import Factors
from verdict.reduction.reach import neutral_of
from verdict.reduction.scales import MOST_CHAINED
from verdict.reduction.states import IDS
from verdict.reduction.visit import Visit


class Chain(NamedTuple):
    """joining: how many relations follow each other from one axis to another of the same factor, at most. hanging: how
    many from one such axis on. numbers: how many numbers each adds.
    """

    joining: int = 0
    hanging: int = 0
    numbers: int = 0

    @property
    def passes(self) -> int:
        """How many products follow a relation."""
        return max(self.joining - 1, self.hanging)


NO_CHAIN = Chain()
RELATED = 2
"""Of so many coordinates there is a relation: one alone is compared with a number."""


def longest(each: Iterable[Mapping[int, Chain]]) -> dict[int, Chain]:
    """By factor the longest of some chains."""
    found: dict[int, Chain] = {}
    for one in each:
        for root, its in one.items():
            found[root] = Chain(*map(max, its, found.get(root, NO_CHAIN)))
    return found


def chained(known: Coordinates, factors: Factors, visits: Iterable[Visit]) -> Mapping[int, Chain]:
    """By factor, how often at most what depends on a relation along it is multiplied along it."""
    visits = tuple(visits)
    alike = _of_equal(known, visits)
    each_own = [(v, _related(known, factors, v, v.key in alike), _passed(factors, v)) for v in visits]
    found: dict[int, dict[int, Chain]] = {}
    if not any(own for _, own, _ in each_own):
        return {}
    before = -1
    while before != (before := sum(sum(its) + 1 for each in found.values() for its in each.values())):
        for visit, own, passed in each_own:
            read = [found.get(known.source(known.logical(t)), {}) for t in visit.node.inputs if t != ABSENT]
            here = longest((*read, own))
            here |= {root: _multiplied(read, root, root in _twice(factors, visit)) for root in passed & here.keys()}
            if here:
                found.update((logical, longest((found.get(logical, {}), here))) for logical in visit.made.values())
    return {root: most for root, most in longest(found.values()).items() if most.passes}


def _multiplied(read: Sequence[Mapping[int, Chain]], root: int, joins: bool) -> Chain:
    """The chains of a product along a factor. joins: whether it has two axes of that."""
    each = [its[root] for its in read if root in its]
    joining, hanging = sum(its.joining for its in each), max(its.hanging for its in each)
    numbers = max(its.numbers for its in each)
    if joins:
        return Chain(min(joining, MOST_CHAINED), hanging, numbers)
    return Chain(0, min(hanging + max(joining, 1), MOST_CHAINED), numbers)


def _twice(factors: Factors, visit: Visit) -> frozenset[int]:
    """The factors of which what a node makes has several axes."""
    found = Counter[int]()
    for position in visit.made:
        dims = visit.pattern.axes.outputs[position] if position < len(visit.pattern.axes.outputs) else ()
        atoms = ([visit.atoms[atom] for atom in dim if atom in visit.atoms] for dim in dims)
        found |= Counter(chain(*({root for atom in own for root in factors.leaves(atom)} for own in atoms)))
    return frozenset(root for root, times in found.items() if times > 1)


def _related(known: Coordinates, factors: Factors, visit: Visit, alike: bool) -> dict[int, Chain]:
    """The relations that a node makes. alike: see `_relations`."""
    found: dict[int, Chain] = {}
    for root, numbers in _relations(known, factors, visit, alike):
        found[root] = Chain(1, 0, max(numbers, found.get(root, NO_CHAIN).numbers))
    return found


def _relations(known: Coordinates, factors: Factors, visit: Visit, alike: bool) -> Iterator[tuple[int, int]]:
    """The factors along which a node relates coordinates to each other, and how many numbers are added there; none
    where only what relates equal ones, too, is let through (`alike`). So it relates the rows that have these, if not
    every way comes back to a row: of equal, or of unequal, ones it does.
    """
    logicals = [logical for logical in visit.read.values() if known.state(logical) in IDS]
    if visit.flow is Flow.COMPARED and logicals and not alike:
        added = known.added(*logicals)
        if coordinates(added).total() >= RELATED:
            numbers = added[NUMBER] + bool(visit.attrs.get("other"))
            yield from ((root, numbers) for root in factors.leaves(known.variable(logicals[0])))
            ends = bool(numbers) or orders(visit.node.op, visit.attrs)
            yield from ((root, 0) for root in (_twice(factors, visit) if ends else ()))
    for one, other in visit.pattern.ties:
        if all(_is_made(visit, atom) and atom not in visit.pattern.cuts for atom in (one, other)):
            yield from ((root, 0) for root in factors.leaves(visit.atoms[one]))


def _of_equal(known: Coordinates, visits: Sequence[Visit]) -> frozenset[tuple[object, ...]]:
    """The comparisons of positions with each other, by key, of which all readers let through what else they read where
    they are equal, and make zeros, or minus infinity, of the rest. Positions are the places of their own axes, and what
    is told of them stays where it is: of a part of a mask, or of positions that do not begin at zero, others are equal.
    """
    plain = _of_places(visits)
    if not plain:
        return frozenset()
    readers: dict[int, list[tuple[Visit, int]]] = {}
    for visit in visits:
        for position, logical in visit.read.items():
            readers.setdefault(known.source(logical), []).append((visit, position))
    sent = {sent for sent, _ in known.messages} | {known.logical(held.tensor) for held in known.plan.declared}
    neutral = neutral_of(known, visits)

    def through(logical: int, holds: bool) -> bool:
        """Whether all that reads a truth value lets through where it is true, or (not holds) where it is false."""
        if logical in sent:
            return False
        for visit, position in readers.get(logical, ()):
            arity = len(visit.node.inputs)
            turns = turned(visit.node.op, visit.attrs) if arity == 1 else None
            if turns is not None:
                if not _stays(visit) or not all(through(made, holds != turns) for made in visit.made.values()):
                    return False
                continue
            same = {place for place, each in visit.read.items() if known.source(each) in neutral}
            if lets_through(visit.node.op, visit.attrs, arity, position, same) is not holds:
                return False
        return True

    return frozenset(visit.key for visit in plain if _holds(visit, through))


def _of_places(visits: Sequence[Visit]) -> list[Visit]:
    """The nodes that compare the places of elements along their own axes with each other."""
    places: set[int] = set()
    for visit in visits:
        moved = visit.flow is Flow.MOVED and _stays(visit)
        if _counts(visit) or (moved and places.issuperset(visit.read.values())):
            places.update(visit.made.values())
    makers = Counter(logical for visit in visits for logical in visit.made.values())
    places -= {logical for logical, times in makers.items() if times > 1}
    return [v for v in visits if v.flow is Flow.COMPARED and len(v.read) == 2 and places.issuperset(v.read.values())]


def _counts(visit: Visit) -> bool:
    """Whether a node makes the positions along an axis, from the first one on."""
    start, step = visit.attrs.get("start", 0), visit.attrs.get("step", 1)
    return bool(visit.pattern.made) and start == 0 and step == 1


def _stays(visit: Visit) -> bool:
    """Whether what a node makes of an element of its only input stands where that stood, along each axis of it."""
    if len(visit.read) != 1 or visit.pattern.cuts or visit.pattern.ties:
        return False
    dims = [*(dim for position in visit.read for dim in visit.dims(position)), *chain(*visit.pattern.axes.outputs)]
    return all(len(dim) <= 1 for dim in dims) and visit.mixed.isdisjoint(chain(*dims))


def _holds(visit: Visit, through: Callable[[int, bool], bool]) -> bool:
    holds = of_equal(visit.node.op, visit.attrs)
    return holds is not None and all(through(made, holds) for made in visit.made.values())


def _is_made(visit: Visit, atom: str) -> bool:
    """Whether all outputs that are wanted have an atom."""
    outputs = (visit.pattern.axes.outputs[position] for position in visit.made)
    return atom in visit.atoms and all(any(atom in dim for dim in dims) for dims in outputs)


def _passed(factors: Factors, visit: Visit) -> frozenset[int]:
    """The factors along which elements are multiplied and added up, or looked up, where others of them remain."""
    made = {name for dims in visit.pattern.axes.outputs for dim in dims for name in dim}
    left = {root for atom in made & visit.atoms.keys() for root in factors.leaves(visit.atoms[atom])}
    mixed = visit.contracted(visit.read) - made
    summed = {root for atom in mixed for root in factors.leaves(visit.atoms[atom])} & left
    taken = {*visit.pattern.along.values()} & visit.atoms.keys() - made
    return frozenset(summed | {root for atom in taken for root in factors.leaves(visit.atoms[atom])})
