"""Arithmetic of the normal form: the laws that hold between atoms, each applied once, when a value is made.

    exp(a + b) = exp(a) exp(b)        exp(c log p) = p^c          log(p q) = log p + log q for p > 0
    1/(c m p) = c^-1 m^-1 B(p)^-1     B(p)^k = p^k for k >= 1     (c m p)^q = c^q m^q B(p)^q for c, m > 0
    [i=u][i=v] = 0                    [i=v]^2 = [i=v]             the last [i=v] = 1 - the others
    max is a flat set; max(a+c, b+c) = c + max(a, b); max(c a, c b) = c max(a, b) for c > 0

The laws of 1/p, roots and logarithms hold where those are defined; the ledger (domains.py) says where.
"""

from fractions import Fraction
from functools import reduce
from math import gcd, lcm

from verdict.solver.atoms import Atoms
from verdict.solver.errors import LimitError, VacuousError
from verdict.solver.polynomial import (
    ONE,
    ZERO,
    Monomial,
    Polynomial,
    combine,
    constant,
    inverse,
    merge,
    monomial,
    raised,
    scaled,
)
from verdict.solver.term import Number, Sign

_WORK_PER_TERM = 100
_LARGEST_PRIME = 1000


class Ring:
    """Polynomials over the atoms of one obligation. `limit`: the most terms that a polynomial may have.

    Work is counted in products of terms, not in seconds, so that the same obligation ends the same way.
    """

    def __init__(self, limit: int) -> None:
        self.atoms = Atoms()
        self.limit = limit
        self.work_left = limit * _WORK_PER_TERM
        self._roots = False

    def multiply(self, p: Polynomial, q: Polynomial) -> Polynomial:
        """p * q."""
        self._spend(len(p) * len(q))
        total: dict[Monomial, int] = {}
        for m, a in p.terms.items():
            for n, b in q.terms.items():
                key = merge(m, n)
                total[key] = total.get(key, 0) + a * b
        result = Polynomial(total, p.denominator * q.denominator)
        self._spend(0, len(result))
        return self.settle(result) if self._roots or self.atoms.indices else result

    def integer_power(self, p: Polynomial, exponent: int) -> Polynomial:
        """p ** exponent, for exponent >= 0."""
        return reduce(self.multiply, [p] * exponent, ONE)

    def settle(self, p: Polynomial) -> Polynomial:
        """Apply the laws of indicators and of bases with exponents of 1 and more."""
        plain: dict[Monomial, int] = {}
        expanded: list[tuple[Polynomial, Number]] = []
        for key, weight in p.terms.items():
            settled = self._indicators(key) if self.atoms.indices else key
            if settled is None:
                continue
            rest, factors = self._whole_bases(settled)
            if not factors:
                plain[settled] = plain.get(settled, 0) + weight
                continue
            product = Polynomial({rest: weight}, p.denominator)
            for base, exponent in factors:
                product = self.multiply(product, self.integer_power(base, exponent))
            expanded.append((product, 1))
        return combine([(Polynomial(plain, p.denominator), 1), *expanded])

    def _indicators(self, key: Monomial) -> Monomial | None:
        indices = self.atoms.indices
        seen = [indices[atom] for atom, _ in key if atom in indices]
        if not seen:
            return key
        if len(set(seen)) < len(seen):
            return None
        return tuple((atom, 1 if atom in indices else exponent) for atom, exponent in key)

    def _whole_bases(self, key: Monomial) -> tuple[Monomial, list[tuple[Polynomial, int]]]:
        rest, factors = [], []
        for atom, exponent in key:
            if exponent >= 1 and atom in self.atoms.bases:
                factors.append((self.atoms.bases[atom], int(exponent)))
                exponent = exponent - int(exponent)  # noqa: PLW2901 (what is left of it)
            if exponent:
                rest.append((atom, exponent))
        return tuple(rest), factors

    def sign(self, p: Polynomial) -> Sign:
        """What the coefficients and the atoms show of the sign of p."""
        signs = [self._sign(key) for key in p.terms]
        if not p.terms:
            return Sign.NONNEGATIVE
        if min(p.terms.values()) < 0 or min(signs) is Sign.UNKNOWN:
            return Sign.UNKNOWN
        return max(signs)

    def _sign(self, key: Monomial) -> Sign:
        sign = Sign.POSITIVE
        for atom, exponent in key:
            known = self.atoms[atom].sign
            if known is Sign.UNKNOWN and exponent % 2 == 0:
                known = Sign.NONNEGATIVE
            sign = min(sign, known)
        return sign

    def split(self, p: Polynomial) -> tuple[Fraction, Monomial, Polynomial]:
        """p = c * m * q, with q free of common factors and turned positive where its sign is known.

        A base goes into m only if every term has it with a negative exponent: taking it out of some would
        expand it in the others. An indicator never does, since it has no inverse.
        """
        content = Fraction(gcd(*p.terms.values()), p.denominator)
        common = self._common(p)
        q = scaled(p, 1 / content, inverse(common))
        q = self.settle(q) if self.atoms.bases else q
        flipped = scaled(q, -1)
        turn = self.sign(flipped) is Sign.POSITIVE or (self.sign(q) is not Sign.POSITIVE and q.terms[max(q.terms)] < 0)
        return (-content, common, flipped) if turn else (content, common, q)

    def _common(self, p: Polynomial) -> Monomial:
        keys = list(p.terms)
        least: dict[int, Number] = dict(keys[0])
        for key in keys[1:]:
            exponents = dict(key)
            for atom in least.keys() | exponents.keys():
                least[atom] = min(least.get(atom, 0), exponents.get(atom, 0))
        for atom in list(least):
            expands = least[atom] < 0 and any(dict(key).get(atom, 0) >= 0 for key in keys)
            mixed = expands and atom in self.atoms.bases
            if mixed or atom in self.atoms.indices or not least[atom]:
                del least[atom]
        return tuple(sorted(least.items()))

    def inverse(self, p: Polynomial) -> Polynomial:
        """1 / p. Raises VacuousError where p is identically zero."""
        if not p.terms:
            raise VacuousError("a denominator is identically zero")
        c, m, q = self.split(p)
        result = scaled(ONE if q == ONE else monomial(self._base(q), -1), 1 / c, inverse(m))
        return self.settle(result)

    def power(self, p: Polynomial, exponent: Fraction) -> Polynomial:
        """p ** exponent, for p > 0 (p >= 0 if the exponent is positive)."""
        if not p.terms:
            if exponent < 0:
                raise VacuousError("a negative power of what is identically zero")
            return ZERO
        c, positive, rest = self.positive_part(p)
        self._roots = True
        result = scaled(self._constant_power(c, exponent), 1, raised(positive, exponent))
        if rest != ONE:
            result = self.multiply(result, monomial(self._base(rest), exponent))
        return self.settle(result)

    def positive_part(self, p: Polynomial) -> tuple[Fraction, Monomial, Polynomial]:
        """p = c * m * q with c > 0 and all atoms of m positive."""
        c, m, q = self.split(p)
        positive = tuple(part for part in m if self.atoms[part[0]].sign is Sign.POSITIVE)
        others = tuple(part for part in m if self.atoms[part[0]].sign is not Sign.POSITIVE)
        return abs(c), positive, self.settle(scaled(q, 1 if c > 0 else -1, others))

    def _constant_power(self, c: Fraction, exponent: Number) -> Polynomial:
        result = ONE
        for prime, count in _factors(c):
            base = monomial(self._base(constant(prime)), count * exponent)
            result = self.multiply(result, self.settle(base))
        return result

    def _base(self, p: Polynomial) -> int:
        return self.atoms.base(p, self.sign(p)).number

    def exp(self, p: Polynomial) -> Polynomial:
        """e ** p."""
        exponents: dict[int, Number] = {}
        result = ONE
        for key, weight in p.items():
            atom = self.atoms[key[0][0]] if len(key) == 1 and key[0][1] == 1 else None
            if atom is not None and atom.head == "log":
                result = self.multiply(result, self._whole_or_broken(atom.polynomials[0], weight))
            else:
                exponents[self.atoms.exp(key).number] = _exact(weight)
        return scaled(result, 1, tuple(sorted(exponents.items())))

    def _whole_or_broken(self, p: Polynomial, exponent: Fraction) -> Polynomial:
        if exponent.denominator > 1:
            return self.power(p, exponent)
        whole = self.integer_power(p, abs(exponent.numerator))
        return whole if exponent > 0 else self.inverse(whole)

    def log(self, p: Polynomial) -> Polynomial:
        """The logarithm of p, for p > 0."""
        if not p.terms:
            raise VacuousError("the logarithm of what is identically zero")
        c, positive, rest = self.positive_part(p)
        parts: list[tuple[Polynomial, Number]] = [
            (monomial(self.atoms.log(constant(prime)).number), count) for prime, count in _factors(c)
        ]
        for number, exponent in positive:
            atom = self.atoms[number]
            if atom.head == "exp":
                parts.append((Polynomial({atom.monomial: 1}), exponent))
            else:
                of = atom.polynomials[0] if atom.head == "base" else monomial(number)
                parts.append((monomial(self.atoms.log(of).number), exponent))
        if rest != ONE:
            parts.append((monomial(self.atoms.log(rest).number), 1))
        return combine(parts)

    def maximum(self, polynomials: list[Polynomial]) -> Polynomial:
        """The largest of some."""
        flat = {part for p in polynomials for part in self._spread(p)}
        shared = set.intersection(*({(key, weight) for key, weight in p.items()} for p in flat))
        shift = combine([(Polynomial({key: 1}), weight) for key, weight in shared])
        flat = self._without_smaller({combine([(p, 1), (shift, -1)]) for p in flat})
        if len(flat) == 1:
            return combine([(flat.pop(), 1), (shift, 1)])
        scale = _positive_content(flat)
        flat = {scaled(p, 1 / scale) for p in flat}
        atom = self.atoms.maximum(frozenset(flat), max(self.sign(p) for p in flat))
        return combine([(monomial(atom.number), scale), (shift, 1)])

    def _spread(self, p: Polynomial) -> list[Polynomial]:
        """The arguments of a maximum plus the rest of p, if p is that; else p."""
        for key, weight in p.items():
            atom = self.atoms[key[0][0]] if len(key) == 1 and key[0][1] == 1 else None
            if atom is not None and atom.head == "max" and weight > 0:
                rest = combine([(p, 1), (Polynomial({key: 1}), -weight)])
                return [
                    part for inner in atom.polynomials for part in self._spread(combine([(inner, weight), (rest, 1)]))
                ]
        return [p]

    def _without_smaller(self, polynomials: set[Polynomial]) -> set[Polynomial]:
        """Of polynomials that differ by a constant, the largest."""
        largest: dict[Polynomial, tuple[Fraction, Polynomial]] = {}
        for p in polynomials:
            free = combine([(p, 1), (constant(Fraction(p.terms.get((), 0), p.denominator)), -1)])
            value = Fraction(p.terms.get((), 0), p.denominator)
            if free not in largest or largest[free][0] < value:
                largest[free] = (value, p)
        return {p for _, p in largest.values()}

    def one_hot(self, index: str, size: int, value: int) -> Polynomial:
        """The indicator of an index in range(size); the last one is 1 minus the others."""
        if value < size - 1:
            return monomial(self.atoms.indicator(index, value).number)
        others = [(monomial(self.atoms.indicator(index, other).number), -1) for other in range(size - 1)]
        return combine([(ONE, 1), *others])

    def _spend(self, work: int, terms: int = 0) -> None:
        self.work_left -= work
        if terms > self.limit or work > self.limit * 10 or self.work_left < 0:
            raise LimitError(f"the normal form has more than {self.limit} terms")


def _positive_content(polynomials: set[Polynomial]) -> Fraction:
    contents = [Fraction(gcd(*p.terms.values()), p.denominator) for p in polynomials if p.terms]
    numerator = gcd(*(value.numerator for value in contents))
    return Fraction(numerator, lcm(*(value.denominator for value in contents)))


def _factors(c: Fraction) -> list[tuple[int, int]]:
    """(prime, exponent) pairs of a positive rational; a large factor stays whole."""
    result = []
    for value, sign in ((c.numerator, 1), (c.denominator, -1)):
        rest, prime = value, 2
        while prime <= _LARGEST_PRIME and rest > 1:
            count = 0
            while rest % prime == 0:
                rest, count = rest // prime, count + 1
            if count:
                result.append((prime, sign * count))
            prime += 1
        if rest > 1:
            result.append((rest, sign))
    return result


def _exact(value: Fraction) -> Number:
    return value.numerator if value.denominator == 1 else value
