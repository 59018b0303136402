"""Whether what a node makes is additive in some of its inputs, as the form of its terms shows.

Each is a sum of products of which one factor, once, is a symbol of these inputs. Nothing is multiplied out.
"""

from verdict.lineage import LinearLaw, mean
from verdict.solver import Kind, Term, Terms
from verdict.stage.bounds import cuts_of
from verdict.stage.execute import Side
from verdict.stage.shrink import Sizes, shrink

Degree = int | None
"""Of a term in some symbols: 0 where none is below it, 1 where it is additive in them, else None."""


def additive(law: LinearLaw, columns: int, kept: int, sizes: Sizes) -> int:
    """How many elements a node makes at reduced shapes, if the form of all of them shows the law; else 0.

    columns: of the batch; kept: how many of them. Raises ShapeError or SolverError where it cannot be run on symbols.
    """
    meaning = mean(law.signature, columns)
    side = Side(meaning, shrink(meaning, cuts_of(meaning, [], []), kept, sizes), Terms())
    if any(first != k and not {first, k}.isdisjoint(law.positions) for k, first in enumerate(law.signature.alias)):
        return 0
    symbols = {x for position in law.positions for x in side.inputs[position].flat if isinstance(x, Term)}
    known: dict[Term, Degree] = {}
    made = [x for array in side.apply(side.inputs, side.attrs) if array is not None for x in array.flat]
    alike = all(_degree(x, symbols, known) == 1 if isinstance(x, Term) else x == 0 for x in made)
    return len(made) if alike else 0


def _degree(term: Term, symbols: set[Term], known: dict[Term, Degree]) -> Degree:
    if term not in known:
        known[term] = 1 if term in symbols else _of(term, [_degree(arg, symbols, known) for arg in term.args])
    return known[term]


def _of(term: Term, args: list[Degree]) -> Degree:
    """The degree of a term that is no symbol, from those of its arguments."""
    if not any(args) and None not in args:
        return 1 if term.kind is Kind.CONSTANT and term.constant == 0 else 0
    if term.kind is Kind.SUM:
        return 1 if set(args) == {1} and term.data[0] == 0 else None
    if term.kind is Kind.PRODUCT and None not in args and sum(degree or 0 for degree in args) == 1:
        (factor,) = (arg for arg, degree in zip(term.args, args, strict=True) if degree)
        return 1 if term.data[factor] == 1 else None
    return None
