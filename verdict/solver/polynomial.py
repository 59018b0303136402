"""Laurent polynomials over atoms: integer coefficients over one denominator, rational exponents.

An atom is an integer here; what it stands for, and the laws between atoms, are in atoms.py and ring.py.
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import gcd, lcm

from verdict.solver.term import Number

Monomial = tuple[tuple[int, Number], ...]
"""(atom, exponent) pairs in the order of the atoms, no exponent 0; () is 1."""
Key = tuple[int, frozenset[tuple[Monomial, int]]]


class Polynomial:
    """A sum of coefficient / denominator times monomial, in lowest terms. Never changed after it is made."""

    __slots__ = ("denominator", "terms")

    def __init__(self, terms: Mapping[Monomial, int], denominator: int = 1) -> None:
        clean = {monomial: weight for monomial, weight in terms.items() if weight}
        divisor = gcd(denominator, *clean.values()) if denominator != 1 else 1
        if divisor != 1:
            clean = {monomial: weight // divisor for monomial, weight in clean.items()}
        self.terms = clean
        self.denominator = denominator // divisor if clean else 1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Polynomial) and self.denominator == other.denominator and self.terms == other.terms

    def __hash__(self) -> int:
        return hash(self.key)

    def __len__(self) -> int:
        return len(self.terms)

    @property
    def key(self) -> Key:
        """Equal exactly for equal polynomials."""
        return self.denominator, frozenset(self.terms.items())

    def text(self) -> str:
        """The same text for equal polynomials, in every process."""
        return f"{sorted(self.terms.items())}/{self.denominator}"

    def items(self) -> Iterable[tuple[Monomial, Fraction]]:
        """(monomial, rational coefficient) pairs, in the order of the monomials."""
        return [(key, Fraction(self.terms[key], self.denominator)) for key in sorted(self.terms)]


ZERO = Polynomial({})
ONE = Polynomial({(): 1})


def monomial(atom: int, exponent: Number = 1) -> Polynomial:
    """atom ** exponent."""
    return Polynomial({((atom, exact(exponent)),): 1})


def constant(value: Number) -> Polynomial:
    """A rational number."""
    return Polynomial({(): value.numerator}, value.denominator)


def scaled(poly: Polynomial, factor: Number, shift: Monomial = ()) -> Polynomial:
    """factor * shift * poly."""
    numerator = factor.numerator
    terms = {merge(key, shift): weight * numerator for key, weight in poly.terms.items()}
    return Polynomial(terms, poly.denominator * factor.denominator)


def combine(parts: Iterable[tuple[Polynomial, Number]]) -> Polynomial:
    """The sum of polynomials times rational factors."""
    chosen = [(poly, factor) for poly, factor in parts if factor]
    denominator = lcm(*(poly.denominator * factor.denominator for poly, factor in chosen))
    total: dict[Monomial, int] = {}
    for poly, factor in chosen:
        scale = factor.numerator * (denominator // (poly.denominator * factor.denominator))
        for key, weight in poly.terms.items():
            total[key] = total.get(key, 0) + scale * weight
    return Polynomial(total, denominator)


def merge(m: Monomial, n: Monomial) -> Monomial:
    """The product of two monomials."""
    if not m or not n:
        return m or n
    if m[-1][0] < n[0][0]:
        return m + n
    if n[-1][0] < m[0][0]:
        return n + m
    exponents = dict(m)
    for atom, exponent in n:
        found = exponents.get(atom)
        total = exponent if found is None else found + exponent
        if total:
            exponents[atom] = exact(total)
        else:
            del exponents[atom]
    return tuple(sorted(exponents.items()))


def inverse(m: Monomial) -> Monomial:
    """1 / m."""
    return tuple((atom, -exponent) for atom, exponent in m)


def raised(m: Monomial, power: Number) -> Monomial:
    """m ** power."""
    return tuple((atom, exact(exponent * power)) for atom, exponent in m)


def exact(value: Number) -> Number:
    """An int where `value` is one."""
    return value.numerator if value.denominator == 1 else value
