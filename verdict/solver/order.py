"""What is greatest in a row, as comparisons: of equal elements the first one is, as PyTorch has it of max and argmax.

[element k is the greatest] = product over j < k of [x_k > x_j] times product over j > k of (1 - [x_j > x_k])
"""

from collections.abc import Sequence
from dataclasses import replace

from verdict.solver.functions import ranked
from verdict.solver.obligation import Element
from verdict.solver.premises import rebuild
from verdict.solver.term import Kind, Term

GREATEST = "greatest"
MOST_ROW = 4
"""The most elements of a row that are compared with each other; of more, Z3 takes too long for what it seldom finds."""


def compared(wanted: Sequence[Element]) -> tuple[Element, ...]:
    """Some equalities with comparisons in the place of what says which element is the greatest of a row."""
    if not wanted:
        return ()
    terms = wanted[0].single.terms
    sides = [side for element in wanted for side in (element.single, element.parallel)]
    found = {term: made for term in terms.beneath(sides) if (made := _compared(term)) is not None}
    if not found:
        return tuple(wanted)
    done = rebuild(terms, sides, found)
    return tuple(replace(e, single=done[e.single], parallel=done[e.parallel]) for e in wanted)


def _compared(term: Term) -> Term | None:
    if term.kind is not Kind.OPAQUE or not term.total or len(term.args) > MOST_ROW + 2:
        return None
    name, slot = str(term.data), term.args[-2].constant if len(term.args) > 2 else None
    if name.partition(" at ")[0] != GREATEST or slot != 0:
        return None
    parts = ranked(name, term.args)
    if parts is None:
        return None
    element, before, behind, _ = parts
    terms = term.terms
    made = terms.one
    for other in before:
        made = terms.multiply(made, terms.opaque("step", (terms.add(element, other, -1),)))
    for other in behind:
        above = terms.opaque("step", (terms.add(other, element, -1),))
        made = terms.multiply(made, terms.add(terms.one, above, -1))
    return made
