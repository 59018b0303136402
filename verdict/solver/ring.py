"""Arithmetic of the normal form: the laws that hold between atoms, each applied once, when a value is made.

    exp(a + b) = exp(a) exp(b)        exp(c log p) = p^c          log(p q) = log p + log q for p > 0
    1/(c m p) = c^-1 m^-1 B(p)^-1     B(p)^k = p^k for k >= 1     (c m p)^q = c^q m^q B(p)^q for c, m > 0
    [i=u][i=v] = 0                    [i=v]^2 = [i=v]             the last [i=v] = 1 - the others
    [p>0]^2 = [p>0]                   B(n)^-1 = 1/n for numbers n

The laws of 1/p, roots and logarithms hold where those are defined; the ledger (domains.py) says where.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from itertools import chain, repeat
from math import floor, gcd

from verdict.solver.atoms import Atoms
from verdict.solver.errors import BudgetError, VacuousError
from verdict.solver.exclusive import Exclusive
from verdict.solver.polynomial import (
    ONE,
    ZERO,
    Monomial,
    Polynomial,
    combine,
    constant,
    exact,
    inverse,
    merge,
    monomial,
    raised,
    scaled,
)
from verdict.solver.term import Number, Sign

_WORK_PER_TERM = 100
"""Products of terms that may be made, for each term that a polynomial may have; after these there is no normal form."""
_MOST_PRODUCTS = 400_000
"""The most products of terms for one obligation, whatever its limit of terms: about a second."""
_LARGEST_PRIME = 1000
"""Up to here, constants under roots and logarithms are taken apart by trial division; what is left stays one factor."""


class Ring:
    """Polynomials over the atoms of one obligation. `limit`: the most terms that a polynomial may have.

    Work is counted in products of terms, not in seconds, so that one obligation ends one way; 1 / `part` of it is done.
    """

    def __init__(self, limit: int, part: int = 1) -> None:
        self.atoms = Atoms()
        self.limit = limit
        self.products = min(limit * _WORK_PER_TERM, _MOST_PRODUCTS) // part
        self.work_left = self.products
        self._roots = False
        self._exclusive = Exclusive(self.atoms.indices)

    def multiply(self, p: Polynomial, q: Polynomial) -> Polynomial:
        """p * q."""
        if p == ONE:
            return q
        total: dict[Monomial, int] = {}
        pairs = self._exclusive.met(p, q)
        self.spend(sum(len(mine) * len(theirs) for mine, theirs in pairs))
        for mine, theirs in pairs:
            for m, a in mine.items():
                for n, b in theirs.items():
                    key = merge(m, n)
                    total[key] = total.get(key, 0) + a * b
        result = Polynomial(total, p.denominator * q.denominator)
        self.spend(0, len(result))
        return self.settle(result) if self._roots or self.atoms.indices else result

    def integer_power(self, p: Polynomial, exponent: int) -> Polynomial:
        """p ** exponent, for exponent >= 0."""
        return reduce(self.multiply, repeat(p, exponent), ONE)

    def product(self, factors: Sequence[tuple[Polynomial, int]]) -> Polynomial:
        """The product of factor ** exponent. A factor and its reciprocal cancel before anything is expanded."""
        denominators = {
            atom
            for p, _ in factors
            if len(p) == 1
            for atom, exponent in next(iter(p.terms))
            if exponent < 0 and atom in self.atoms.bases
        }
        weight = Fraction(1)
        common: Monomial = ()
        rest = []
        for p, exponent in factors:
            single = self._as_monomial(p, denominators)
            if single is None:
                rest.append(self.integer_power(p, exponent))
                continue
            weight *= single[0] ** exponent
            common = merge(common, raised(single[1], exponent))
        return reduce(self.multiply, sorted(rest, key=len), self.settle(scaled(ONE, weight, common)))

    def _as_monomial(self, p: Polynomial, denominators: set[int]) -> tuple[Fraction, Monomial] | None:
        """p as weight * monomial, with a base for what is one of `denominators`; None if it is not that."""
        if len(p) == 1:
            return next((weight, key) for key, weight in p.items())
        c, m, q = self.split(p) if denominators else (Fraction(1), (), ZERO)
        return (c, merge(m, ((base, 1),))) if q.terms and (base := self._base(q)) in denominators else None

    def settle(self, p: Polynomial) -> Polynomial:
        """Apply the laws of indicators, and of bases with exponents of 1 and more; of numbers, below 0, too."""
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
            powers = (self.integer_power(base, exponent) for base, exponent in factors)
            expanded.append((reduce(self.multiply, powers, Polynomial({rest: weight}, p.denominator)), 1))
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
            power = self.atoms.bases if exponent >= 1 else self.atoms.reciprocals
            if not 0 <= exponent < 1 and atom in power:
                factors.append((power[atom], abs(floor(exponent))))
                exponent = exponent - floor(exponent)  # noqa: PLW2901 (what is left of it)
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

        A base goes into m only if every term has it with a negative exponent: taking it out of some would expand
        it in the others. An indicator never does: it has no inverse. q is without terms where p, multiplied out, is.
        """
        if not p.terms:
            return Fraction(1), (), p
        content, common = Fraction(gcd(*p.terms.values()), p.denominator), self._common(p)
        divided = scaled(p, 1 / content, inverse(common))
        q = self.settle(divided) if self.atoms.bases else divided
        if not q.terms:
            return content, common, q
        flipped = scaled(q, -1)
        turn = self.sign(flipped) is Sign.POSITIVE or (self.sign(q) is not Sign.POSITIVE and q.terms[max(q.terms)] < 0)
        return (-content, common, flipped) if turn else (content, common, q)

    def _common(self, p: Polynomial) -> Monomial:
        """Each atom with the least of its exponents, 0 in a term without it, where that is not 0."""
        keys = iter(p.terms)
        found = {atom: exponent for atom, exponent in next(keys) if exponent > 0}
        for there in map(dict, keys):
            if not found:
                break
            found = {atom: min(least, there[atom]) for atom, least in found.items() if there.get(atom, 0) > 0}
        below: dict[int, list[Number]] = {}
        for atom, exponent in chain.from_iterable(p.terms):
            if exponent < 0:
                below.setdefault(atom, []).append(exponent)
        for atom, exponents in below.items():
            if len(exponents) == len(p) or atom not in self.atoms.bases:
                found[atom] = min(exponents)
        return tuple(sorted((atom, least) for atom, least in found.items() if atom not in self.atoms.indices))

    def inverse(self, p: Polynomial) -> Polynomial:
        """1 / p. Raises VacuousError where p is identically zero."""
        c, m, q = self.split(p)
        if not q.terms:
            raise VacuousError("a denominator is identically zero")
        return self.settle(scaled(ONE if q == ONE else monomial(self._base(q), -1), 1 / c, inverse(m)))

    def power(self, p: Polynomial, exponent: Fraction) -> Polynomial:
        """p ** exponent, for p > 0 (p >= 0 if the exponent is positive)."""
        c, positive, rest = self.positive_part(p)
        if not rest.terms:
            if exponent < 0:
                raise VacuousError("a negative power of what is identically zero")
            return ZERO
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
                exponents[self.atoms.exp(key).number] = exact(weight)
        return scaled(result, 1, tuple(sorted(exponents.items())))

    def _whole_or_broken(self, p: Polynomial, exponent: Fraction) -> Polynomial:
        if exponent.denominator > 1:
            return self.power(p, exponent)
        whole = self.integer_power(p, abs(exponent.numerator))
        return whole if exponent > 0 else self.inverse(whole)

    def log(self, p: Polynomial) -> Polynomial:
        """The logarithm of p, for p > 0."""
        c, positive, rest = self.positive_part(p)
        if not rest.terms:
            raise VacuousError("the logarithm of what is identically zero")
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

    def one_hot(self, index: str, size: int, value: int) -> Polynomial:
        """The indicator of an index in range(size); the last one is 1 minus the others."""
        if value < size - 1:
            return monomial(self.atoms.indicator(index, value).number)
        others = [(monomial(self.atoms.indicator(index, other).number), -1) for other in range(size - 1)]
        return combine([(ONE, 1), *others])

    def spend(self, work: int, terms: int = 0) -> None:
        """Pay for products of terms before they are made. Raises BudgetError where a budget does not suffice."""
        if terms > self.limit:
            raise BudgetError(f"its normal form has more than {self.limit:,} terms")
        if work > self.limit * 10:
            raise BudgetError(f"multiplied out, it takes more than {self.limit * 10:,} products of terms at once")
        if work > self.work_left:
            raise BudgetError(f"multiplied out, it takes more than {self.products:,} products of terms")
        self.work_left -= work


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
