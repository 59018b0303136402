"""What is proved at once: stages, their canonical forms, their smallest shapes and their obligations."""

from verdict.stage.execute import obligation
from verdict.stage.run import run
from verdict.stage.stage import Cut, Members, Occurrence, Stage, cut

__all__ = ["Cut", "Members", "Occurrence", "Stage", "cut", "obligation", "run"]
