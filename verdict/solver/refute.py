"""From candidates to a refutation: a point made small, certified, and given as values for every variable."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from verdict.outcome import Refuted
from verdict.solver.certify import certainly_different
from verdict.solver.evaluate import ExactValues, Floats, FloatValues
from verdict.solver.falsify import Booleans, Candidate
from verdict.solver.minimize import minimize
from verdict.solver.obligation import Element, Point
from verdict.solver.sampling import columns_of, variables
from verdict.solver.term import Sign, Term, span_of
from verdict.solver.terms import Terms


def refute(
    terms: Terms,
    elements: Sequence[Element],
    candidates: Sequence[Candidate],
    pivots: Mapping[Term, Term],
) -> Refuted | None:
    """A refutation that is certain, from the first candidate that gives one."""
    signs = Signs(terms, pivots)
    for candidate in candidates:
        if not certainly_different([candidate.element], candidate.point):
            continue
        for point in (minimize(candidate, signs.hold_at), candidate.point):
            mismatches = certainly_different(elements, point) if signs.hold_exactly(point) else ()
            if mismatches:
                return Refuted(_witness(terms, point, pivots), mismatches)
    return None


class Signs:
    """The declared signs of the variables that the premises eliminated, as conditions on the others."""

    def __init__(self, terms: Terms, pivots: Mapping[Term, Term]) -> None:
        self._positive = [value for pivot, value in pivots.items() if pivot.sign is Sign.POSITIVE and not value.sign]
        self._order = terms.below(self._positive)
        self._free = variables(self._order)

    def hold_in(self, columns: Mapping[Term, Floats], count: int) -> Booleans:
        """At which of `count` points, given as columns, they hold."""
        if not self._positive:
            return np.ones(count, dtype=np.bool_)
        found = FloatValues(self._order, {term: columns[term] for term in self._free})
        return np.asarray((found.of(self._positive) > 0).all(axis=0))

    def hold_exactly(self, point: Point) -> bool:
        """Whether they hold at a point, without rounding."""
        values = ExactValues(self._order, point).exact
        return all(Fraction(0) < value for term in self._positive if isinstance(value := values[term], Fraction))

    def hold_at(self, points: Sequence[Point]) -> Booleans:
        """At which of `points` they hold."""
        return self.hold_in(columns_of(self._free, points), len(points))


def _least(variable: Term) -> Fraction:
    """A value of a variable that has no influence."""
    span = span_of(variable)
    if span is not None and not span.holds(0):
        return Fraction(next(end for end in span if end is not None))
    return Fraction(int(span is None and variable.sign is Sign.POSITIVE))


def _witness(terms: Terms, point: Point, pivots: Mapping[Term, Term]) -> tuple[tuple[str, Fraction], ...]:
    values = dict(point)
    for variable in terms.variables.values():
        if variable not in values and variable not in pivots:
            values[variable] = _least(variable)
    eliminated = ExactValues(terms.below(pivots.values()), values).exact
    for pivot, value in pivots.items():
        found = eliminated[value]
        assert isinstance(found, Fraction), "a premise is linear with rational weights"
        values[pivot] = found
    return tuple(sorted((str(variable.data[0]), value) for variable, value in values.items()))
