"""Where an interpreter of plans stands: a step of one rank, and the words for what goes wrong there."""

from typing import NamedTuple

from verdict.comparison import Fault, Faulty
from verdict.graph.lockstep import Step


class Rank(NamedTuple):
    """One plan device of one replica."""

    replica: int
    device: int


class Site(NamedTuple):
    """A step as one rank runs it."""

    rank: Rank
    step: Step

    def __str__(self) -> str:
        return f"{self.step.node.op} {self.step.node.name} on device {self.rank.device}, {self.step.when}"

    def fault(self, what: str, ours: bool = False) -> Faulty:
        """What is to be raised where it cannot be run. ours: see `Fault`."""
        return Faulty(Fault(what, str(self), ours))


def on_device(device: int, step: Step) -> Site:
    """A step that all replicas of a device run alike."""
    return Site(Rank(0, device), step)
