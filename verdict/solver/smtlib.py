"""Obligations as SMT-LIB text (logic ALL, real and uninterpreted parts only), the same text in every process.

No law is asserted where it could fail: a reciprocal, root or logarithm asserts its own domain condition, which
the ledger (domains.py) accounts for; the exponential is an uninterpreted function of which only ground
instances of exp(a + b) = exp(a) exp(b), exp > 0 and exp(log a) = a for a > 0 are used.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import lcm

from verdict.solver.domains import Condition
from verdict.solver.term import Kind, Number, Sign, Term, span_of

MOST_FACTORS = 256
"""The most factors that one exponential is written as; e to the -1e30, of a mask, would have as many."""


class Script:
    """Declarations and definitions for a set of terms, `lines` in the order in which they must stand. Symbols are
    numbered by the order of the terms, so that what differs in names alone is one text.
    """

    def __init__(self, order: Sequence[Term]) -> None:
        self.lines = ["(declare-fun u_exp (Real) Real)", "(declare-fun u_log (Real) Real)"]
        self._known: set[str] = set()
        self._functions: dict[tuple[str, int], str] = {}
        self._shares = _shares(order)
        self._numbers = {term: number for number, term in enumerate(order)}
        for term in order:
            self._add(term)

    def name(self, term: Term) -> str:
        """The symbol of a term."""
        return f"n{self._numbers[term]}"

    def value(self, index: Term, value: int) -> str:
        """The symbol of an index having a value."""
        return f"i{self._numbers[index]}_{value}"

    def differ(self, pairs: Iterable[tuple[Term, Term]]) -> str:
        """That at least one pair differs."""
        return f"(or {' '.join(f'(distinct {self.name(a)} {self.name(b)})' for a, b in pairs)} false)"

    def violates(self, condition: Condition) -> str:
        """That a domain condition fails; whether there is a value is nothing that arithmetic says."""
        if condition.need is None:
            return "true"
        relation = {Sign.UNKNOWN: "=", Sign.NONNEGATIVE: "<", Sign.POSITIVE: "<="}[condition.need]
        return f"({relation} {self.name(condition.argument)} 0.0)"

    def _add(self, term: Term) -> None:
        if term.kind in _HEADS:
            self._define(self.name(term), _HEADS[term.kind](self, term))
        elif term.kind is Kind.REAL:
            self._real(self.name(term))
            if term.sign is Sign.POSITIVE:
                self._claim(f"(> {self.name(term)} 0.0)")
            for relation, bound in zip((">=", "<="), span_of(term) or (), strict=False):
                if bound is not None:
                    self._claim(f"({relation} {self.name(term)} {_number(bound)})")
        elif term.kind is Kind.INDEX:
            self._index(term)
        elif term.kind is Kind.MINUS_INFINITY:
            self._real(self.name(term))
        elif term.kind is Kind.LOG:
            self._claim(f"(> {self.name(term.args[0])} 0.0)")
            self._define(self.name(term), f"(u_log {self.name(term.args[0])})")
        elif term.kind is Kind.INVERSE:
            self._reciprocal(self.name(term), self.name(term.args[0]))

    def _claim(self, text: str) -> None:
        self.lines.append(f"(assert {text})")

    def _real(self, symbol: str) -> None:
        self.lines.append(f"(declare-const {symbol} Real)")

    def _define(self, symbol: str, body: str) -> None:
        self.lines.append(f"(define-fun {symbol} () Real {body})")

    def _index(self, term: Term) -> None:
        values = [self.value(term, value) for value in range(term.data[2])]
        self.lines += [f"(declare-const {value} Bool)" for value in values]
        self._claim(f"(or {' '.join(values)} false)")
        for i, value in enumerate(values):
            self.lines += [f"(assert (not (and {value} {other})))" for other in values[:i]]
        number = "0.0"
        for i, value in enumerate(values):
            number = f"(ite {value} {i}.0 {number})"
        self._define(self.name(term), number)

    def _reciprocal(self, symbol: str, of: str) -> str:
        if symbol not in self._known:
            self._known.add(symbol)
            self._real(symbol)
            self._claim(f"(= (* {symbol} {of}) 1.0)")
        return symbol

    def _root(self, of: str, degree: int) -> str:
        symbol = f"root{degree}_{of}"
        if symbol not in self._known:
            self._known.add(symbol)
            self._real(symbol)
            self._claim(f"(>= {symbol} 0.0)")
            self._claim(f"(= {_times([symbol] * degree)} {of})")
        return symbol

    def _power(self, term: Term) -> str:
        exponent = term.data
        root = self._root(self.name(term.args[0]), exponent.denominator)
        if exponent < 0:
            root = self._reciprocal(f"inv_{root}", root)
        return _times([root] * abs(exponent.numerator))

    def _exp(self, term: Term) -> str:
        factors = []
        counted = [(part, int(weight * self._shares[part])) for part, weight in _summands(term.args[0])]
        if sum(abs(count) for _, count in counted) > MOST_FACTORS:
            return self._whole(term)
        for part, count in counted:
            base = self._base(part, self._shares[part])
            if count < 0:
                base = self._reciprocal(f"inv_{base}", base)
            factors += [base] * abs(count)
        return _times(factors)

    def _whole(self, term: Term) -> str:
        """exp of a sum of which nothing is said but that it is positive."""
        symbol = f"w_{self.name(term)}"
        self._define(symbol, f"(u_exp {self.name(term.args[0])})")
        self._claim(f"(> {symbol} 0.0)")
        return symbol

    def _base(self, part: Term | None, share: int) -> str:
        """exp(part / share); of 1 / share where part is None."""
        of = "1.0" if part is None else self.name(part)
        if part is not None and part.kind is Kind.LOG:
            argument = self.name(part.args[0])
            return argument if share == 1 else self._root(argument, share)
        symbol = f"e{share}_{of.replace('.', '')}"
        if symbol not in self._known:
            self._known.add(symbol)
            argument = of if share == 1 else f"(* {_number(Fraction(1, share))} {of})"
            self._define(symbol, f"(u_exp {argument})")
            self._claim(f"(> {symbol} 0.0)")
        return symbol

    def _maximum(self, term: Term) -> str:
        result = self.name(term.args[0])
        for arg in term.args[1:]:
            symbol = f"m{len(self.lines)}"
            self._define(symbol, result)
            result = f"(ite (>= {symbol} {self.name(arg)}) {symbol} {self.name(arg)})"
        return result

    def _opaque(self, term: Term) -> str:
        if term.data == "step" and len(term.args) == 1:
            return f"(ite (> {self.name(term.args[0])} 0.0) 1.0 0.0)"
        key = (term.data, len(term.args))
        if key not in self._functions:
            self._functions[key] = f"f{len(self._functions)}"
            sorts = " ".join("Real" for _ in term.args)
            self.lines.append(f"(declare-fun {self._functions[key]} ({sorts}) Real)")
        symbol = self._functions[key]
        return f"({symbol} {' '.join(self.name(arg) for arg in term.args)})"

    def _sum(self, term: Term) -> str:
        constant, weights = term.data
        named = [(self.name(arg), weight) for arg, weight in weights.items()]
        parts = [part if weight == 1 else f"(* {_number(weight)} {part})" for part, weight in named]
        parts += [_number(constant)] * (constant != 0)
        return parts[0] if len(parts) == 1 else f"(+ {' '.join(parts)})"

    def _product(self, term: Term) -> str:
        return _times([self.name(base) for base, exponent in term.data.items() for _ in range(exponent)])

    def _indicator(self, term: Term) -> str:
        return f"(ite {self.value(term.args[0], term.data)} 1.0 0.0)"


_HEADS = {
    Kind.CONSTANT: lambda script, term: _number(term.data),
    Kind.SUM: Script._sum,
    Kind.PRODUCT: Script._product,
    Kind.POWER: Script._power,
    Kind.EXP: Script._exp,
    Kind.MAXIMUM: Script._maximum,
    Kind.INDICATOR: Script._indicator,
    Kind.OPAQUE: Script._opaque,
}


def _summands(term: Term) -> list[tuple[Term | None, Number]]:
    """(part, weight) pairs that add up to the term; the constant has no part."""
    if term.kind is Kind.CONSTANT:
        return [(None, term.data)]
    if term.kind is not Kind.SUM:
        return [(term, 1)]
    constant, weights = term.data
    parts: list[tuple[Term | None, Number]] = [pair for pair in weights.items() if pair[1]]
    return [*parts, (None, constant)] if constant else parts


def _shares(order: Iterable[Term]) -> dict[Term | None, int]:
    """For each summand of an exponent the least n such that all its weights are multiples of 1/n."""
    shares: dict[Term | None, int] = {}
    for term in order:
        if term.kind is Kind.EXP:
            for part, weight in _summands(term.args[0]):
                shares[part] = lcm(shares.get(part, 1), weight.denominator)
    return shares


def _times(factors: Sequence[str]) -> str:
    if not factors:
        return "1.0"
    return factors[0] if len(factors) == 1 else f"(* {' '.join(factors)})"


def _number(value: Number) -> str:
    text = f"{abs(value.numerator)}.0"
    if value.denominator != 1:
        text = f"(/ {text} {value.denominator}.0)"
    return f"(- {text})" if value < 0 else text
