"""The solver: whether two arrays of terms are equal for all inputs. The only room that imports z3."""

from verdict.options import SolverOptions
from verdict.solver.check import check
from verdict.solver.confirm import confirm
from verdict.solver.decide import decide, put_anew
from verdict.solver.errors import InternalError, SolverError
from verdict.solver.obligation import Goal, Obligation
from verdict.solver.plain import PlainTerms
from verdict.solver.proofs import Proofs
from verdict.solver.question import question
from verdict.solver.solvers import installed
from verdict.solver.steady import constants
from verdict.solver.term import Kind, Sign, Term
from verdict.solver.terms import Terms
from verdict.solver.witness import TOLD_APART

__all__ = [
    "TOLD_APART",
    "Goal",
    "InternalError",
    "Kind",
    "Obligation",
    "PlainTerms",
    "Proofs",
    "Sign",
    "SolverError",
    "SolverOptions",
    "Term",
    "Terms",
    "check",
    "confirm",
    "constants",
    "decide",
    "installed",
    "put_anew",
    "question",
]
