"""Values of terms at points: on floats, many points at once, and exactly, with intervals where irrational.

Floats propose, exact values decide. Undefined is NaN on floats and UNDEFINED on exact values, never infinity,
so that nothing hides behind 1/inf = 0.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from verdict.solver.functions import on_floats, on_fractions, on_intervals
from verdict.solver.intervals import Interval, Intervals, UncertainError
from verdict.solver.term import Kind, Term
from verdict.solver.terms import root

Floats = npt.NDArray[np.float64]


class Special(Enum):
    """Values that are no rational numbers."""

    IRRATIONAL = "irrational"
    MINUS_INFINITY = "minus infinity"
    UNDEFINED = "undefined"


Exact = Fraction | Special


class FloatValues:
    """Values of all terms of `order` (arguments first) at many points: one row of floats for each term."""

    def __init__(self, order: Sequence[Term], columns: Mapping[Term, Floats]) -> None:
        self.row = {term: row for row, term in enumerate(order)}
        points = len(next(iter(columns.values()))) if columns else 1
        self.values: Floats = np.empty((len(order), points))
        with np.errstate(all="ignore"):
            for row, term in enumerate(order):
                known = columns.get(term)
                self.values[row] = self._value(term) if known is None else known

    def of(self, terms: Sequence[Term]) -> Floats:
        """The values of some terms, (terms, points)."""
        return self.values[[self.row[term] for term in terms]]

    def _value(self, term: Term) -> Floats | float:
        kind = term.kind
        if kind is Kind.SUM:
            constant, weights = term.data
            return self._sum(float(constant), term.args, list(weights.values()))
        if kind is Kind.PRODUCT:
            return self._product(term.args, list(term.data.values()))
        if kind is Kind.CONSTANT:
            return float(term.data)
        if kind is Kind.OPAQUE:
            return on_floats(term.data, list(self.of(term.args)))
        if kind is Kind.MAXIMUM:
            return np.asarray(np.maximum.reduce(self.of(term.args)))
        if kind is Kind.MINUS_INFINITY:
            return -np.inf
        if kind is Kind.UNDEFINED:
            return np.nan
        return self._unary(term, self.values[self.row[term.args[0]]])

    def _sum(self, constant: float, args: Sequence[Term], weights: list[int | Fraction]) -> Floats:
        parts = self.of(args)
        if any(weight != 1 for weight in weights):
            parts = parts * np.array([float(weight) for weight in weights])[:, None]
        return np.asarray(np.add.reduce(parts) + constant)

    def _product(self, args: Sequence[Term], exponents: list[int]) -> Floats:
        parts = self.of(args)
        if any(exponent != 1 for exponent in exponents):
            parts = parts ** np.array(exponents)[:, None]
        return np.asarray(np.multiply.reduce(parts))

    @staticmethod
    def _unary(term: Term, x: Floats) -> Floats:
        if term.kind is Kind.INVERSE:
            return np.where(x == 0, np.nan, 1 / x)
        if term.kind is Kind.EXP:
            return np.exp(x)
        if term.kind is Kind.LOG:
            return np.where(x > 0, np.log(x), np.nan)
        if term.kind is Kind.INDICATOR:
            return np.where(np.isnan(x), np.nan, (x == term.data) * 1.0)
        power = x ** float(term.data)
        return np.where(x == 0, np.nan, power) if term.data < 0 else power


class ExactValues:
    """Values of all terms of `order` at one point: Fractions where rational, else intervals."""

    def __init__(self, order: Sequence[Term], point: Mapping[Term, Fraction]) -> None:
        self.exact: dict[Term, Exact] = {}
        self._order = order
        for term in order:
            self.exact[term] = point[term] if term in point else self._value(term)

    def _value(self, term: Term) -> Exact:
        values = [self.exact[arg] for arg in term.args]
        if any(value is Special.UNDEFINED for value in values) or term.kind is Kind.UNDEFINED:
            return Special.UNDEFINED
        if term.kind is Kind.CONSTANT:
            return Fraction(term.data)
        if term.kind is Kind.MINUS_INFINITY:
            return Special.MINUS_INFINITY
        if term.kind is Kind.SUM:
            return _exact_sum(term, values)
        if term.kind is Kind.PRODUCT:
            return _exact_product(term, values)
        if term.kind is Kind.OPAQUE:
            return _exact_opaque(term.data, values)
        fractions = [value for value in values if isinstance(value, Fraction)]
        if len(fractions) < len(values):
            return Special.IRRATIONAL
        return max(fractions) if term.kind is Kind.MAXIMUM else _exact_unary(term, fractions[0])

    def intervals(self, bits: int) -> dict[Term, Interval | None]:
        """An interval around each term's value; None where it cannot be told whether there is one."""
        arithmetic = Intervals(bits)
        result: dict[Term, Interval | None] = {}
        for term in self._order:
            exact = self.exact[term]
            if isinstance(exact, Fraction):
                result[term] = arithmetic.of(exact)
            elif exact is Special.IRRATIONAL:
                result[term] = self._interval(term, result, arithmetic)
            else:
                result[term] = None
        return result

    def _interval(self, term: Term, known: Mapping[Term, Interval | None], arithmetic: Intervals) -> Interval | None:
        args = [known[arg] for arg in term.args]
        unknown = [
            arg is None and self.exact[below] is not Special.MINUS_INFINITY
            for below, arg in zip(term.args, args, strict=True)
        ]
        if any(unknown):
            return None
        try:
            return _interval_value(term, args, arithmetic)
        except UncertainError:
            return None


def _exact_sum(term: Term, values: Sequence[Exact]) -> Exact:
    constant, weights = term.data
    total = Fraction(constant)
    for weight, value in zip(weights.values(), values, strict=True):
        if not weight or not value:
            continue
        if not isinstance(value, Fraction):
            return Special.IRRATIONAL
        total += weight * value
    return total


def _exact_product(term: Term, values: Sequence[Exact]) -> Exact:
    if not all(values):
        return Fraction(0)
    total = Fraction(1)
    for exponent, value in zip(term.data.values(), values, strict=True):
        if not isinstance(value, Fraction):
            return Special.IRRATIONAL
        total *= value**exponent
    return total


def _exact_opaque(name: str, values: Sequence[Exact]) -> Exact:
    if Special.IRRATIONAL in values:
        return Special.IRRATIONAL
    result = on_fractions(name, [value if isinstance(value, Fraction) else None for value in values])
    return Special.IRRATIONAL if result is None else result


def _exact_unary(term: Term, x: Fraction) -> Exact:
    if term.kind is Kind.INVERSE:
        return 1 / x if x else Special.UNDEFINED
    if term.kind is Kind.EXP:
        return Special.IRRATIONAL if x else Fraction(1)
    if term.kind is Kind.INDICATOR:
        return Fraction(x == term.data)
    if x < 0 or (x == 0 and (term.kind is Kind.LOG or term.data < 0)):
        return Special.UNDEFINED
    if term.kind is Kind.LOG:
        return Fraction(0) if x == 1 else Special.IRRATIONAL
    power = root(x, term.data) if x else x
    return Special.IRRATIONAL if power is None else power


def _interval_value(term: Term, args: Sequence[Interval | None], arithmetic: Intervals) -> Interval:
    if term.kind is Kind.OPAQUE:
        return on_intervals(term.data, args, arithmetic)
    if term.kind is Kind.SUM:
        total = arithmetic.of(Fraction(term.data[0]))
        for weight, arg in zip(term.data[1].values(), args, strict=True):
            total = total + arithmetic.of(Fraction(weight)) * arg
        return total
    if term.kind is Kind.PRODUCT:
        total = arithmetic.of(Fraction(1))
        for exponent, arg in zip(term.data.values(), args, strict=True):
            total = total * arg**exponent
        return total
    if term.kind is Kind.MAXIMUM:
        total = args[0]
        for arg in args[1:]:
            total = arithmetic.maximum(total, arg)
        return total
    x = args[0]
    if term.kind is Kind.INVERSE:
        return arithmetic.inverse(x)
    if term.kind is Kind.EXP:
        return arithmetic.exp(x)
    return arithmetic.log(x) if term.kind is Kind.LOG else arithmetic.power(x, term.data)
