"""Counts that are kept from zero by a bound, where the single side divides by them and nothing is claimed of zero.

max(n, c) = n for an integer n >= 0 that is not zero, and 0 < c <= 1
"""

from collections.abc import Sequence
from dataclasses import replace

from verdict.solver.domains import not_zero
from verdict.solver.normal import NormalForms
from verdict.solver.obligation import Element
from verdict.solver.premises import substitute
from verdict.solver.ring import Ring
from verdict.solver.term import Kind, Term


def without_bounds(wanted: Sequence[Element], limit: int) -> tuple[Element, ...]:
    """The equalities with such counts as they are. limit: the most terms that a polynomial may have.

    Where the single side has a value both are one, so that the same is claimed there; where it has none, nothing is.
    """
    if not wanted:
        return ()
    terms = wanted[0].single.terms
    every = terms.below([element.parallel for element in wanted])
    bounded = {term: count for term in every if (count := _counted(term)) is not None}
    if not bounded:
        return tuple(wanted)
    forms = NormalForms(Ring(limit))
    return tuple(_unbounded(element, bounded, forms) for element in wanted)


def _unbounded(element: Element, bounded: dict[Term, Term], forms: NormalForms) -> Element:
    terms = element.single.terms
    here = {term: bounded[term] for term in terms.below([element.parallel]) if term in bounded}
    sure = not_zero(element.single, dict.fromkeys(here.values()), forms) if here else ()
    values = {term: count for term, count in here.items() if count in sure}
    if not values:
        return element
    done = substitute(terms, [element.single, element.parallel], values)
    return replace(element, single=done[element.single], parallel=done[element.parallel])


def _counted(term: Term) -> Term | None:
    """The count of which a term is the greater of it and a bound; None of any other term."""
    if term.kind is not Kind.MAXIMUM or len(term.args) != 2:
        return None
    bound, count = sorted(term.args, key=lambda arg: arg.kind is not Kind.CONSTANT)
    if bound.kind is not Kind.CONSTANT or not 0 < bound.data <= 1:
        return None
    found = term.terms.range_of(count)
    return count if found.whole and found.low is not None and found.low >= 0 else None
