"""Differences of normal forms with their denominators multiplied out.

A denominator is not zero where its side is defined, so a difference is zero if the product is.
"""

from math import ceil

from verdict.solver.polynomial import Monomial, Polynomial, combine
from verdict.solver.ring import Ring
from verdict.solver.term import Number


def vanishes(ring: Ring, difference: Polynomial) -> bool:
    """Whether the difference times its denominators is zero. Raises LimitError where that grows too large."""
    rest = difference
    while rest.terms:
        bases = [atom for key in rest.terms for atom, exponent in key if exponent < 0 and atom in ring.atoms.bases]
        if not bases:
            return False
        rest = _times_denominator(ring, rest, max(bases, key=lambda atom: (ring.atoms[atom].depth, atom)))
    return True


def _times_denominator(ring: Ring, p: Polynomial, base: int) -> Polynomial:
    groups: dict[Number, dict[Monomial, int]] = {}
    for key, weight in p.terms.items():
        exponent = dict(key).get(base, 0)
        groups.setdefault(exponent, {})[tuple(part for part in key if part[0] != base)] = weight
    power = ceil(-min(groups))
    denominator = ring.atoms.bases[base]
    parts: list[tuple[Polynomial, Number]] = []
    for exponent, terms in sorted(groups.items()):
        whole = int(exponent + power)
        broken = exponent + power - whole
        group = Polynomial(terms, p.denominator)
        if broken:
            group = ring.multiply(group, Polynomial({((base, broken),): 1}))
        parts.append((ring.multiply(group, ring.integer_power(denominator, whole)), 1))
    return combine(parts)
