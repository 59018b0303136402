"""Who watches a run: told of each phase as it begins, with what it is given, and of how far it has come."""

from enum import StrEnum
from typing import Protocol


class Phase(StrEnum):
    """What a run does."""

    LOAD = "load"
    CHECK = "check"
    LINEAGE = "lineage"
    STAGE = "stage"
    PROVE = "prove"
    CERTIFY = "certify"
    SWEEP = "sweep"
    REPAIR = "repair"
    REPORT = "report"


class Observer(Protocol):
    """Watches a run, and changes nothing."""

    def begin(self, phase: Phase, given: object = None) -> None:
        """A phase begins. given: what the phase before it made."""

    def advance(self, phase: Phase, done: int, total: int, counted: str) -> None:
        """So many are done of what is counted in a phase, as "stages"; the first time with 0 or 1."""


class Silent:
    """An observer that does nothing."""

    def begin(self, phase: Phase, given: object = None) -> None:
        """Nothing."""

    def advance(self, phase: Phase, done: int, total: int, counted: str) -> None:
        """Nothing."""


SILENT = Silent()
