"""What guesses rest on: what two plans say of each other, found once for all walks, and what earlier walks taught."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache

from verdict.graph import Node, Plan
from verdict.graph.names import alike
from verdict.lineage.alike import alike_bases, picked_bases
from verdict.lineage.counterparts import Alike, counterparts
from verdict.lineage.infinite import infinite_bases
from verdict.lineage.meaning import Signature
from verdict.lineage.reference import Bases, Reference
from verdict.lineage.values import Times, Value

_without_numbers = cache(alike)
CutPoint = tuple[int, int]
"""A device and a tensor of which it is guessed what it holds there."""
Guess = tuple[int, int, Bases]
"""That a device's tensor is a share of a sum of single-device values."""
Form = tuple[str, str, tuple[str, ...]]
"""What guesses of equal layers have in common: the operator and the name of what makes a tensor, and the names of the
values that it is guessed to hold, without the numbers in them.
"""


@dataclass(frozen=True, slots=True)
class Learned:
    """What is known of earlier walks. guesses: those that are wrong, or have no proof. forms: of such guesses, where no
    guess of the form has a proof. closed: nodes that are not followed. factors: by which number times a sum a tensor is
    guessed to be a share, if not once. others: tensors that are no shares of values, which is known from the beginning.
    """

    guesses: Set[Guess] = frozenset()
    forms: Set[Form] = frozenset()
    closed: Set[Signature] = frozenset()
    factors: Mapping[Guess, Fraction] = field(default_factory=dict)
    others: Set[CutPoint] = frozenset()


NOTHING = Learned()
"""Before the first walk."""


@dataclass(frozen=True, slots=True)
class Grounds:
    """counterparts: of each node of each device the single-device nodes that it may be. by_read: single-device nodes by
    operator, and what they read at a position. infinite, alike: values that may be infinite, or have equal regions.
    picked: values that are picked from what depends on nothing. makers: of each tensor the node that makes it. times:
    how often a device's tensor seems to be a sum of shares, None where it is no multiple of it; where that is known.
    """

    table: Reference
    counterparts: Mapping[tuple[int, tuple[int, ...]], Alike]
    by_read: Mapping[tuple[str, int, Bases], Sequence[int]]
    infinite: Set[int]
    alike: frozenset[int]
    picked: frozenset[int]
    makers: Mapping[int, Node]
    times: Callable[[int, int, Value], Times | None] | None = None

    def form(self, tensor: int, due: Bases) -> Form:
        """The form of the guess that a tensor is a share of a sum of these values."""
        maker = self.makers.get(tensor)
        op, name = (maker.op, maker.name) if maker is not None else ("", "")
        return op, _without_numbers(name), tuple(_without_numbers(self.table.bases[base].name) for base in due)


def grounds_of(table: Reference, plan: Plan) -> Grounds:
    """What a pair of plans says of each other."""
    by_read: dict[tuple[str, int, Bases], list[int]] = defaultdict(list)
    for index, partner in enumerate(table.partners):
        for position, bases in enumerate(partner.inputs):
            by_read[partner.node.op, position, bases].append(index)
    makers = {tensor: node for segment in plan.segments for node in segment.nodes for tensor in node.outputs}
    own = counterparts(table.plan, plan)
    found = infinite_bases(table), alike_bases(table), picked_bases(table)
    return Grounds(table, own, dict(by_read), *found, makers)
