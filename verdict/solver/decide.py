"""One claim to one outcome, whoever makes it: a stage of the walk, or a cone of the sweep.

The claim is an obligation: terms of both sides that must be equal. It is decided by their form, their normal form,
cleared denominators, points and Z3 (`check`), and what was decided is put to the solvers anew as plain arithmetic
(`confirm`).
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from verdict.options import SolverOptions
from verdict.outcome import Answer, Outcome, Proved, Unknown
from verdict.solver.check import check
from verdict.solver.confirm import confirm
from verdict.solver.errors import SolverError
from verdict.solver.obligation import Goal, Obligation
from verdict.solver.proofs import Proofs


def decide(
    claim: Obligation,
    plainly: Callable[[], Sequence[Goal]],
    options: SolverOptions,
    besides: Callable[[Proved], Outcome] = lambda proved: proved,
    known: Proofs | None = None,
) -> Outcome:
    """Whether a claim holds for all values of its variables.

    plainly: makes its goals once more, of plain terms, or raises SolverError where it cannot: then nobody is asked.
    besides: what is found of a proof in other ways, before it is confirmed. known: what was proved before. Where there
    are two solvers, a refutation is confirmed, too. Raises InternalError where one of them shows the contrary of the
    outcome.
    """
    outcome = check(claim, options, known)
    if isinstance(outcome, Proved):
        outcome = besides(outcome)
    return put_anew(outcome, plainly, options, sum(goal.single.size for goal in claim.goals))


def put_anew(outcome: Outcome, plainly: Callable[[], Sequence[Goal]], options: SolverOptions, elements: int) -> Outcome:
    """An outcome with what the solvers say of it. elements: how many equalities it is about; plainly: see `decide`."""
    if isinstance(outcome, Unknown) or not options.z3:
        return outcome
    if not isinstance(outcome, Proved) and len(options.solvers) < 2:
        return outcome
    try:
        answers = confirm(plainly(), outcome, options)
    except SolverError:
        answers = tuple(Answer(solver, "", 0, elements) for solver in options.solvers)
    return replace(outcome, answers=answers) if isinstance(outcome, Proved) else outcome
