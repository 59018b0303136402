"""Why a plan cannot be run to its end: as data, and as the exception that carries it there."""

from typing import NamedTuple


class Fault(NamedTuple):
    """What goes wrong, and where. `ours`: this executor cannot run it, which says nothing about the plan."""

    what: str
    where: str
    ours: bool = False

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


class Faulty(Exception):
    """Raised where a run cannot go on."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(str(fault))
        self.fault = fault
