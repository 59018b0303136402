"""Local equivalence checks (stages): their canonical forms, their smallest shapes and their proof obligations."""

from verdict.stage.execute import goals, obligation, on
from verdict.stage.replay import Equation, Replay, Sums, columns_of, instead_of, parts_of, replay
from verdict.stage.run import run
from verdict.stage.stage import Cut, Members, Occurrence, Stage, cut

__all__ = [
    "Cut",
    "Equation",
    "Members",
    "Occurrence",
    "Replay",
    "Stage",
    "Sums",
    "columns_of",
    "cut",
    "goals",
    "instead_of",
    "obligation",
    "on",
    "parts_of",
    "replay",
    "run",
]
