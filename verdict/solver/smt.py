"""Questions to Z3: the only file that imports it. Each question has a context of its own, so none knows another.

`unsat` proves. `sat` only proposes inputs: exponentials and opaque functions are loose in the encoding, and a
model may be one of functions that do not exist, so that whoever asks replays it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import z3

from verdict.options import SolverOptions
from verdict.solver.domains import Condition
from verdict.solver.obligation import Element, Point
from verdict.solver.sampling import variables
from verdict.solver.smtlib import Script, differ, name, value_symbol, violates
from verdict.solver.term import Kind, Sign, Term

NODE_LIMIT = 5_000
_BATCHES = 4
_STEPS_PER_SECOND = 300_000
"""Z3's resource units. They end a question at the same place in every run; seconds are only a last resort."""


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
    return _solve(order, differ((e.single, e.parallel) for e in elements), options)


def ask_condition(condition: Condition, elements: Sequence[Element], options: SolverOptions) -> Answer:
    """Whether a condition of the parallel side can fail where the single side is defined.

    What the condition's own argument needs is taken to hold: those are conditions in their own right.
    """
    terms = condition.argument.terms
    order = terms.below([*(element.single for element in elements), condition.argument])
    if len(order) > NODE_LIMIT:
        return Answer(False)
    return _solve(order, violates(condition), options)


def _solve(order: Sequence[Term], claim: str, options: SolverOptions) -> Answer:
    context = z3.Context()
    solver = z3.Solver(ctx=context)
    solver.set("random_seed", options.seed)
    solver.set("rlimit", int(options.z3_timeout * _STEPS_PER_SECOND))
    solver.set("timeout", int(options.z3_timeout * 2000))
    solver.from_string("\n".join([*Script(order).lines, f"(assert {claim})"]))
    result = solver.check()
    if result == z3.unsat:
        return Answer(True)
    return Answer(False, _point(solver.model(), order, context) if result == z3.sat else None)


def _size(elements: Sequence[Element]) -> int:
    terms = elements[0].single.terms
    return len(terms.below([side for e in elements for side in (e.single, e.parallel)]))


def _point(model: Any, order: Sequence[Term], context: z3.Context) -> Point:
    point = {}
    for term in variables(order):
        if term.kind is Kind.INDEX:
            held = [
                value
                for value in range(term.data[2])
                if z3.is_true(model.eval(z3.Bool(value_symbol(term, value), context), model_completion=True))
            ]
            point[term] = Fraction(held[0] if held else 0)
        else:
            value = _fraction(model.eval(z3.Real(name(term), context), model_completion=True))
            point[term] = Fraction(1) if term.sign is Sign.POSITIVE and value <= 0 else value
    return point


def _fraction(value: Any) -> Fraction:
    rational = value.approx(20) if z3.is_algebraic_value(value) else value
    return Fraction(rational.numerator_as_long(), rational.denominator_as_long())
