"""The factory of the terms of one obligation. No state outlives it: obligations cannot touch each other.

One class of more than 300 lines, since every constructor simplifies by calling the others.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence, Set
from contextlib import contextmanager
from fractions import Fraction
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from verdict.solver.errors import SolverError
from verdict.solver.finite import Tables
from verdict.solver.functions import KNOWN, ROUNDING, STRICT
from verdict.solver.term import Kind, Number, Sign, Span, Term, is_step
from verdict.solver.whole import Range, Ranges

_ATOMIC = frozenset(set(Kind) - {Kind.CONSTANT, Kind.SUM, Kind.PRODUCT})


def exact(value: Number) -> Number:
    """An integer where the value is one."""
    return value.numerator if value.denominator == 1 else value


def root(value: Fraction, exponent: Fraction) -> Fraction | None:
    """value ** exponent where that is rational, for value > 0."""
    parts = []
    for part in (value.numerator, value.denominator):
        guess = round(part ** (1 / exponent.denominator)) if part < 1 << 900 else 0
        if guess**exponent.denominator != part:
            return None
        parts.append(guess)
    return Fraction(parts[0], parts[1]) ** exponent.numerator


class Unknown(NamedTuple):
    """What a variable stands for: what some function makes of terms. again: makes it of others."""

    args: tuple[Term, ...]
    again: Callable[[tuple[Term, ...]], Term]


class Terms:
    """The terms of one obligation: makes them, and makes equal ones one object."""

    def __init__(self) -> None:
        self.nodes: list[Term] = []
        self.variables: dict[str, Term] = {}
        self._interned: dict[Any, Term] = {}
        self._products: dict[tuple[Term, Term], Term] = {}
        self.unknown: dict[Term, Unknown] = {}
        self.gates: dict[Term, tuple[Term, Term]] = {}
        self.nowhere: set[Term] = set()
        self.products: set[tuple[Term, Term]] = set()
        self._grants = False
        self._granted: set[Term] = set()
        self.keeps_stops = False
        self.chooses_numbers = False
        self._tables = Tables(self)
        self._ranges = Ranges(self)
        self.zero = self.constant(0)
        self.one = self.constant(1)
        self.minus_infinity = self._intern(Kind.MINUS_INFINITY, None, (), None, Sign.UNKNOWN, True)

    def __enter__(self) -> "Terms":
        return self

    def __exit__(self, *_: object) -> None:
        """Let go of all terms, which hold this and are held by it: what nobody else holds is freed at once, without a
        garbage collector, and nothing can be made any more.
        """
        vars(self).clear()

    def _intern(self, kind: Kind, key: Any, args: tuple[Term, ...], data: Any, sign: Sign, total: bool) -> Term:
        found = self._interned.get((kind, key))
        if found is None:
            found = self._interned[kind, key] = Term(self, kind, args, data, sign, total)
        return found

    def coerce(self, value: object) -> Term | None:
        """The term of an exact number, minus infinity or NaN (no known value); None for what numpy takes apart.

        Raises SolverError for plus infinity, of which there is no term, and TypeError for any other float: a proof over
        the reals starts from exact numbers.
        """
        if type(value) is Term:
            if value.terms is not self:
                raise SolverError("terms of two obligations in one expression")
            return value
        if isinstance(value, bool | np.bool_):
            raise TypeError("a truth value is not a number")
        if isinstance(value, int | Fraction):
            return self.constant(value)
        if isinstance(value, np.integer):
            return self.constant(int(value))
        if isinstance(value, float | np.floating):
            if value == -np.inf:
                return self.minus_infinity
            if np.isnan(value):
                return self.undefined("what is no number")
            if not np.isfinite(value):
                raise SolverError(f"there are no terms of {float(value)}")
            raise TypeError(f"{value!r} is not exact; terms take integers, Fractions and minus infinity")
        return None

    def constant(self, value: Number) -> Term:
        """An exact number."""
        sign = Sign.POSITIVE if value > 0 else Sign.NONNEGATIVE if value == 0 else Sign.UNKNOWN
        return self._intern(Kind.CONSTANT, value, (), exact(value), sign, True)

    def real(self, name: str, parallel: bool = False, total: bool = True) -> Term:
        """A real variable; `parallel` if it is of the parallel side: premises are solved for those first.

        Not total: it need not have a value, as what it stands for is computed by a division, say.
        """
        return self._variable(Kind.REAL, name, (name, parallel), Sign.UNKNOWN, total)

    def positive(self, name: str, parallel: bool = False) -> Term:
        """A real variable that is greater than 0."""
        return self._variable(Kind.REAL, name, (name, parallel), Sign.POSITIVE)

    def index(self, name: str, size: int, parallel: bool = False) -> Term:
        """An integer variable in range(size), a token id for instance."""
        if size < 1:
            raise SolverError(f"index {name} has no values")
        return self._variable(Kind.INDEX, name, (name, parallel, size), Sign.NONNEGATIVE)

    def integer(self, name: str, low: int | None = None, high: int | None = None, parallel: bool = False) -> Term:
        """An integer variable, not below `low` and not above `high` where there are such bounds."""
        sign = Sign.UNKNOWN if low is None or low < 0 else Sign.POSITIVE if low > 0 else Sign.NONNEGATIVE
        return self._variable(Kind.REAL, name, (name, parallel, Span(low, high)), sign)

    def _variable(self, kind: Kind, name: str, data: Any, sign: Sign, total: bool = True) -> Term:
        found = self.variables.get(name)
        if found is None:
            found = self.variables[name] = Term(self, kind, (), data, sign, total)
        elif (found.kind, found.data, found.sign, found.total) != (kind, data, sign, total):
            raise SolverError(f"variable {name} declared twice with other properties")
        return found

    def whatever(self, name: str, args: tuple[Term, ...], again: Callable[[tuple[Term, ...]], Term]) -> Term:
        """What the function `name` makes of terms that need not have values: it may have one where they have none.

        It is a variable, so that nothing follows from it for them, and one and the same for the same terms alone.
        again: makes it of other terms.
        """
        found = self.real(f"{name} of {' '.join(str(arg.uid) for arg in args)}", total=False)
        self.unknown[found] = Unknown(args, again)
        return found

    @contextmanager
    def granting(self) -> Iterator[None]:
        """What is divided by within is not zero where anything is compared: a product with a mask is a choice by it."""
        self._grants = True
        try:
            yield
        finally:
            self._grants = False

    def undefined(self, reason: str) -> Term:
        """What is not known to have a value for any input; absorbs all arithmetic, and check names the reason."""
        return self._intern(Kind.UNDEFINED, reason, (), reason, Sign.UNKNOWN, False)

    def _nowhere(self, reason: str) -> Term:
        """What has no value for any input."""
        found = self.undefined(reason)
        self.nowhere.add(found)
        return found

    def add(self, a: Term, b: Term, scale: Number) -> Term:
        """a + scale * b, for scale other than 0."""
        if a.kind >= Kind.MINUS_INFINITY or b.kind >= Kind.MINUS_INFINITY:
            return self._add_extreme(a, b, scale)
        if a.kind is Kind.SUM:
            constant, weights = a.data
            weights = dict(weights)
        elif a.kind is Kind.CONSTANT:
            constant, weights = a.data, {}
        else:
            constant, weights = 0, {a: 1}
        if b.kind is Kind.CONSTANT:
            constant = constant + scale * b.data
        elif b.kind is Kind.SUM:
            constant = constant + scale * b.data[0]
            for term, weight in b.data[1].items():
                _put(weights, term, scale * weight)
        else:
            _put(weights, b, scale)
        return self._sum(constant, weights, a.total and b.total)

    def total(self, parts: Sequence[tuple[Term, Number]]) -> Term:
        """The sum of weight * term."""
        constant: Number = 0
        weights: dict[Term, Number] = {}
        total = True
        for term, weight in parts:
            if term.kind >= Kind.MINUS_INFINITY:
                return reduce(lambda a, b: self.add(a, self.scale(b[0], b[1]), 1), parts, self.zero)
            total = total and term.total
            if term.kind is Kind.CONSTANT:
                constant = constant + weight * term.data
                continue
            shift, inner = term.data if term.kind is Kind.SUM else (0, {term: 1})
            constant = constant + weight * shift
            for part, factor in inner.items():
                if weight * factor or not part.total:
                    _put(weights, part, weight * factor)
        return self._sum(constant, weights, total)

    def _add_extreme(self, a: Term, b: Term, scale: Number) -> Term:
        for term in (a, b):
            if term.kind is Kind.UNDEFINED:
                return term
        if b.kind is Kind.MINUS_INFINITY and scale < 0:
            return self.undefined("minus infinity subtracted")
        return self._infinite(b if a.kind is Kind.MINUS_INFINITY else a)

    def _infinite(self, other: Term) -> Term:
        """Minus infinity plus `other`, which must not lose a domain condition."""
        return self.minus_infinity if other.total else self.undefined("minus infinity plus a partial term")

    def _sum(self, constant: Number, weights: dict[Term, Number], total: bool) -> Term:
        if not weights:
            return self.constant(constant)
        if constant == 0 and len(weights) == 1:
            ((term, weight),) = weights.items()
            if weight == 1:
                return term
        key = (constant, frozenset(weights.items()))
        found = self._interned.get((Kind.SUM, key))
        if found is None:
            sign = _sign_of_sum(constant, weights)
            data = (exact(constant), weights)
            found = self._interned[Kind.SUM, key] = Term(self, Kind.SUM, tuple(weights), data, sign, total)
        return found

    def scale(self, term: Term, factor: Number) -> Term:
        """factor * term."""
        if term.kind >= Kind.MINUS_INFINITY:
            if term.kind is Kind.UNDEFINED or factor > 0:
                return term
            return self.undefined(f"{factor} times minus infinity")
        if term.kind is Kind.CONSTANT:
            return self.constant(term.data * factor)
        if factor == 1:
            return term
        constant, weights = term.data if term.kind is Kind.SUM else (0, {term: 1})
        if factor == 0:
            return self._sum(0, {part: 0 for part in weights if not part.total}, term.total)
        scaled = {part: exact(weight * factor) for part, weight in weights.items()}
        return self._sum(constant * factor, scaled, term.total)

    def multiply(self, a: Term, b: Term) -> Term:
        """a * b."""
        key = (a, b) if a.uid < b.uid else (b, a)
        found = self._products.get(key)
        if found is None:
            found = self._products[key] = self._multiply(a, b)
        return found

    def _multiply(self, a: Term, b: Term) -> Term:
        if a.kind is Kind.CONSTANT:
            return self.scale(b, a.data)
        if b.kind is Kind.CONSTANT:
            return self.scale(a, b.data)
        if a.kind >= Kind.MINUS_INFINITY or b.kind >= Kind.MINUS_INFINITY:
            return self._multiply_extreme(a, b)
        if a.kind is Kind.EXP and b.kind is Kind.EXP and _opposite(a.args[0], b.args[0]):
            return self.add(self.one, self.scale(a.args[0], 0), 1)
        for mask, other in ((a, b), (b, a)):
            if self._gates(mask, other):
                return self._gated(mask, other, product=True)
        if a.kind in _ATOMIC and b.kind in _ATOMIC:
            return self._product({a: 1, b: 1} if a is not b else {a: 2})
        factor: Number = 1
        factors: dict[Term, int] = {}
        for term in (a, b):
            weight, part = _split(term)
            factor = factor * weight
            if part.kind is Kind.PRODUCT:
                for base, exponent in part.data.items():
                    factors[base] = factors.get(base, 0) + exponent
            else:
                factors[part] = factors.get(part, 0) + 1
        return self.scale(self._product(factors), factor)

    def _multiply_extreme(self, a: Term, b: Term) -> Term:
        for term in (a, b):
            if term.kind is Kind.UNDEFINED:
                return term
        other = b if a.kind is Kind.MINUS_INFINITY else a
        if other.sign is Sign.POSITIVE and other.total:
            return self.minus_infinity
        return self.undefined("minus infinity times a term that may be zero or negative")

    def _product(self, factors: dict[Term, int]) -> Term:
        for base, exponent in factors.items():
            if exponent > 1 and is_step(base):
                factors = {**factors, base: 1}
        if len(factors) == 1:
            ((base, exponent),) = factors.items()
            if exponent == 1:
                return base
        key = frozenset(factors.items())
        found = self._interned.get((Kind.PRODUCT, key))
        if found is None:
            sign, total = Sign.POSITIVE, True
            for base, exponent in factors.items():
                total = total and base.total
                if base.sign < sign:
                    sign = max(base.sign, Sign.NONNEGATIVE) if exponent % 2 == 0 else base.sign
            found = Term(self, Kind.PRODUCT, tuple(factors), factors, sign, total)
            self._interned[Kind.PRODUCT, key] = found
        return found

    def inverse(self, term: Term) -> Term:
        """1 / term."""
        if term.kind is Kind.CONSTANT:
            return self.constant(Fraction(1) / term.data) if term.data else self._nowhere("division by zero")
        if term.kind is Kind.MINUS_INFINITY:
            return self.undefined("division by minus infinity")
        if term.kind is Kind.UNDEFINED:
            return term
        weight, part = _split(term)
        if weight not in (0, 1):
            return self.scale(self.inverse(part), Fraction(1) / weight)
        if term.kind is Kind.PRODUCT:
            result = self.one
            for base, exponent in term.data.items():
                result = self.multiply(result, self.power(self.inverse(base), Fraction(exponent)))
            return result
        if term.kind is Kind.EXP:
            return self.exp(self.scale(term.args[0], -1))
        if term.kind is Kind.POWER:
            return self.power(term.args[0], -term.data)
        if self._grants:
            self._granted.add(term)
        total = term.total and term.sign is Sign.POSITIVE
        return self._intern(Kind.INVERSE, term, (term,), None, term.sign, total)

    def power(self, term: Term, exponent: Fraction) -> Term:
        """term ** exponent."""
        if term.kind is Kind.UNDEFINED:
            return term
        if term.kind is Kind.MINUS_INFINITY:
            return self.undefined("a power of minus infinity")
        if exponent.denominator == 1:
            return self._integer_power(term, exponent.numerator)
        if term.kind is Kind.CONSTANT:
            if term.data < 0 or (term.data == 0 and exponent < 0):
                return self._nowhere(f"{term.data} to the power of {exponent}")
            rational = root(Fraction(term.data), exponent) if term.data else Fraction(0)
            if rational is not None:
                return self.constant(rational)
        if term.kind is Kind.EXP:
            return self.exp(self.scale(term.args[0], exponent))
        defined = term.sign is Sign.POSITIVE or (term.sign is Sign.NONNEGATIVE and exponent > 0)
        sign = max(term.sign, Sign.NONNEGATIVE)
        return self._intern(Kind.POWER, (term, exponent), (term,), exponent, sign, term.total and defined)

    def _integer_power(self, term: Term, exponent: int) -> Term:
        if exponent < 0:
            return self._integer_power(self.inverse(term), -exponent)
        if exponent == 0:
            return self.add(self.one, self.scale(term, 0), 1)
        if term.kind is Kind.CONSTANT:
            return self.constant(term.data**exponent)
        weight, part = _split(term)
        factors = part.data if part.kind is Kind.PRODUCT else {part: 1}
        product = self._product({base: power * exponent for base, power in factors.items()})
        return self.scale(product, weight**exponent)

    def exp(self, term: Term) -> Term:
        """e to the power of term."""
        if term.kind is Kind.MINUS_INFINITY:
            return self.zero
        if term.kind is Kind.UNDEFINED:
            return term
        if term is self.zero:
            return self.one
        return self._intern(Kind.EXP, term, (term,), None, Sign.POSITIVE, term.total)

    def log(self, term: Term) -> Term:
        """The natural logarithm of term."""
        if term.kind is Kind.UNDEFINED:
            return term
        if term.kind is Kind.MINUS_INFINITY or (term.kind is Kind.CONSTANT and term.data <= 0):
            return self._nowhere("the logarithm of a number that is not positive")
        if term is self.one:
            return self.zero
        if term.kind is Kind.EXP:
            return term.args[0]
        total = term.total and term.sign is Sign.POSITIVE
        return self._intern(Kind.LOG, term, (term,), None, Sign.UNKNOWN, total)

    def maximum(self, terms: Iterable[Term]) -> Term:
        """The largest of several."""
        chosen: dict[Term, None] = {}
        constant: Term | None = None
        for term in terms:
            if term.kind is Kind.UNDEFINED:
                return term
            for part in term.args if term.kind is Kind.MAXIMUM else (term,):
                if part.kind is Kind.CONSTANT:
                    constant = part if constant is None or part.data > constant.data else constant
                elif part.kind is not Kind.MINUS_INFINITY:
                    chosen[part] = None
        if constant is not None:
            chosen[constant] = None
        chosen = self._undominated(chosen)
        if not chosen:
            return self.minus_infinity
        if len(chosen) == 1:
            return next(iter(chosen))
        sign = max(term.sign for term in chosen)
        if sign is Sign.UNKNOWN and any(self._is_opposed(term, chosen) for term in chosen):
            sign = Sign.NONNEGATIVE
        if sign is not Sign.UNKNOWN:
            chosen = {term: None for term in chosen if not (term.total and _is_not_positive(term))}
            if len(chosen) == 1:
                return next(iter(chosen))
        args = tuple(sorted(chosen, key=_uid))
        return self._intern(Kind.MAXIMUM, args, args, None, sign, all(term.total for term in args))

    def _is_opposed(self, term: Term, others: Container[Term]) -> bool:
        """Whether a term that is a sum is the negative of another one: the greater of both is not negative."""
        if term.kind is not Kind.SUM:
            return False
        constant, weights = term.data
        if constant == 0 and len(weights) == 1:
            ((part, weight),) = weights.items()
            if weight == -1:
                return part in others
        key = (-constant, frozenset((part, -weight) for part, weight in weights.items()))
        negative = self._interned.get((Kind.SUM, key))
        return negative is not None and negative in others

    def _undominated(self, terms: dict[Term, None]) -> dict[Term, None]:
        """Some terms without those that, by their bounds, never exceed one that stays."""
        ranges = {term: self._ranges.of(term) for term in terms}
        lows = {term: found.low for term, found in ranges.items() if found.low is not None}
        if not lows:
            return terms
        highest = max(lows, key=lambda term: lows[term])
        return {
            term: None
            for term, (_, _, high) in ranges.items()
            if term is highest or not term.total or high is None or high > lows[highest]
        }

    def indicator(self, term: Term, value: int) -> Term:
        """1 where the term equals value, else 0: of an index or what is made of indices, or by steps of any other."""
        if term.kind is Kind.UNDEFINED:
            return self.undefined(f"a comparison of {term.data}")
        if term.kind is Kind.MINUS_INFINITY:
            return self.zero
        if term.kind is Kind.CONSTANT:
            return self.one if term.data == value else self.zero
        if term.kind is Kind.SUM and list(term.data[1].values()) == [1] and isinstance(term.data[0], int):
            return self.indicator(term.args[0], value - term.data[0])
        if value == 0 and _split(term)[0]:
            term = _split(term)[1]
        if term.kind is not Kind.INDEX:
            if not self._ranges.of(term).holds(value):
                return self.scale(term, 0)
            listed = self._tables.equals(term, value)
            return self._equals(term, value) if listed is None else listed
        size = term.data[2]
        if not 0 <= value < size:
            return self.zero
        if size == 1:
            return self.one
        return self._intern(Kind.INDICATOR, (term, value), (term,), value, Sign.NONNEGATIVE, True)

    def _equals(self, term: Term, value: int) -> Term:
        """1 - [term > value] - [term < value]."""
        if not term.total:
            return self.whatever(f"equals {value}", (term,), lambda args: self.indicator(args[0], value))
        difference = self.add(term, self.constant(value), -1)
        above, under = self.opaque("step", (difference,)), self.opaque("step", (self.scale(difference, -1),))
        return self.add(self.add(self.one, above, -1), under, -1)

    def tabulate(self, function: Callable[..., Number], args: Sequence[Term]) -> Term | None:
        """function(*args) where each of these terms is made of indices alone (finite.py), else None."""
        return self._tables.tabulate(function, args)

    def within(self, term: Term, low: int, high: int) -> bool:
        """Whether a term is known to be an integer from `low` to `high`."""
        found = self._ranges.of(term)
        bounded = found.low is not None and found.high is not None and low <= found.low and found.high <= high
        return found.whole and term.total and bounded

    def range_of(self, term: Term) -> Range:
        """Whether a term is an integer, and between which bounds it lies."""
        return self._ranges.of(term)

    def choose(self, mask: Term, one: Term, other: Term) -> Term:
        """mask * one + (1 - mask) * other, for a mask that is 1 or 0, where both sides have values everywhere.

        Where one need not have, the other one has it where it is not chosen: see `_gated`. Where `chooses_numbers`, the
        choice has no value there either, which is less than is true: of what must be defined wherever something else
        is, that is never too much. Raises SolverError where one is minus infinity, no real number.
        """
        if Kind.MINUS_INFINITY in (one.kind, other.kind):
            raise SolverError("a choice of minus infinity by a mask that is not known")
        rest = self.add(self.one, mask, -1)
        return self.add(self._chosen(mask, one), self._chosen(rest, other), 1)

    def _gates(self, mask: Term, term: Term) -> bool:
        """Whether a product with a mask is a gate: of what divides, and a mask that tells one index."""
        return mask.kind is Kind.INDICATOR and not term.total and self._divides(term)

    def _divides(self, term: Term) -> bool:
        """Whether a term has no value only where a divisor is zero, and divides not by whether a position is inside."""
        parts = term.args if term.kind is Kind.SUM else (term,)
        factors = (base for part in parts for base in (part.args if part.kind is Kind.PRODUCT else (part,)))
        partial = [base for base in factors if not base.total]
        divides = all(base.kind is Kind.INVERSE and base.args[0].total for base in partial)
        return divides and not any(self._tables.are_truths(base.args[0]) for base in partial)

    def part(self, mask: Term, term: Term) -> Term:
        """mask * term, and 0 where the mask is 0, whatever the term is there."""
        if mask.kind is Kind.CONSTANT and not mask.data:
            return self.zero
        divides = self._divides(term) and mask.kind is not Kind.INDICATOR
        plain = term.total or self.chooses_numbers or divides
        if plain or Kind.MINUS_INFINITY in (mask.kind, term.kind):
            return self.multiply(mask, term)
        return self._gated(mask, term)

    def _chosen(self, mask: Term, term: Term) -> Term:
        if self.chooses_numbers and self._gates(mask, term):
            return self.multiply(mask, term)
        plain = term.total or self.chooses_numbers
        return self._tables.restricted(mask, term) if plain else self._gated(mask, term)

    def _gated(self, mask: Term, term: Term, product: bool = False) -> Term:
        """`term` where a mask is 1, and 0 where it is 0, also where the term has no value there.

        That adds up, and factors that have values everywhere may stand before it. Of the rest it is some number.
        product: whether a program multiplies them, and has no value either where the term has none.
        """
        if mask.kind is Kind.CONSTANT:
            return term if mask.data else self.zero
        if term.kind is Kind.UNDEFINED:
            return self.undefined(f"a choice of {term.data}")
        constant, weights = term.data if term.kind is Kind.SUM else (0, {term: 1})
        parts = [(self._gate(mask, part, product), weight) for part, weight in weights.items()]
        return self.total([(mask, constant), *parts])

    def _gate(self, mask: Term, part: Term, product: bool) -> Term:
        if part.total:
            return self._tables.restricted(mask, part)
        factors = part.data if part.kind is Kind.PRODUCT else {part: 1}
        rest = {base: exponent for base, exponent in factors.items() if base.total}
        partial = self._product({base: exponent for base, exponent in factors.items() if not base.total})
        if partial in self.gates:
            outer, partial = self.gates[partial]
            mask = self._tables.restricted(mask, outer)
        if mask.kind is Kind.CONSTANT:
            gated = partial if mask.data else self.zero
        else:
            name = "product" if product and not self._is_granted(partial) else "gate"
            gated = self.whatever(name, (mask, partial), lambda args: self._regated(mask, partial, *args))
            self.gates[gated] = (mask, partial)
            if product:
                self.products.add((mask, partial))
        return self.multiply(self._product(rest), gated) if rest else gated

    def _is_granted(self, partial: Term) -> bool:
        """Whether a term has no value only where a divisor is zero that is granted not to be (`granting`)."""
        factors = partial.data if partial.kind is Kind.PRODUCT else {partial: 1}
        return all(base.kind is Kind.INVERSE and base.args[0] in self._granted for base in factors)

    def _regated(self, once: Term, before: Term, mask: Term, term: Term) -> Term:
        """A gate of other terms. once, before: what it was the gate of."""
        gone = mask.kind is Kind.CONSTANT and not mask.data and not term.total
        if gone and self.keeps_stops and ((once, before) in self.products or self._may_stop(before)):
            return self.undefined("what is not chosen is multiplied by zero, or may stop a program")
        return self._gated(mask, term, (once, before) in self.products)

    def _may_stop(self, term: Term) -> bool:
        """Whether a program may end where a term has no value: a row that does not exist is looked up there, or an
        integer is divided by zero. No other number ends one.
        """
        for part in self.beneath([term]):
            if part in self.unknown:
                return True
            if part.kind is Kind.INVERSE:
                of = part.args[0]
                truths = {below.kind for below in self.below(part.args)} & {Kind.OPAQUE, Kind.INDICATOR}
                if truths and (self._tables.of(of) is None or self._tables.are_truths(of)):
                    return True
        return False

    def _step(self, term: Term) -> Term | None:
        """[term > 0] where that is known, or is a matter of indices."""
        if term.kind is Kind.MINUS_INFINITY:
            return self.zero
        if term.total and term.sign is Sign.POSITIVE:
            return self.one
        if term.total and self.scale(term, -1).sign is not Sign.UNKNOWN:
            return self.zero
        found = self._ranges.of(term)
        if term.total and found.low is not None and found.low > 0:
            return self.one
        if term.total and found.high is not None and found.high <= 0:
            return self.zero
        return self.tabulate(lambda number: int(number > 0), (term,))

    def opaque(self, name: str, args: tuple[Term, ...]) -> Term:
        """The function `name` of some arguments, of which minus infinity may be one. step(x) is [x > 0].

        What cuts a fraction off leaves integers as they are.
        """
        for term in args:
            if term.kind is Kind.UNDEFINED:
                return term if name in STRICT and len(args) == 1 else self.undefined(f"{name} of {term.data}")
        known = self._step(args[0]) if name == "step" and len(args) == 1 else None
        if known is not None:
            return known
        rounded = self._ranges.rounded(name, args[0]) if name in ROUNDING and len(args) == 1 else None
        if rounded is None and name in ROUNDING and len(args) == 1:
            rounded = self.tabulate(lambda number: int(KNOWN[name].exact(Fraction(number)) or 0), args)
        if rounded is not None:
            return rounded
        total = all(term.total for term in args)
        if not total and not (name in STRICT and len(args) == 1):
            return self.whatever(name, args, lambda others: self.opaque(name, others))
        sign = Sign.NONNEGATIVE if name == "step" and len(args) == 1 else Sign.UNKNOWN
        return self._intern(Kind.OPAQUE, (name, args), args, name, sign, total)

    def below(self, roots: Iterable[Term], whole: Set[Term] = frozenset()) -> list[Term]:
        """All terms that `roots` consist of, arguments first; what those in `whole` consist of is left out."""
        return _collected(roots, lambda term: () if term in whole else term.args)

    def beneath(self, roots: Iterable[Term]) -> list[Term]:
        """The same, with those that unknown functions are made of, which are made before them."""
        return _collected(roots, self.made_of)

    def made_of(self, term: Term) -> tuple[Term, ...]:
        """The arguments of a term, those of an unknown function that it stands for among them."""
        return self.unknown[term].args if term in self.unknown else term.args

    def guarded(self, roots: Iterable[Term]) -> bool:
        """Whether something that is made of terms stands for an unknown function."""
        return not self.unknown.keys().isdisjoint(self.below(roots))


def _collected(roots: Iterable[Term], args: Callable[[Term], tuple[Term, ...]]) -> list[Term]:
    stack = list(roots)
    found = set(stack)
    while stack:
        for arg in args(stack.pop()):
            if arg not in found:
                found.add(arg)
                stack.append(arg)
    return sorted(found, key=_uid)


def _uid(term: Term) -> int:
    return term.uid


def _put(weights: dict[Term, Number], term: Term, weight: Number) -> None:
    found = weights.get(term)
    weight = exact(weight if found is None else found + weight)
    if weight == 0 and term.total:
        del weights[term]
    else:
        weights[term] = weight


def _opposite(a: Term, b: Term) -> bool:
    """Whether a = -b, told without making a term."""
    if a.kind is not Kind.SUM and b.kind is not Kind.SUM:
        return False
    (constant, weights), (other, opposed) = (x.data if x.kind is Kind.SUM else (0, {x: 1}) for x in (a, b))
    negated = all(opposed.get(term) == -weight for term, weight in weights.items())
    return bool(constant == -other and len(weights) == len(opposed) and negated)


def _split(term: Term) -> tuple[Number, Term]:
    """The rational factor of a term, and the rest."""
    if term.kind is Kind.SUM and term.data[0] == 0 and len(term.args) == 1:
        return term.data[1][term.args[0]], term.args[0]
    return 1, term


def _is_not_positive(term: Term) -> bool:
    """Whether a sum is known not to be positive."""
    if term.kind is not Kind.SUM:
        return False
    constant, weights = term.data
    return bool(constant <= 0 and all(weight <= 0 and part.sign for part, weight in weights.items()))


def _sign_of_sum(constant: Number, weights: dict[Term, Number]) -> Sign:
    if constant < 0 or any(weight < 0 or not part.sign for part, weight in weights.items()):
        return Sign.UNKNOWN
    if constant > 0 or any(weight > 0 and part.sign is Sign.POSITIVE for part, weight in weights.items()):
        return Sign.POSITIVE
    return Sign.NONNEGATIVE
