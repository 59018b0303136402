"""A pair of plans with fewer layers, where those of each plan are equal, and equal layers stand for each other.

A layer reads what it and those beside it make, and what is no layer's. So what is proved of inner layers is so of any
number of them, where it is the same from layer to layer (`carried.py`).
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from verdict.errors import PlanMismatchError
from verdict.graph import ABSENT, GIVEN, Plan
from verdict.graph.microbatches import walked_microbatches
from verdict.layers.apart import is_apart
from verdict.layers.flows import Flow, flows_of
from verdict.layers.meetings import meet_alike
from verdict.layers.short import KEPT, Short, shortened
from verdict.layers.stack import ENDS, Stack, is_inner, layers_in, stack_of
from verdict.lineage import Binding, bind
from verdict.lineage.updates import hinted, key_of
from verdict.ops import FACTS


class Fewer(NamedTuple):
    """Both plans with fewer layers, and how many they have whole."""

    single: Short
    parallel: Short
    layers: int


def fewer_layers(single: Plan, parallel: Plan, binding: Binding) -> Fewer | None:
    """Both plans with few of their layers; None where it is not known that these are equal and stand for each other."""
    if any(map(_is_unlike, (single, parallel))) or len(single.programs) != 1:
        return None
    alone = _stacked(single, {})
    if alone is None:
        return None
    own, found = alone
    of = _layers_of(single, found)
    stands = {share: of[logical] for share, logical in binding.logical.items() if logical in of}
    several = _stacked(parallel, stands, found.numbers) if layers_in(parallel) >= found.layers - ENDS else None
    if several is not None and several[1].numbers != found.numbers:
        alone = _stacked(single, {}, several[1].numbers)
    if several is None or alone is None:
        return None
    (own, found), (flows, stack) = alone, several
    if stack.numbers != found.numbers or stack.layers <= KEPT:
        return None
    if not _stand_for(parallel, stack, single, found, binding):
        return None
    if not _called_alike(parallel, stack, single, found, binding):
        return None
    fewer = Fewer(shortened(single, own, found), shortened(parallel, flows, stack), stack.layers)
    return fewer if _bound_alike(fewer, binding) else None


def _bound_alike(fewer: Fewer, binding: Binding) -> bool:
    """Whether the same is bound in the plans with fewer layers: a name that several layers have says more there."""
    single, parallel = fewer.single, fewer.parallel
    try:
        found = bind(single.plan, parallel.plan)
    except PlanMismatchError:
        return False
    whole = {parallel.logicals[share]: single.logicals[logical] for share, logical in found.logical.items()}
    batch = {single.logicals[logical]: axis for logical, axis in found.batch.items()}
    kept = set(parallel.logicals)
    left = {share: logical for share, logical in binding.logical.items() if share in kept}
    return whole == left and batch == {logical: binding.batch[logical] for logical in batch}


def _is_unlike(plan: Plan) -> bool:
    """Whether a plan has what is not looked at here: random numbers, memory that is shared, parts of a plan."""
    ops = {node.op for segment in plan.segments for node in segment.nodes}
    return bool(plan.storages or plan.effects or plan.granted or plan.faults) or any(map(FACTS.random, ops))


def _stacked(
    plan: Plan, known: Mapping[int, int], among: range | None = None
) -> tuple[list[Flow], Stack] | None:
    """The flows and the stack of a plan, whose layers are apart. known, among: as `stack_of` takes them."""
    (microbatch,) = walked_microbatches(plan, every=False)
    flows = flows_of(plan, microbatch)
    stack = stack_of(plan, flows, known, among) if flows else None
    if not flows or stack is None or not (is_apart(plan, flows, stack) and meet_alike(flows, stack)):
        return None
    return flows, stack


def _layers_of(plan: Plan, stack: Stack) -> dict[int, int]:
    """The layers of logical tensors that are given."""
    return {plan.tensors[t].logical: k for tensors in stack.grid for k, t in enumerate(tensors.tolist())}


def _stand_for(parallel: Plan, stack: Stack, single: Plan, alone: Stack, binding: Binding) -> bool:
    """Whether what is given to a layer stands for the same of that layer of the single-device plan, whichever it is;
    what is given to none stands for nothing of a layer.
    """
    of = {single.tensors[t].logical: (row, k) for row, own in enumerate(alone.grid) for k, t in enumerate(own.tolist())}
    taken: set[int] = set()
    given = stack.grid[[parallel.kinds[tensor] in GIVEN for tensor in stack.grid[:, 0].tolist()]]
    for tensors in given.tolist():
        shares = [parallel.tensors[tensor].logical for tensor in tensors]
        places = [of.get(binding.logical[share]) for share in shares if share in binding.logical]
        if places and (places[0] is None or places != [(places[0][0], k) for k in range(stack.layers)]):
            return False
        taken.update(shares)
    return all(logical not in of for share, logical in binding.logical.items() if share not in taken)


def _called_alike(parallel: Plan, stack: Stack, single: Plan, alone: Stack, binding: Binding) -> bool:
    """Whether outputs of no weight, which are known by what they are called, stand for the same of each layer."""
    hints = hinted(single)
    of = {single.tensors[held.tensor].logical: held.tensor for held in single.outputs if held.weight == ABSENT}
    rows: dict[int, int] = {}
    for held in parallel.outputs:
        if held.weight != ABSENT:
            continue
        key, layer = key_of(parallel, binding, hints, held), int(stack.layer[held.tensor])
        due = ABSENT if key is None else of[key[1]]
        if not is_inner(np.array([layer, alone.layer[due]]), stack.layers).any():
            continue
        row = int(alone.row[due])
        if layer != alone.layer[due] or rows.setdefault(int(stack.row[held.tensor]), row) != row:
            return False
    return True
