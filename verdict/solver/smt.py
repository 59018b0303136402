"""Questions to Z3, or to the solver that stands first in the options.

`unsat` proves. `sat` only proposes inputs: exponentials and opaque functions are loose in the encoding, and a
model may be one of functions that do not exist, so that whoever asks replays it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from verdict.options import SolverOptions
from verdict.solver.domains import Condition
from verdict.solver.obligation import Element, Point
from verdict.solver.smtlib import Script
from verdict.solver.solvers import SAT, UNSAT, Said, says
from verdict.solver.term import Kind, Sign, Term, span_of

NODE_LIMIT = 5_000
"""The most terms of one question; an element or a condition of more is not asked about, and stays undecided."""
_BATCHES = 4
"""The most questions that confirm one proof; where it would take more, the proof counts as not confirmed."""


@dataclass(frozen=True, eq=False, slots=True)
class Answer:
    """What Z3 said: `proved`, or inputs at which an element might differ, or neither."""

    proved: bool
    proposal: Point | None = None


def batches(elements: Sequence[Element]) -> list[list[Element]] | None:
    """The elements in questions of bounded size; None where there would be too many or one is too large."""
    if not elements or _size(elements) <= NODE_LIMIT:
        return [list(elements)] if elements else []
    result: list[list[Element]] = [[]]
    for element in elements:
        if result[-1] and _size([*result[-1], element]) > NODE_LIMIT:
            result.append([])
        result[-1].append(element)
        if len(result) > _BATCHES or _size(result[-1]) > NODE_LIMIT:
            return None
    return result


def ask(elements: Sequence[Element], options: SolverOptions) -> Answer:
    """Whether some of `elements` can differ."""
    terms = elements[0].single.terms
    order = terms.below([side for e in elements for side in (e.single, e.parallel)])
    return _solve(order, lambda script: script.differ((e.single, e.parallel) for e in elements), options)


def ask_condition(condition: Condition, element: Element, options: SolverOptions) -> Answer:
    """Whether a condition of the parallel side of an element can fail where its single side is defined.

    What the condition's own argument needs is taken to hold: those are conditions in their own right.
    """
    terms = condition.argument.terms
    order = terms.below([element.single, condition.argument])
    if len(order) > NODE_LIMIT:
        return Answer(False)
    return _solve(order, lambda script: script.violates(condition), options)


def _solve(order: Sequence[Term], claim: Callable[[Script], str], options: SolverOptions) -> Answer:
    script = Script(order)
    text = "\n".join(["(set-logic QF_UFNRA)", *script.lines, f"(assert {claim(script)})"])
    free = [term for term in order if term.kind in (Kind.REAL, Kind.INDEX)]
    reals = tuple(script.name(term) for term in free if term.kind is not Kind.INDEX)
    truths = tuple(script.value(term, k) for term in free if term.kind is Kind.INDEX for k in range(term.data[2]))
    said = says(options.solvers[0], text, options, reals, truths)
    return Answer(said.answer == UNSAT, _point(said, free, script) if said.answer == SAT else None)


def _size(elements: Sequence[Element]) -> int:
    terms = elements[0].single.terms
    return len(terms.below([side for e in elements for side in (e.single, e.parallel)]))


def _point(said: Said, free: Sequence[Term], script: Script) -> Point | None:
    """The proposed values of all variables; None where an integer is none."""
    point = {}
    for term in free:
        if term.kind is Kind.INDEX:
            held = [value for value in range(term.data[2]) if said.values.get(script.value(term, value))]
            point[term] = Fraction(held[0] if held else 0)
        else:
            value = Fraction(said.values.get(script.name(term), 0))
            span = span_of(term)
            if span is not None and not span.holds(value):
                return None
            point[term] = Fraction(1) if term.sign is Sign.POSITIVE and value <= 0 else value
    return point
