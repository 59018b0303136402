"""What can go wrong while an obligation is put or decided."""


class SolverError(Exception):
    """An expression that has no meaning here. check answers Unknown with this text."""


class VacuousError(SolverError):
    """The obligation speaks of no input at all, or of fewer inputs than it claims to."""


class LimitError(SolverError):
    """A bound on terms or work was reached."""


class BudgetError(LimitError):
    """The budget of a normal form was used up. The text names the budget."""


class InternalError(Exception):
    """Two deciding methods contradict each other: a bug in verdict, never a verdict."""
