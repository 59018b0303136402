"""Where two sides seem to differ, on floats. What is found here is a candidate; certify.py decides."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from verdict.solver.evaluate import FloatValues
from verdict.solver.obligation import Element, Point
from verdict.solver.term import Term

Floats = npt.NDArray[np.float64]
Booleans = npt.NDArray[np.bool_]
_CANDIDATES = 6


@dataclass(frozen=True, eq=False, slots=True)
class Candidate:
    """An element that seems to differ at a point. `undefined`: the parallel side seems to have no value."""

    element: Element
    point: Point
    undefined: bool


@dataclass(frozen=True, eq=False, slots=True)
class Sampled:
    """What a set of points showed: candidates, and the elements that were defined on both sides somewhere."""

    candidates: tuple[Candidate, ...]
    defined: frozenset[Element]


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
    single = np.broadcast_to(
        values.of([element.single for element in elements]), (len(elements), len(allowed))
    )
    parallel = np.broadcast_to(values.of([element.parallel for element in elements]), single.shape)
    fine = np.isfinite(single) & allowed
    both = fine & np.isfinite(parallel)
    undefined = fine & np.isnan(parallel) & np.all(np.isfinite(single), axis=0)
    wrong = both & differ(single, parallel)
    found = []
    for suspects, is_undefined in ((wrong, False), (undefined, True)):
        rows = np.flatnonzero(suspects.any(axis=1))
        for row in rows[np.argsort(suspects[rows].argmax(axis=1), kind="stable")][:_CANDIDATES]:
            point = {
                term: Fraction(float(column[suspects[row].argmax()])) for term, column in columns.items()
            }
            found.append(Candidate(elements[row], point, is_undefined))
    defined = frozenset(
        element for element, seen in zip(elements, both.any(axis=1).tolist(), strict=True) if seen
    )
    return Sampled(tuple(found), defined)
