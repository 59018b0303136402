"""Where two sides seem to differ, on floats. What is found here is a candidate; certify.py decides."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from verdict.solver.evaluate import FloatValues
from verdict.solver.obligation import Element, Point
from verdict.solver.term import Kind, Term

Floats = npt.NDArray[np.float64]
Booleans = npt.NDArray[np.bool_]
_CANDIDATES = 6
"""How many elements that differ, and how many without a value, become candidates: those that the first points show."""
_MINUS_INFINITY = -1e300
"""What stands for minus infinity where floats are compared: finite, and far from all other values."""


@dataclass(frozen=True, eq=False, slots=True)
class Candidate:
    """An element that seems to differ at a point. `undefined`: the parallel side seems to have no value."""

    element: Element
    point: Point
    undefined: bool


@dataclass(frozen=True, eq=False, slots=True)
class Sampled:
    """What points showed: candidates, and (element, point) whether both sides are defined there."""

    candidates: tuple[Candidate, ...]
    defined: Booleans


def differ(single: Floats, parallel: Floats, tolerance: float = 1e-6) -> Booleans:
    """Whether values are further apart than rounding explains."""
    with np.errstate(all="ignore"):
        scale = np.maximum(np.abs(single), np.abs(parallel))
        return np.asarray(np.abs(single - parallel) > tolerance * scale + tolerance / 1000)


def falsify(elements: Sequence[Element], columns: Mapping[Term, Floats], allowed: Booleans) -> Sampled:
    """Evaluate both sides of all elements at points; only the points in `allowed` count."""
    terms = elements[0].single.terms
    order = terms.below([side for element in elements for side in (element.single, element.parallel)])
    values = FloatValues(order, columns)
    single = _finite_masks(values, [element.single for element in elements], len(allowed))
    parallel = _finite_masks(values, [element.parallel for element in elements], len(allowed))
    fine = np.isfinite(single) & allowed
    both = fine & np.isfinite(parallel)
    undefined = fine & np.isnan(parallel) & np.all(np.isfinite(single), axis=0)
    wrong = both & differ(single, parallel)
    found = []
    for suspects, is_undefined in ((wrong, False), (undefined, True)):
        rows = np.flatnonzero(suspects.any(axis=1))
        for row in rows[np.argsort(suspects[rows].argmax(axis=1), kind="stable")][:_CANDIDATES]:
            point = {term: Fraction(float(column[suspects[row].argmax()])) for term, column in columns.items()}
            found.append(Candidate(elements[row], point, is_undefined))
    return Sampled(tuple(found), both)


def _finite_masks(values: FloatValues, terms: Sequence[Term], points: int) -> Floats:
    """Values of terms, with minus infinity as a number that differs from all others."""
    found = np.broadcast_to(values.of(terms), (len(terms), points)).copy()
    found[[term.kind is Kind.MINUS_INFINITY for term in terms]] = _MINUS_INFINITY
    return found
