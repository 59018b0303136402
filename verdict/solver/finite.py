"""Terms of index variables alone: functions on a finite set, which can be listed.

Whatever is made of constants and indices by sums, products, maxima, indicators and steps has one exact value for
every assignment of its indices: masks (id < 4), shifted and masked ids ((id - 4) [id >= 4]), counts of them. Any
function of such terms is again such a term, the sum over all assignments of its value times the indicators

    f(a, b) = sum over i, j of f(i, j) [a = i] [b = j]

which is an identity, not an approximation: exactly one product of indicators is 1 for each assignment. A step [x > 0]
of any other x is a variable, too, of two values: truth values are joined so, whatever they are compared of.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from verdict.solver.term import Kind, Number, Term, is_step

if TYPE_CHECKING:
    from verdict.solver.terms import Terms

LARGEST = 4096
"""The most assignments that are listed; a term of more is treated like any other."""
MOST_MULTIPLIED = 256
"""The most assignments over which a mask and a factor are listed together; above, they stay a product."""
MOST_TRUTHS = 4
"""The most steps of what is not finite that are listed together."""
Values = npt.NDArray[Any]
Table = tuple[tuple[Term, ...], Values]
"""Index variables and steps, ordered by uid, and the exact value for each assignment of them: an axis for each."""


class Tables:
    """The tables of the terms of one obligation, each made once; None for a term that is not finite."""

    def __init__(self, terms: "Terms") -> None:
        self._terms = terms
        self._known: dict[Term, Table | None] = {}
        self._products: dict[tuple[Term, Term], Term | None] = {}
        self._joints: dict[tuple[Term, Term], Term] = {}
        self._places: dict[Term, dict[Number, list[tuple[int, ...]]]] = {}

    def of(self, term: Term) -> Table | None:
        """The table of a term, None where it depends on more than some indices."""
        if term not in self._known:
            for part in self._terms.below([term]):
                if part not in self._known:
                    self._known[part] = self._made(part)
        return self._known[term]

    def tabulate(self, function: Callable[..., Number], args: Sequence[Term]) -> Term | None:
        """function(*args) as a sum of indicators; None where some argument is not finite, or all are too many."""
        tables = [self.of(arg) for arg in args]
        listed = [table for table in tables if table is not None]
        joined = _joined(_each(function), listed) if len(listed) == len(tables) else None
        return None if joined is None else self._term(joined)

    def equals(self, term: Term, value: int) -> Term | None:
        """[term = value]; None for a term that is not finite. Where it has which value is looked up once, for all."""
        table = self.of(term)
        if table is None:
            return None
        variables, values = table
        if any(map(is_step, variables)):
            return self.tabulate(lambda number: int(number == value), (term,))
        if term not in self._places:
            places = self._places[term] = {}
            for assignment, found in np.ndenumerate(values):
                places.setdefault(found, []).append(assignment)
        hits = self._places[term].get(value, [])
        if hits and len(hits) == values.size:
            return self._terms.one
        return self._terms.total([(self._hit(variables, assignment), 1) for assignment in hits])

    def are_truths(self, term: Term) -> bool:
        """Whether a term is finite, and 0 or 1 for each assignment."""
        table = self.of(term)
        return table is not None and {0, 1}.issuperset(table[1].flat)

    def restricted(self, mask: Term, term: Term) -> Term:
        """mask * term, the mask multiplied into the indicators that the summands of the term already have."""
        terms = self._terms
        if term.kind is not Kind.SUM:
            return self._joint(mask, term)
        constant, weights = term.data
        parts = [(self._joint(mask, part), weight) for part, weight in weights.items()]
        return terms.total([(mask, constant), *parts])

    def _joint(self, mask: Term, part: Term) -> Term:
        if (mask, part) not in self._joints:
            self._joints[mask, part] = self._multiplied(mask, part)
        return self._joints[mask, part]

    def _multiplied(self, mask: Term, part: Term) -> Term:
        factors = part.data if part.kind is Kind.PRODUCT else {part: 1}
        finite = mask
        rest = self._terms.one
        for factor, exponent in factors.items():
            power = factor if exponent == 1 else self._terms.power(factor, Fraction(exponent))
            listed = None if self.of(power) is None else self._both(finite, power)
            finite, rest = (finite, self._terms.multiply(rest, power)) if listed is None else (listed, rest)
        return self._terms.multiply(finite, rest)

    def _both(self, one: Term, other: Term) -> Term | None:
        if (one, other) not in self._products:
            tables = [self.of(one), self.of(other)]
            few = all(tables) and _assignments([table for table in tables if table]) <= MOST_MULTIPLIED
            self._products[one, other] = self.tabulate(lambda a, b: a * b, (one, other)) if few else None
        return self._products[one, other]

    def _made(self, term: Term) -> Table | None:
        if term.kind is Kind.CONSTANT:
            return (), np.array(term.data, dtype=object)
        if term.kind is Kind.INDEX or (is_step(term) and term.total):
            return ((term,), np.array(range(_size(term)), dtype=object)) if _size(term) <= LARGEST else None
        function = _function(term)
        tables = [self._known[arg] for arg in term.args] if function else [None]
        listed = [table for table in tables if table is not None]
        return _joined(function, listed) if function and len(listed) == len(tables) else None

    def _term(self, table: Table) -> Term:
        terms = self._terms
        variables, values = table
        if len(set(values.flat)) == 1:
            return terms.constant(values.flat[0])
        parts = []
        for assignment, value in np.ndenumerate(_without_steps(variables, values)):
            if value:
                parts.append((self._hit(variables, assignment), value))
        return terms.total(parts)

    def _hit(self, variables: Sequence[Term], assignment: Sequence[int]) -> Term:
        """1 where indices have these values, times the steps that are 1 there."""
        hit = self._terms.one
        for variable, chosen in zip(variables, assignment, strict=True):
            if not is_step(variable):
                hit = self._terms.multiply(hit, self._terms.indicator(variable, chosen))
            elif chosen:
                hit = self._terms.multiply(hit, variable)
        return hit


def _function(term: Term) -> Callable[..., Any] | None:
    """The values of a term from those of its arguments; None for a term that need not be rational."""
    if term.kind is Kind.SUM:
        constant, weights = term.data
        return _added(constant, tuple(weights.values()))
    if term.kind is Kind.PRODUCT:
        exponents = tuple(term.data.values())
        return lambda *args: prod(arg**exponent for arg, exponent in zip(args, exponents, strict=True))
    if term.kind is Kind.INDICATOR:
        return _each(lambda arg: int(arg == term.data))
    if term.kind is Kind.MAXIMUM:
        return _each(max) if len(term.args) > 1 else None
    return None


def _added(constant: Number, weights: Sequence[Number]) -> Callable[..., Any]:
    """A constant and multiples of arrays, added up where they are not zero: of indicators most values are."""

    def run(*arrays: Values) -> Values:
        spread = np.broadcast_arrays(*arrays)
        made = np.full(spread[0].shape, constant, dtype=object)
        for weight, array in zip(weights, spread, strict=True):
            there = array.astype(bool)
            made[there] = made[there] + weight * array[there]
        return made

    return run


def _each(function: Callable[..., Number]) -> Callable[..., Any]:
    """A function of numbers as one of arrays, element by element: of as many as there are, unlike numpy's own."""

    def run(*arrays: Values) -> Values:
        spread = np.broadcast_arrays(*arrays)
        made = np.empty(spread[0].size, dtype=object)
        made[:] = [function(*row) for row in zip(*(array.ravel() for array in spread), strict=True)]
        return made.reshape(spread[0].shape)

    return run


def _size(variable: Term) -> int:
    """How many values a variable has."""
    return variable.data[2] if variable.kind is Kind.INDEX else 2


def _assignments(tables: Sequence[Table]) -> int:
    """How many assignments the variables of some tables have together."""
    return prod(map(_size, {variable for names, _ in tables for variable in names}))


def _without_steps(variables: Sequence[Term], values: Values) -> Values:
    """The weights of products of steps in place of the values at them: f(s) = f(0) + (f(1) - f(0)) s."""
    weights = values.copy()
    for place, variable in enumerate(variables):
        if is_step(variable):
            along = np.moveaxis(weights, place, 0)
            along[1] = along[1] - along[0]
    return weights


def _joined(function: Callable[..., Any], tables: Sequence[Table]) -> Table | None:
    """The table of a function of some finite terms, over all their indices; None above LARGEST assignments.

    function: of whole arrays, element by element.
    """
    variables = tuple(sorted({variable for names, _ in tables for variable in names}, key=lambda term: term.uid))
    if _assignments(tables) > LARGEST or sum(map(is_step, variables)) > MOST_TRUTHS:
        return None
    columns = [
        values.reshape([_size(variable) if variable in names else 1 for variable in variables])
        for names, values in tables
    ]
    return variables, np.asarray(function(*columns), dtype=object)
