"""Declared outputs of a plan, by those of the same plan with fewer layers that stand for them."""

from collections import defaultdict
from collections.abc import Iterator

from verdict.graph import ABSENT, Plan
from verdict.layers.short import FIRST, Short
from verdict.lineage import Reference

Declared = tuple[int, int, int, int]
"""A declared output: whether it is a loss, a gradient or another one, its device, its tensor, and its weight."""
MIDDLE = FIRST // 2
"""An inner layer beside which others are kept: what is declared of it stands for the same of those left out."""


def established(short: Short, plan: Plan, right: frozenset[int]) -> frozenset[int]:
    """The places in `Plan.declared` of the whole plan of those that are right. right: of the shorter one."""
    places: dict[Declared, list[int]] = defaultdict(list)
    for place, held in _declared(short.plan):
        places[held].append(place)
    stands = _StandIns(short)
    found = set[int]()
    for place, (kind, device, tensor, weight) in _declared(plan):
        same = places[kind, device, *stands.of(tensor, weight)]
        if same and right.issuperset(same):
            found.add(place)
    return frozenset(found)


def trained(short: Short, plan: Plan, table: Reference) -> int:
    """Of how many weights the whole single-device plan computes a gradient. table: of the shorter one."""
    stands = _StandIns(short)
    held = {plan.tensors[g.weight].logical: table.values.get(stands.of(g.tensor, g.weight)[0]) for g in plan.gradients}
    return sum(map(bool, held.values()))


def _declared(plan: Plan) -> Iterator[tuple[int, Declared]]:
    place = 0
    for kind, declared in enumerate((plan.losses, plan.gradients, plan.outputs)):
        for held in declared:
            yield place, (kind, held.device, held.tensor, held.weight)
            place += 1


class _StandIns:
    """The tensors of the shorter plan that stand for those of the whole one."""

    def __init__(self, short: Short) -> None:
        self.stack = short.stack
        self.numbers = {full: tensor for tensor, full in enumerate(short.tensors.tolist())}

    def of(self, tensor: int, weight: int) -> tuple[int, int]:
        """A declared tensor and its weight: themselves, or the same of a layer that is kept."""
        layer, last = int(self.stack.layer[tensor]), self.stack.layers - 1
        moved = MIDDLE - layer if 0 < layer < last else 0
        return self._moved(tensor, moved), self._moved(weight, moved)

    def _moved(self, tensor: int, by: int) -> int:
        if tensor == ABSENT:
            return ABSENT
        layer = int(self.stack.layer[tensor])
        if layer >= 0 and by:
            tensor = int(self.stack.grid[self.stack.row[tensor], layer + by])
        return self.numbers[tensor]
