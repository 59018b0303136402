"""Counterexamples made small: as many zeros and ones as the difference survives.

Greedy and on floats; every trial must keep both sides finite and must not land on a jump of a function
(relu' at 0) that the first point avoided. The result is certified like any other point.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from verdict.solver.evaluate import FloatValues
from verdict.solver.falsify import Booleans, Candidate, differ
from verdict.solver.functions import KNOWN
from verdict.solver.obligation import Point
from verdict.solver.sampling import columns_of, variables
from verdict.solver.term import Kind, Sign, Term, span_of

_TRIALS = 400
"""How often points are tried for one candidate; the simplest one that is found by then stands."""
_TERMS = 500_000
"""The most terms of which values are asked for one candidate, over all trials: a second."""
_MOST_FRESH = 1_000
"""The most variables of which points are tried that are one number everywhere but at one of them: there are as many of
these points, each of as many numbers.
"""
_CELLS = 2_000_000
"""The most values, terms times points, that one evaluation may hold."""


def minimize(candidate: Candidate, allowed: Callable[[Sequence[Point]], Booleans]) -> Point:
    """A simpler point at which the candidate's element still seems to differ.

    allowed: which points satisfy the declared signs of the variables that the premises eliminated.
    """
    element = candidate.element
    order = element.single.terms.below((element.single, element.parallel))
    cone = variables(order)
    trial = _Trial(candidate, order, allowed)
    point = {**candidate.point, **_base(set(candidate.point) - set(cone), 0)}
    if not trial.first([point]):
        point = dict(candidate.point)
    if len(cone) <= _MOST_FRESH:
        point = trial.first(_fresh(point, cone)) or point
    size = len(cone)
    while size:
        for start in range(0, len(cone), size):
            if trial.ended:
                return point
            block = [term for term in cone[start : start + size] if point[term] not in _simple(term)]
            simpler = [{**point, **_base(block, value)} for value in (0, 1)] if block else []
            point = trial.first(simpler) or point
        size //= 2
    for term in cone:
        if trial.ended:
            return point
        better = [{**point, term: value} for value in _simple(term)]
        better = better[: _simple(term).index(point[term])] if point[term] in _simple(term) else better
        point = trial.first(better) or point
    return point


class _Trial:
    """Tries points in order, within a budget, and finds the first at which the sides still differ."""

    def __init__(
        self, candidate: Candidate, order: Sequence[Term], allowed: Callable[[Sequence[Point]], Booleans]
    ) -> None:
        self._candidate = candidate
        self._order = order
        self._allowed = allowed
        self._jumps = [t for t in order if t.kind is Kind.OPAQUE and t.data in KNOWN and KNOWN[t.data].jump is not None]
        self._left = min(_TRIALS, max(1, _TERMS // len(order)))
        self._may_tie = False
        self._may_tie = not self.first([candidate.point])

    @property
    def ended(self) -> bool:
        """Whether the budget is used up."""
        return self._left <= 0

    def first(self, points: Sequence[Point]) -> Point | None:
        """The first of `points` at which the element differs, or None."""
        if not points or self.ended:
            return None
        self._left -= 1
        chunk = max(1, _CELLS // len(self._order))
        for start in range(0, len(points), chunk):
            some = points[start : start + chunk]
            hits = np.flatnonzero(self._differs(some) & self._allowed(some))
            if hits.size:
                return some[int(hits[0])]
        return None

    def _differs(self, points: Sequence[Point]) -> Booleans:
        free = [term for term in self._order if term.kind in (Kind.REAL, Kind.INDEX)]
        values = FloatValues(self._order, columns_of(free, points))
        element = self._candidate.element
        single, parallel = np.broadcast_to(values.of([element.single, element.parallel]), (2, len(points)))
        if self._candidate.undefined:
            return np.asarray(np.isfinite(single) & np.isnan(parallel))
        wrong = np.isfinite(single) & np.isfinite(parallel) & differ(single, parallel, 1e-3)
        for jump in () if self._may_tie else self._jumps:
            wrong &= values.of(jump.args)[0] != float(KNOWN[jump.data].jump or 0)
        return np.asarray(wrong)


def _simple(term: Term) -> tuple[Fraction, ...]:
    if term.kind is Kind.INDEX:
        return tuple(map(Fraction, range(min(2, term.data[2]))))
    span = span_of(term)
    if span is not None:
        near = (0, 1, -1, 2, *(end for end in span if end is not None))
        return tuple(Fraction(value) for value in dict.fromkeys(near) if span.holds(value))
    return tuple(map(Fraction, (1, 2) if term.sign is Sign.POSITIVE else (0, 1, -1, 2)))


def _base(terms: Sequence[Term] | set[Term], value: int) -> Point:
    return {term: Fraction(value) if value in _simple(term) else _simple(term)[0] for term in terms}


def _fresh(point: Point, cone: Sequence[Term]) -> list[Point]:
    """Points that are all 0 or all 1 in the cone, but for at most one entry."""
    fresh = []
    for value in (0, 1):
        base = {**point, **_base(cone, value)}
        fresh.append(base)
        fresh += [{**base, term: other} for term in cone for other in _simple(term) if other != base[term]]
    return fresh
