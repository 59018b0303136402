"""Two plans run on the same numbers: the words in which every engine of `verdict run` answers."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from verdict.graph import Plan, Shape

AGREE, DIFFER, FAULT, CANNOT = "agree", "differ", "fault", "cannot"
"""The plans agree; some value differs; the parallel plan cannot be run to its end; we cannot tell."""


class Fault(NamedTuple):
    """What goes wrong, and where. `ours`: the engine cannot run it, which says nothing about the plan."""

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


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison. size: the greatest element of the single-device array; error: of the difference."""

    what: str
    where: str
    size: float
    error: float
    agrees: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """The outcome of one seed. shapes: full and run shapes of the single plan's weights and inputs, by name."""

    outcome: str
    rows: tuple[Row, ...]
    faults: tuple[Fault, ...]
    shapes: tuple[tuple[str, Shape, Shape], ...] = ()

    @property
    def differing(self) -> tuple[Row, ...]:
        """The rows that do not agree."""
        return tuple(row for row in self.rows if not row.agrees)


class Held(NamedTuple):
    """What a rank holds of a declared output. numbers: the elements of a loss. norm: the root of the squares' sum."""

    what: str
    where: str
    numbers: tuple[float, ...]
    norm: float
    shape: Shape


class Engine(NamedTuple):
    """A way of running plans on random numbers.

    compare(single, parallel, seed, most_work): both on the same values; whatever fails is in the result.
    alone(plan, seed, most_work): what one plan declares. Raises Faulty.
    full_work: how many elements may be read and written before plans are run at smaller shapes.
    """

    compare: Callable[[Plan, Plan, int, int], Comparison]
    alone: Callable[[Plan, int, int], tuple[Held, ...]]
    full_work: int
