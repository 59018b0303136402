"""Declared outputs of a plan, by those of the same plan with fewer layers that stand for them."""

from collections import defaultdict
from collections.abc import Iterator, Set

from verdict.graph import ABSENT, Plan
from verdict.layers.fewer import Short
from verdict.lineage import Reference

Declared = tuple[int, int, int, int]
"""A declared output: whether it is a loss, a gradient or another one, its device, its tensor, and its weight."""


def established(short: Short, plan: Plan, right: Set[int]) -> frozenset[int]:
    """The places in `Plan.declared` of the whole plan of those that are right. right: of the shorter one."""
    places: dict[Declared, list[int]] = defaultdict(list)
    for place, held in _declared(short.plan):
        places[held].append(place)
    of = _stand_ins(short)
    found = set[int]()
    for place, (kind, device, tensor, weight) in _declared(plan):
        same = places[kind, device, of[tensor], weight if weight == ABSENT else of[weight]]
        if same and right.issuperset(same):
            found.add(place)
    return frozenset(found)


def trained(short: Short, plan: Plan, table: Reference) -> int:
    """Of how many weights the whole single-device plan computes a gradient. table: of the shorter one."""
    of = _stand_ins(short)
    held = {plan.tensors[each.weight].logical: table.values.get(of[each.tensor]) for each in plan.gradients}
    return sum(map(bool, held.values()))


def _declared(plan: Plan) -> Iterator[tuple[int, Declared]]:
    place = 0
    for kind, declared in enumerate((plan.losses, plan.gradients, plan.outputs)):
        for held in declared:
            yield place, (kind, held.device, held.tensor, held.weight)
            place += 1


def _stand_ins(short: Short) -> dict[int, int]:
    """Of each tensor of the whole plan the one of the shorter plan that it is, or that is the same of another layer."""
    stack = short.stack
    of = {full: tensor for tensor, full in enumerate(short.tensors.tolist())}
    for tensors in stack.grid.tolist():
        own = [of.get(tensor) for tensor in tensors]
        middle = next((tensor for tensor in own[1:-1] if tensor is not None), None)
        if middle is not None:
            of.update((full, middle) for full, tensor in zip(tensors[1:-1], own[1:-1], strict=True) if tensor is None)
    return of
