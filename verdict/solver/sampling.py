"""Points at which both sides are evaluated: simple ones first, the same for one seed.

Reals come from small integers, quarters, sparse, normal, positive and wide distributions in turn; positive
variables are made positive; indices are often all equal or of two values, since repeated ids hide mistakes.
"""

from collections.abc import Iterable
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from verdict.solver.obligation import Point
from verdict.solver.term import Kind, Sign, Term

Floats = npt.NDArray[np.float64]
POINTS = 64


def variables(order: Iterable[Term]) -> list[Term]:
    """The variables among terms, by name."""
    return sorted((term for term in order if term.kind in (Kind.REAL, Kind.INDEX)), key=_name)


def sample(free: Iterable[Term], seed: int) -> dict[Term, Floats]:
    """POINTS values for each variable. Depends on the names and the seed, not on the order of creation."""
    random = np.random.default_rng([seed, 20])
    return {
        term: _index(random, term.data[2]) if term.kind is Kind.INDEX else _real(random, term)
        for term in sorted(free, key=_name)
    }


def _real(random: np.random.Generator, term: Term) -> Floats:
    eighth = POINTS // 8
    values = np.concatenate([
        random.integers(-2, 3, eighth),
        random.integers(1, 6, eighth),
        random.integers(-8, 9, eighth) / 4,
        random.integers(-1, 2, eighth) * (random.random(eighth) < 0.3),
        random.integers(8, 33, eighth) / 16,
        random.normal(size=eighth),
        random.normal(size=eighth) / 8,
        random.normal(size=eighth) * 10.0 ** random.integers(1, 4, eighth),
    ]).astype(float)  # fmt: skip
    return np.where(values == 0, 1.0, np.abs(values)) if term.sign is Sign.POSITIVE else values


def _index(random: np.random.Generator, size: int) -> Floats:
    values = random.integers(0, size, POINTS)
    values[::4] = (np.arange(0, POINTS, 4) // 4) % size
    values[1::4] = random.integers(0, min(size, 2), POINTS // 4)
    return values.astype(float)


def _name(term: Term) -> str:
    return str(term.data[0])


def points(columns: dict[Term, Floats]) -> list[Point]:
    """The same points one by one, exactly."""
    count = len(next(iter(columns.values()))) if columns else 1
    return [{term: Fraction(float(column[i])) for term, column in columns.items()} for i in range(count)]
