"""Points at which both sides are evaluated: simple ones first, the same for one seed.

Reals come from small integers, quarters, sparse, normal, positive and wide distributions in turn; positive
variables are made positive, and so are, at most points, those of which a root or a logarithm is taken, or a sum has one
taken of it; indices are often all equal or of two values, since repeated ids hide mistakes.
"""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from verdict.solver.obligation import Point
from verdict.solver.term import Kind, Sign, Span, Term, span_of

Floats = npt.NDArray[np.float64]
POINTS = 64
"""At how many points both sides are evaluated: eight for each of the eight distributions of reals."""
ALIKE = 8
"""So many points, one after the other, are drawn alike."""

SIGNED = 2
"""At so many of these, what has a root taken of it has the sign that it was drawn with: there the root has no value."""


def variables(order: Iterable[Term]) -> list[Term]:
    """The variables among terms, by name."""
    return sorted((term for term in order if term.kind in (Kind.REAL, Kind.INDEX)), key=_name)


def sample(order: Iterable[Term], seed: int) -> dict[Term, Floats]:
    """POINTS values for each variable among terms. Depends on the names and the seed, not on the order of creation."""
    random = np.random.default_rng([seed, 20])
    found = list(order)
    free, rooted = variables(found), _rooted(found)
    reals = _reals(random, len(free))
    bounded = [k for k, term in enumerate(free) if term in rooted]
    reals[bounded] = _mostly_positive(reals[bounded])
    return {term: _drawn(random, term, values) for term, values in zip(free, reals, strict=True)}


def _rooted(order: Iterable[Term]) -> set[Term]:
    """The variables that must not be negative for a root or a logarithm to have a value: it is taken of one, or of a
    sum in which it is added.
    """
    found: set[Term] = set()
    for term in order:
        if term.kind is Kind.LOG or (term.kind is Kind.POWER and Fraction(term.data).denominator > 1):
            (of,) = term.args
            weights = {of: 1} if of.kind is not Kind.SUM else of.data[1]
            found |= {arg for arg, weight in weights.items() if arg.kind is Kind.REAL and weight > 0}
    return found


def _mostly_positive(values: Floats) -> Floats:
    """The same without signs at all points but some of each distribution."""
    return np.where(np.arange(POINTS) % ALIKE < ALIKE - SIGNED, np.abs(values), values)


def _drawn(random: np.random.Generator, term: Term, values: Floats) -> Floats:
    """The values of one variable, from those that a real one would have."""
    if term.kind is Kind.INDEX:
        return _index(random, term.data[2])
    span = span_of(term)
    if span is not None:
        return _integers(np.rint(values), span)
    return _made_positive(values) if term.sign is Sign.POSITIVE else values


def _integers(values: Floats, span: Span) -> Floats:
    """Integers brought into a span: near its lower end where they do not lie in it, and every eighth at an end."""
    low, high = span
    if low is not None:
        values = np.where(values < low, low + np.abs(values) % 8, values)
        values[3::8] = low
    if high is not None:
        values = np.where(values > high, high - np.abs(values) % 8, values)
        values[7::8] = high
    if low is not None:
        values = np.maximum(values, low)
    return values


def _reals(random: np.random.Generator, count: int) -> Floats:
    shape = (count, POINTS // 8)
    return np.concatenate([
        random.integers(-2, 3, shape),
        random.integers(1, 6, shape),
        random.integers(-8, 9, shape) / 4,
        random.integers(-1, 2, shape) * (random.random(shape) < 0.3),
        random.integers(8, 33, shape) / 16,
        random.normal(size=shape),
        random.normal(size=shape) / 8,
        random.normal(size=shape) * 10.0 ** random.integers(1, 4, shape),
    ], axis=1).astype(float)  # fmt: skip


def _made_positive(values: Floats) -> Floats:
    return np.where(values == 0, 1.0, np.abs(values))


def _index(random: np.random.Generator, size: int) -> Floats:
    values = random.integers(0, size, POINTS)
    values[::4] = (np.arange(0, POINTS, 4) // 4) % size
    values[1::4] = random.integers(0, min(size, 2), POINTS // 4)
    return values.astype(float)


def point(columns: Mapping[Term, Floats], number: int) -> Point:
    """One of the points, exactly."""
    return {term: Fraction(float(column[number])) for term, column in columns.items()}


def columns_of(free: Iterable[Term], points: Sequence[Point]) -> dict[Term, Floats]:
    """Points as one array for each variable."""
    return {term: np.array([float(one[term]) for one in points]) for term in free}


def _name(term: Term) -> str:
    return str(term.data[0])
