"""What was decided by our own methods, put to the solvers anew as plainly written arithmetic.

Nothing of the terms, normal forms and points that decided the obligation is used here. A solver that says `unsat`
agrees with a proof. One that proposes inputs is believed only where the plain arithmetic, evaluated there exactly,
differs; then our proof was wrong, and that is a bug of ours, never a verdict.
"""

from collections.abc import Sequence
from dataclasses import replace

from verdict.options import SolverOptions
from verdict.outcome import Answer, Proved, Refuted
from verdict.solver.errors import InternalError, SolverError
from verdict.solver.obligation import Goal
from verdict.solver.plain_values import differs
from verdict.solver.question import Question, question
from verdict.solver.solvers import SAT, UNKNOWN, UNSAT, says

MOST_ASKED = 1_000
"""How many operations are asked at once, where one element has no more: of more, a solver often says nothing at all."""


def confirm(goals: Sequence[Goal], outcome: Proved | Refuted, options: SolverOptions) -> tuple[Answer, ...]:
    """What each solver of `options` says of the goals, which are of plain terms.

    Raises InternalError where one of them shows the contrary of the outcome.
    """
    try:
        asked = question(goals, MOST_ASKED) or question(goals)
    except SolverError:
        asked = None
    if asked is None:
        return tuple(Answer(solver, "", 0, sum(goal.single.size for goal in goals)) for solver in options.solvers)
    limited = replace(options, z3_timeout=options.confirm_timeout)
    return tuple(_answer(solver, asked, outcome, limited) for solver in options.solvers)


def _answer(solver: str, asked: Question, outcome: Proved | Refuted, options: SolverOptions) -> Answer:
    said = says(solver, asked.text, options, tuple(asked.variables))
    values = {asked.variables[symbol]: value for symbol, value in said.values.items()}
    whole = len(asked.pairs) == asked.total
    if isinstance(outcome, Proved) and said.answer == SAT and differs(asked.pairs, values):
        raise InternalError(f"proved, and {solver} shows inputs at which the sides differ: {values}")
    if isinstance(outcome, Refuted) and said.answer == UNSAT and whole:
        raise InternalError(f"refuted at {outcome.witness}, and {solver} says that the sides never differ")
    answer = UNKNOWN if isinstance(outcome, Proved) and said.answer == SAT else said.answer
    return Answer(solver, answer, len(asked.pairs), asked.total)
