"""What guesses rest on: what the two plans say of each other before anything is walked, found once for all walks."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache

from verdict.graph import Node, Plan
from verdict.lineage.alike import alike_bases
from verdict.lineage.counterparts import Alike, counterparts
from verdict.lineage.infinite import infinite_bases
from verdict.lineage.reference import Bases, Reference

Form = tuple[str, str, tuple[str, ...]]
"""What guesses of equal layers have in common: the operator and the name of what makes a tensor, and the names of the
values that it is guessed to hold, without the numbers in them.
"""

_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Grounds:
    """counterparts: of each node of each device the single-device nodes that it may be. by_read: single-device nodes by
    operator, and what they read at a position. infinite, alike: values that may be infinite, or have equal regions.
    makers: of each tensor the node that makes it.
    """

    table: Reference
    counterparts: Mapping[tuple[int, tuple[int, ...]], Alike]
    by_read: Mapping[tuple[str, int, Bases], Sequence[int]]
    infinite: Set[int]
    alike: frozenset[int]
    makers: Mapping[int, Node]

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
    return Grounds(table, own, dict(by_read), infinite_bases(table), alike_bases(table), makers)


@cache
def _without_numbers(name: str) -> str:
    return _NUMBER.sub("#", name)
