"""Equalities that differ in names alone: of those without premises, one is proved for all.

The form of an equality is all that a proof is made from: both sides, term by term, variables by where they occur first,
with what is known of each. Equal forms are the same equality of the same functions of any numbers.
"""

from collections.abc import Sequence
from typing import Any

from verdict.options import SolverOptions
from verdict.solver.obligation import Element, Obligation
from verdict.solver.term import Kind, Term

Form = tuple[Any, ...]
MOST_TERMS = 4_000
"""Of so many terms at most a form is kept when its obligation is decided: what is larger is seldom proved twice."""
MOST_AGAIN = 8
"""How often the terms of an obligation are looked at for the forms of its equalities, in the mean: what they have in
common is looked at for each of them, and decided once for all of them.
"""


class Proofs:
    """The forms that were proved, each with the name of the method that proved it."""

    def __init__(self) -> None:
        self._known: dict[tuple[Form, SolverOptions], str] = {}

    def method(self, form: Form, options: SolverOptions) -> str | None:
        """How a form was proved, where it was."""
        return self._known.get((form, options))

    def note(self, form: Form, options: SolverOptions, method: str) -> None:
        """Keep what was proved, but for what is too large."""
        if len(form) <= MOST_TERMS:
            self._known[form, options] = method


def forms_of(obligation: Obligation, wanted: Sequence[Element]) -> dict[Element, Form]:
    """For each equality all that its proof is made from, without names. Left out are those of which that is more than
    some terms (premises, functions of which nothing is known, what has no value), those that nothing need be proved of:
    one term without conditions on both sides, and all from the first on that takes too much of what all have.
    """
    if obligation.premises:
        return {}
    asked = [e for e in wanted if e.single is not e.parallel or not e.single.total]
    every = obligation.terms.below([side for e in asked for side in (e.single, e.parallel)])
    most = MOST_AGAIN * len(every) // max(len(asked), 1)
    found: dict[Element, Form] = {}
    for element in asked:
        numbers: dict[Term, int] = {}
        for side in (element.single, element.parallel):
            _number(side, numbers)
        if len(numbers) > most:
            break
        if not any(term.kind is Kind.UNDEFINED or term in obligation.terms.unknown for term in numbers):
            parts = (_part(term, numbers) for term in numbers)
            found[element] = (obligation.both, numbers[element.single], numbers[element.parallel], *parts)
    return found


def _number(root: Term, numbers: dict[Term, int]) -> None:
    """Number what a term consists of, arguments first, in the order in which they stand."""
    stack = [root]
    while stack:
        term = stack[-1]
        before = [arg for arg in term.args if arg not in numbers] if term not in numbers else []
        if before:
            stack.extend(before)
        else:
            numbers.setdefault(stack.pop(), len(numbers))


def _part(term: Term, numbers: dict[Term, int]) -> Form:
    """A term, its arguments by number. Of a variable its name is left out. Rational coefficients are two whole numbers,
    whose hashes take no time.
    """
    args = tuple(numbers[arg] for arg in term.args)
    data: Any = term.data
    if term.kind is Kind.SUM:
        constant, weights = term.data
        data = tuple(part for value in (constant, *weights.values()) for part in value.as_integer_ratio())
    elif term.kind is Kind.PRODUCT:
        data = tuple(term.data.values())
    elif term.kind in (Kind.REAL, Kind.INDEX):
        data = term.data[1:]
    return term.kind, args, data, term.sign, term.total
