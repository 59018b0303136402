"""Which terms are integers for all values of their variables, and between which bounds terms lie.

A sum of integers with integer weights is one, and so is a product, a maximum, an indicator or a step. Bounds are those
of interval arithmetic on sums and maxima; any other term has those of its sign.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import ceil, floor
from typing import TYPE_CHECKING, NamedTuple

from verdict.solver.functions import KNOWN, ROUNDING
from verdict.solver.term import Kind, Number, Sign, Term, is_step, span_of

if TYPE_CHECKING:
    from verdict.solver.terms import Terms


class Range(NamedTuple):
    """Whether a term is an integer, and its bounds, both included; None where there is none."""

    whole: bool
    low: Number | None = None
    high: Number | None = None

    def holds(self, value: Number) -> bool:
        """Whether the term may have a value, as far as is known."""
        return (
            (not self.whole or Fraction(value).denominator == 1)
            and (self.low is None or value >= self.low)
            and (self.high is None or value <= self.high)
        )


TRUTH = Range(True, 0, 1)


class Ranges:
    """What is known of the terms of one obligation, found once for each."""

    def __init__(self, terms: "Terms") -> None:
        self._terms = terms
        self._known: dict[Term, Range] = {}

    def of(self, term: Term) -> Range:
        """The range of a term."""
        stack = [term]
        while stack:
            part = stack.pop()
            if part in self._known:
                continue
            unknown = [arg for arg in part.args if arg not in self._known]
            if unknown:
                stack.extend((part, *unknown))
            else:
                self._known[part] = self._made(part)
        return self._known[term]

    def rounded(self, name: str, term: Term) -> Term | None:
        """What the function `name` of ROUNDING makes of a term, where that is known."""
        found = self.of(term)
        if found.whole:
            return term
        if found.low is None or found.high is None or not term.total:
            return None
        ends = {KNOWN[name].exact(Fraction(end)) for end in (found.low, found.high)}
        only = ends.pop() if len(ends) == 1 else None
        return None if only is None else self._terms.constant(only)

    def _made(self, term: Term) -> Range:
        if term.kind is Kind.CONSTANT:
            return Range(Fraction(term.data).denominator == 1, term.data, term.data)
        if term.kind is Kind.INDICATOR or is_step(term):
            return TRUTH
        span = span_of(term)
        if span is not None:
            return Range(True, span.low, span.high)
        parts = [self._known[arg] for arg in term.args]
        if term.kind is Kind.OPAQUE and term.data in ROUNDING:
            (part,) = parts
            low, high = part.low, part.high
            return Range(True, None if low is None else floor(low), None if high is None else ceil(high))
        whole = all(part.whole for part in parts)
        if term.kind is Kind.SUM:
            constant, weights = term.data
            return _sum(constant, tuple(weights.values()), parts)
        if term.kind is Kind.MAXIMUM:
            highs = [part.high for part in parts]
            known = [high for high in highs if high is not None]
            lows = [part.low for part in parts if part.low is not None]
            return Range(whole, max(lows, default=None), max(known) if len(known) == len(highs) else None)
        if term.kind is Kind.PRODUCT and all(part == TRUTH for part in parts):
            return TRUTH
        low = None if term.sign is Sign.UNKNOWN else 0
        return Range(whole and term.kind is Kind.PRODUCT, low)


def _sum(constant: Number, weights: Sequence[Number], parts: Sequence[Range]) -> Range:
    exact = all(Fraction(number).denominator == 1 for number in (constant, *weights))
    pairs = list(zip(weights, parts, strict=True))
    low = _total(constant, weights, (part.low if weight > 0 else part.high for weight, part in pairs))
    high = _total(constant, weights, (part.high if weight > 0 else part.low for weight, part in pairs))
    return Range(exact and all(part.whole for part in parts), low, high)


def _total(constant: Number, weights: Sequence[Number], ends: Iterable[Number | None]) -> Number | None:
    total = constant
    for weight, end in zip(weights, ends, strict=True):
        if end is None:
            return None
        total = total + weight * end
    return total
