"""From candidates to a refutation: a point made small, certified, and given as values for every variable."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from verdict.outcome import Refuted
from verdict.solver.certify import certify
from verdict.solver.evaluate import ExactValues, FloatValues
from verdict.solver.falsify import Booleans, Candidate
from verdict.solver.minimize import minimize
from verdict.solver.obligation import Element, Point
from verdict.solver.sampling import variables
from verdict.solver.term import Kind, Sign, Term
from verdict.solver.terms import Terms


def refute(
    terms: Terms,
    elements: Sequence[Element],
    candidates: Sequence[Candidate],
    pivots: Mapping[Term, Term],
) -> Refuted | None:
    """A refutation that is certain, from the first candidate that gives one."""
    allowed = within_signs(terms, pivots)
    for candidate in candidates:
        for point in (minimize(candidate, allowed), candidate.point):
            mismatches = certify(elements, point) if allowed([point])[0] else ()
            if mismatches:
                return Refuted(_witness(terms, point, pivots), mismatches)
    return None


def within_signs(terms: Terms, pivots: Mapping[Term, Term]) -> Callable[[Sequence[Point]], Booleans]:
    """Which points give the eliminated variables that were declared positive a positive value."""
    positive = [value for pivot, value in pivots.items() if pivot.sign is Sign.POSITIVE and not value.sign]
    order = terms.below(positive)
    free = variables(order)

    def allowed(points: Sequence[Point]) -> Booleans:
        if not positive:
            return np.ones(len(points), dtype=np.bool_)
        columns = {term: np.array([float(point[term]) for point in points]) for term in free}
        return np.asarray((FloatValues(order, columns).of(positive) > 1e-9).all(axis=0))

    return allowed


def _witness(terms: Terms, point: Point, pivots: Mapping[Term, Term]) -> tuple[tuple[str, Fraction], ...]:
    values = dict(point)
    for variable in terms.variables.values():
        if variable not in values and variable not in pivots:
            values[variable] = Fraction(int(variable.kind is Kind.REAL and variable.sign is Sign.POSITIVE))
    eliminated = ExactValues(terms.below(pivots.values()), values).exact
    for pivot, value in pivots.items():
        found = eliminated[value]
        assert isinstance(found, Fraction), "a premise is linear with rational weights"
        values[pivot] = found
    return tuple(sorted((str(variable.data[0]), value) for variable, value in values.items()))
