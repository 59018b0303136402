"""One stage to one outcome: shrink, execute, check. A pure function, so that any process may run it."""

from verdict.errors import ShapeError
from verdict.options import SolverOptions
from verdict.outcome import Outcome, Unknown
from verdict.solver import SolverError, check
from verdict.stage.execute import obligation
from verdict.stage.stage import Stage


def run(stage: Stage, columns: int, options: SolverOptions, exhaustive: bool = False) -> Outcome:
    """Prove or refute one stage of a parallel plan of `columns` columns."""
    try:
        question = obligation(stage, columns, exhaustive)
    except (ShapeError, SolverError) as error:
        return Unknown(f"{stage.signature.op} cannot be run at reduced shapes: {error}")
    for goal in question.goals:
        if goal.single.shape != goal.parallel.shape:
            return Unknown(f"{stage.signature.op}: {goal.name} has another shape than its partner's share")
    return check(question, options)
