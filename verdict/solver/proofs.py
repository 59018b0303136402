"""Obligations that differ in names alone: of those without premises, one is proved for all.

The form of an obligation is all that a proof is made from: both sides, term by term, variables by where they occur
first, with what is known of each. Equal forms are the same equalities of the same functions of any numbers.
"""

from collections.abc import Sequence
from typing import Any

from verdict.options import SolverOptions
from verdict.outcome import Outcome, Proved
from verdict.solver.check import check
from verdict.solver.errors import SolverError
from verdict.solver.obligation import Obligation, elements
from verdict.solver.term import Kind, Term

Form = tuple[Any, ...]
MOST_TERMS = 4_000
"""Of so many terms at most a form is made: it is kept, and what is larger is seldom proved twice."""


class Proofs:
    """What was proved, by its form."""

    def __init__(self) -> None:
        self._known: dict[tuple[Form, SolverOptions], Proved] = {}

    def check(self, obligation: Obligation, options: SolverOptions) -> Outcome:
        """What `check` says, or said of an obligation of the same form."""
        form = form_of(obligation)
        if form is None:
            return check(obligation, options)
        outcome: Outcome = self._known.get((form, options)) or check(obligation, options)
        if isinstance(outcome, Proved):
            self._known[form, options] = outcome
        return outcome


def form_of(obligation: Obligation) -> Form | None:
    """All that its proof is made from, without names. None where that is more than some terms: premises, functions of
    which nothing is known, what has no value.
    """
    try:
        wanted = elements(obligation)
    except SolverError:
        return None
    numbers: dict[Term, int] = {}
    parts: list[Form] = []
    for root in (side for each in wanted for side in (each.single, each.parallel)):
        for term in _below(root, numbers):
            if term.kind is Kind.UNDEFINED or term in obligation.terms.unknown:
                return None
            parts.append(_part(term, numbers))
            numbers[term] = len(numbers)
        if len(parts) > MOST_TERMS:
            return None
    pairs = tuple((numbers[each.single], numbers[each.parallel]) for each in wanted)
    return None if obligation.premises else (obligation.both, pairs, *parts)


def _below(root: Term, known: dict[Term, int]) -> Sequence[Term]:
    """What a term consists of and is not known, arguments first, in the order in which they stand."""
    found: dict[Term, None] = {}
    stack = [root]
    while stack:
        term = stack[-1]
        before = [arg for arg in term.args if arg not in found and arg not in known] if term not in found else ()
        stack.extend(before)
        if not before:
            found.setdefault(stack.pop())
    return [term for term in found if term not in known]


def _part(term: Term, numbers: dict[Term, int]) -> Form:
    """A term, its arguments by number. Of a variable its name is left out."""
    args = tuple(numbers[arg] for arg in term.args)
    data: Any = term.data
    if term.kind is Kind.SUM:
        constant, weights = term.data
        data = constant, *weights.values()
    elif term.kind is Kind.PRODUCT:
        data = tuple(term.data.values())
    elif term.kind in (Kind.REAL, Kind.INDEX):
        data = term.data[1:]
    return term.kind, args, data, term.sign, term.total
