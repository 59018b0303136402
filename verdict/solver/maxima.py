"""The law of the maximum: a flat set of polynomials, without what all of them share.

max(a, max(b, c)) = max(a, b, c)    max(a + c, b + c) = c + max(a, b)    max(c a, c b) = c max(a, b) for c > 0
max(a, -a) >= 0
"""

from collections.abc import Sequence
from fractions import Fraction
from math import gcd, lcm

from verdict.solver.polynomial import Polynomial, combine, constant, monomial, scaled
from verdict.solver.ring import Ring
from verdict.solver.term import Sign


def maximum(ring: Ring, polynomials: Sequence[Polynomial]) -> Polynomial:
    """The largest of some."""
    flat = {part for p in polynomials for part in _spread(ring, p)}
    shared = set.intersection(*({(key, weight) for key, weight in p.items()} for p in flat))
    shift = combine([(Polynomial({key: 1}), weight) for key, weight in shared])
    flat = _without_smaller({combine([(p, 1), (shift, -1)]) for p in flat})
    if len(flat) == 1:
        return combine([(flat.pop(), 1), (shift, 1)])
    scale = _positive_content(flat)
    flat = {scaled(p, 1 / scale) for p in flat}
    sign = max(ring.sign(p) for p in flat)
    if sign is Sign.UNKNOWN and any(scaled(p, -1) in flat for p in flat):
        sign = Sign.NONNEGATIVE
    atom = ring.atoms.maximum(frozenset(flat), sign)
    return combine([(monomial(atom.number), scale), (shift, 1)])


def _spread(ring: Ring, p: Polynomial) -> list[Polynomial]:
    """The arguments of a maximum plus the rest of p, if p is that; else p."""
    for key, weight in p.items():
        atom = ring.atoms[key[0][0]] if len(key) == 1 and key[0][1] == 1 else None
        if atom is not None and atom.head == "max" and weight > 0:
            rest = combine([(p, 1), (Polynomial({key: 1}), -weight)])
            return [part for inner in atom.polynomials for part in _spread(ring, combine([(inner, weight), (rest, 1)]))]
    return [p]


def _without_smaller(polynomials: set[Polynomial]) -> set[Polynomial]:
    """Of polynomials that differ by a constant, the largest."""
    largest: dict[Polynomial, tuple[Fraction, Polynomial]] = {}
    for p in polynomials:
        free = combine([(p, 1), (constant(Fraction(p.terms.get((), 0), p.denominator)), -1)])
        value = Fraction(p.terms.get((), 0), p.denominator)
        if free not in largest or largest[free][0] < value:
            largest[free] = (value, p)
    return {p for _, p in largest.values()}


def _positive_content(polynomials: set[Polynomial]) -> Fraction:
    contents = [Fraction(gcd(*p.terms.values()), p.denominator) for p in polynomials if p.terms]
    numerator = gcd(*(value.numerator for value in contents))
    return Fraction(numerator, lcm(*(value.denominator for value in contents)))
