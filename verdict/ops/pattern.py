"""How the sizes of a node depend on each other: what a reduction of whole plans must keep, and what it changes.

`OpRule.axes` says which dimensions are one index axis. A recorded operator says more by numbers in its attributes:
where it cuts (slice), which sizes it makes (full), which axis the integers of a tensor name an element of (gather).
Integers that name elements of an axis, and sums and differences of them, are *coordinates* along it; they shrink by
the axis's scale.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from verdict.graph import Shape
from verdict.ops.rule import Attributes, Axes, Scale


class Flow(Enum):
    """What an operator does with coordinates."""

    MOVED = "moved"
    """Its outputs hold coordinates that its inputs hold."""
    SHIFTED = "shifted"
    """It adds or subtracts them, element by element."""
    SCALED = "scaled"
    """It multiplies or divides them, element by element."""
    COMPARED = "compared"
    """It compares them, with each other or with a number; what it makes is a truth value."""
    BOUNDED = "bounded"
    """It bounds them by numbers."""
    UNKNOWN = "unknown"


def _unchanged(attrs: Attributes, scale: Scale) -> Attributes:
    return attrs


@dataclass(frozen=True, slots=True)
class Pattern:
    """The sizes of one node.

    axes: index axes; `least` is what a reduction must leave of each, its full size where it must keep all.
    ties: pairs of atoms that shrink by one scale although their sizes differ (a part and the whole).
    cuts: coordinates along atoms that stay cuts.
    along: input position -> the atom of which the integers of that input name an element.
    made: the atom of which the integers that the operator makes name an element, "" if of none.
    reduce(attrs, scale): the attributes at reduced shapes; constants that come from shapes keep their full values.
    single: atoms of which an element is treated unlike the others, and which.
    around: input position -> atoms along which that input stands around another one: of nothing but zeros, where they
    shrink.
    ends: atoms of which the first and the last element stand for what integers name beyond them.
    """

    axes: Axes
    ties: tuple[tuple[str, str], ...] = ()
    cuts: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    along: Mapping[int, str] = field(default_factory=dict)
    made: str = ""
    reduce: Callable[[Attributes, Scale], Attributes] = _unchanged
    single: Mapping[str, int] = field(default_factory=dict)
    around: Mapping[int, frozenset[str]] = field(default_factory=dict)
    ends: frozenset[str] = frozenset()


Patterns = Callable[[Sequence[Shape], Attributes], Pattern | None]
"""The pattern of a node of these input shapes and attributes; None where it must keep its own shapes."""
