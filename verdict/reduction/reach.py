"""Which values can be any numbers, however long the axes are that they were summed along.

A sum of numbers that may be anything may be anything, of three as of three thousand. A sum of numbers within bounds (of
sigmoids, of what is clamped, of a norm's results) reaches further along a longer axis: what it is compared with may lie
beyond all that it is at reduced shapes. So where what was added up of such numbers meets an operator of several cases
(a comparison, a bound, a step), the axes keep their sizes.

Roots, norms, logarithms, absolute values and comparisons with zero have their cases at zero. Of how many numbers a sum
is does not change what signs it may have; only where something was added to the sum do the axes keep their sizes for
these, and not where nothing that was added up can be negative.

Given numbers may be anything. So may be what is linear in something that may; and what is chosen from it beside zeros
or infinities, of which as many add up to what one is, by a mask that does not depend on real numbers. Nothing is known
of the rest. What was counted, and is data now beside other data, has bounds, too. Of the sum or difference of two that
may be anything, one of which something within bounds was added to, only that may be left: (a + 1) - a. It is all there
is where the rest is multiplied by zero: the axes along which it was added up keep their sizes where cases are told
apart. Nor is a difference anything where one of the two has bounds, which may be those of the other: a - max(a).
Truth values, levels and counts have bounds, beside data, too: of both in one tensor a part may be those alone.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import NamedTuple

from verdict.graph import ABSENT
from verdict.graph.lockstep import COMMUNICATION
from verdict.ops import FACTS, Flow
from verdict.ops.choices import added_at, chooses, fills_neutral, is_settled, lets_some_through, masks_at, orders
from verdict.ops.signs import nonnegative
from verdict.ops.types import FLOAT, kind
from verdict.reduction.coordinates import Coordinates
from verdict.reduction.factors import Factors
from verdict.reduction.states import FEW, State
from verdict.reduction.visit import Axis, Visit

NONE: frozenset[Axis] = frozenset()
OPERANDS = ("other", "self")
"""Attributes that are numbers which an operator adds."""


class Sums(NamedTuple):
    """What a tensor of numbers within bounds is made of.

    along: the axes along which such were added up. shifted: those of them after which something else was added.
    """

    along: frozenset[Axis] = NONE
    shifted: frozenset[Axis] = NONE


class Signs(NamedTuple):
    """Logical tensors. positive: of numbers that are not negative. neutral: of zeros, or of infinities of one sign.
    dependent: of what depends on real numbers that are given. chosen: the factors of axes along which integers or truth
    values choose elements, of which there may be too few.
    """

    positive: frozenset[int]
    neutral: frozenset[int]
    dependent: frozenset[int]
    chosen: frozenset[int]


def keep_reach(known: Coordinates, factors: Factors, visits: Iterable[Visit]) -> None:
    """Keep the axes along which numbers within bounds are added up, and compared."""
    within: dict[int, Sums] = {}
    hidden: dict[int, Sums] = {}
    visits, before = tuple(visits), -1
    chosen = frozenset(root for visit in visits for atom in _choosing(known, visit) for root in factors.leaves(atom))
    signs = Signs(_nonnegative(known, visits), neutral_of(known, visits), _dependent(known, visits), chosen)
    while before != (before := sum(map(_weight, (*within.values(), *hidden.values())))):
        for visit in visits:
            _visit(known, factors, within, hidden, visit, signs)


def _weight(sums: Sums) -> int:
    return 1 + len(sums.along) + len(sums.shifted)


def _nonnegative(known: Coordinates, visits: Iterable[Visit]) -> frozenset[int]:
    """The logical tensors that hold no negative number, whichever node makes them."""
    made: dict[int, bool] = {}
    for visit in visits:
        op, read = visit.node.op, [known.source(logical) for logical in visit.read.values()]
        alike = bool(read) and all(made.get(logical, False) for logical in read)
        holds = alike if op in COMMUNICATION else nonnegative(op, visit.attrs, alike)
        made.update({logical: holds and made.get(logical, True) for logical in visit.made.values()})
    return frozenset(logical for logical, holds in made.items() if holds)


def neutral_of(known: Coordinates, visits: Iterable[Visit]) -> frozenset[int]:
    """The logical tensors that are zero, or infinite and of one sign, as a whole."""
    made: dict[int, bool] = {}
    for visit in visits:
        op, read = visit.node.op, [known.source(logical) for logical in visit.read.values()]
        moved = len(read) == 1 and visit.flow is Flow.MOVED and not visit.attrs.get("dtype")
        holds = made.get(read[0], False) if moved else not read and fills_neutral(op, visit.attrs)
        for logical in visit.made.values():
            made[logical] = made.get(logical, True) and (holds or known.state(logical) is State.ZERO)
    return frozenset(logical for logical, holds in made.items() if holds)


def _choosing(known: Coordinates, visit: Visit) -> list[int]:
    """The variables of the axes that truth values and the like have in a node, or along which integers choose what it
    adds up.
    """
    few = [position for position, logical in visit.read.items() if known.state(known.source(logical)) in FEW]
    atoms = {atom for position in few for dim in visit.dims(position) for atom in dim}
    named = {*visit.pattern.along.values()}
    atoms |= visit.contracted(visit.read) - named if named else set()
    return [visit.atoms[atom] for atom in atoms if atom in visit.atoms and visit.size(atom) > 1]


def _dependent(known: Coordinates, visits: Iterable[Visit]) -> frozenset[int]:
    """The logical tensors that depend on real numbers that are given, also as positions that name elements."""
    ways = [([known.logical(t) for t in v.node.inputs if t != ABSENT], set(v.made.values())) for v in visits]
    ways += [([sent], {arriving}) for sent, arriving in known.messages]
    found: set[int] = set()
    before = -1
    while before != (before := len(found)):
        for read, made in ways:
            if not made <= found and any(k in found or known.state(k) is State.DATA for k in read):
                found |= made
    return frozenset(found)


def _visit(
    known: Coordinates, factors: Factors, within: dict[int, Sums], hidden: dict[int, Sums], visit: Visit, signs: Signs
) -> None:  # fmt: skip
    """within: the logical tensors of numbers that may have bounds. hidden: what has bounds of those that may be
    anything otherwise.
    """
    op, sources = visit.node.op, {place: known.source(logical) for place, logical in visit.read.items()}
    data = {place for place, logical in sources.items() if known.state(logical) is State.DATA}
    few = _few(known, visit, sources) if data else {}
    parts = {place: within[sources[place]] for place in data if sources[place] in within} | few
    bounded = parts.keys()
    free, adding = data - bounded, added_at(op, visit.attrs, len(visit.node.inputs))
    read = [*parts.values()]
    apart = [hidden[sources[place]] for place in free & (adding or free) if sources[place] in hidden]
    if op not in COMMUNICATION and not FACTS.smooth(op, visit.node, visit.attrs, free):
        covered = [hidden[sources[place]] for place in free if sources[place] in hidden]
        known.keep_axes(NONE.union(*(_meant(known, factors, visit, sums, signs) for sums in covered)))
    left = bool(apart and adding) and len(free) > 1
    if not left and _is_free(known, visit, free, bounded, signs):
        _hide(known, hidden, visit, free, bool(adding), [*apart, *(read if adding else ())])
        return
    read += apart if left else []
    along, shifted = NONE.union(*(sums.along for sums in read)), NONE.union(*(sums.shifted for sums in read))
    if not FACTS.extreme(op):
        along |= visit.axes(visit.contracted(bounded))
    if any(known.state(logical) is State.DATA for logical in visit.made.values()):
        along |= known.counted(visit.read.values())
    moved = visit.flow is Flow.MOVED and set(map(kind, known.dtypes(visit))) == {FLOAT}
    if op not in COMMUNICATION and not moved and not FACTS.smooth(op, visit.node, visit.attrs, bounded):
        known.keep_axes(_meant(known, factors, visit, Sums(along, shifted), signs))
    added = {place for place, sums in parts.items() if sums.along}
    scaled = op in COMMUNICATION or moved or FACTS.homogeneous(op, visit.node, visit.attrs, added)
    if not (scaled or _adds_zeros(known, visit, sources) or signs.positive.issuperset(visit.made.values())):
        shifted = along
    for logical in visit.made.values():
        before = within.get(logical, Sums())
        within[logical] = Sums(before.along | along, before.shifted | shifted)


def _meant(known: Coordinates, factors: Factors, visit: Visit, sums: Sums, signs: Signs) -> frozenset[Axis]:
    """The axes along which something was added up that keep their sizes for the cases of a node. Where all of these are
    at zero, as of a root, what was added later alone matters; where it is told what is greater than zero, so do axes
    along which elements are chosen: each sum may need one of its own. Of what is never negative it may be told already.
    """
    if FACTS.cases_at_zero(visit.node.op, visit.attrs):
        return sums.shifted
    op, attrs, read = visit.node.op, visit.attrs, {k: known.source(logical) for k, logical in visit.read.items()}
    zeros = {place for place, logical in read.items() if known.state(logical) is State.ZERO}
    if not ((attrs.get("other") == 0 if len(read) == 1 else zeros) and orders(op, attrs)):
        return sums.along
    if any(is_settled(op, attrs, k) for k, logical in read.items() if k not in zeros and logical in signs.positive):
        return NONE
    chosen = (axis for axis in sums.along if not signs.chosen.isdisjoint(factors.leaves(axis.variable)))
    return sums.shifted.union(chosen)


def _few(known: Coordinates, visit: Visit, sources: Mapping[int, int]) -> dict[int, Sums]:
    """By their positions, what a node reads of few values beside data, with the axes along which it was counted; not
    what says where something is chosen.
    """
    masks = masks_at(visit.node.op, visit.attrs, len(visit.node.inputs))
    few = (place for place, logical in sources.items() if place not in masks and known.state(logical) in FEW)
    return {place: Sums(known.counted([sources[place]])) for place in few}


def _is_free(known: Coordinates, visit: Visit, free: Set[int], bounded: Set[int], signs: Signs) -> bool:
    """Whether what a node makes may be anything. free: the positions of what may be, bounded: of what has bounds."""
    op, attrs, arity = visit.node.op, visit.attrs, len(visit.node.inputs)
    same = {place for place, logical in visit.read.items() if known.source(logical) in signs.neutral}
    independent = {place for place, logical in visit.read.items() if logical not in signs.dependent}
    fixed = independent - free - bounded
    difference = FACTS.is_additive(op) and not FACTS.is_sum(op)
    if (bounded and (visit.flow is Flow.MOVED or difference)) or lets_some_through(op, attrs, arity, fixed):
        return False
    reaching = bool(free) if op in COMMUNICATION else FACTS.reaching(op, visit.node, attrs, free)
    return reaching or chooses(op, attrs, arity, free, same, fixed)


def _hide(
    known: Coordinates, hidden: dict[int, Sums], visit: Visit, free: Set[int], adds: bool, parts: Sequence[Sums]
) -> None:  # fmt: skip
    """Note what has bounds of what a node makes, which may be anything otherwise. free: the positions of what may be
    anything. parts: what has bounds of what it reads. Of two that may be anything and are multiplied, it may, too.
    """
    rest = (known.state(known.source(logical)) for place, logical in visit.read.items() if place not in free)
    numbers = [visit.attrs.get(name) for name in OPERANDS]
    added = adds and (any(state is not State.ZERO for state in rest) or any(x not in (None, 0) for x in numbers))
    multiplied = len(free) > 1 and not adds and visit.flow is not Flow.MOVED
    if not (added or parts) or multiplied:
        return
    along = NONE.union(*(sums.along for sums in parts)) | (NONE if adds else visit.axes(visit.contracted(free)))
    further = adds and (len(set(parts)) > 1 or any(number not in (None, 0) for number in numbers))
    shifted = along if further else NONE.union(*(sums.shifted for sums in parts))
    for logical in visit.made.values():
        before = hidden.get(logical, Sums())
        hidden[logical] = Sums(before.along | along, before.shifted | shifted)


def _adds_zeros(known: Coordinates, visit: Visit, sources: Mapping[int, int]) -> bool:
    """Whether a node adds nothing but zeros to what it reads, or to a multiple of it."""
    op, arity, attrs = visit.node.op, len(visit.node.inputs), visit.attrs
    others = {logical for logical in sources.values() if known.state(logical) is not State.ZERO}
    adds = FACTS.is_adding(op, arity, attrs) or FACTS.adds_products(op)
    return adds and len(others) == 1 and all(attrs.get(name) in (None, 0) for name in OPERANDS)
