"""A pair of plans with fewer layers, where those of each plan are equal, and equal layers stand for each other.

What is asked of both plans, at the end (`carried.py`), is that what was proved of inner layers is the same from layer to
layer. Then it is so of any number of them: a layer reads what it and those beside it make, and what is no layer's.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from verdict.graph import ABSENT, Node, Plan
from verdict.graph.lockstep import COLLECTIVES, COMMUNICATION, RECV, SEND, attribute
from verdict.graph.microbatches import walked_microbatches
from verdict.layers.flows import Flow, Numbers, flows_of
from verdict.layers.short import KEPT, Short, shortened
from verdict.layers.stack import OUTSIDE, Stack, stack_of
from verdict.lineage import Binding, bind
from verdict.lineage.updates import hinted, key_of
from verdict.ops import FACTS

class Fewer(NamedTuple):
    """Both plans with fewer layers, and how many they have whole."""

    single: Short
    parallel: Short
    layers: int


def fewer_layers(single: Plan, parallel: Plan, binding: Binding) -> Fewer | None:
    """Both plans with few of their layers; None where it is not known that layers are equal, and stand for each other."""
    if any(map(_is_unlike, (single, parallel))) or len(single.programs) != 1:
        return None
    alone = _stacked(single, {})
    if alone is None:
        return None
    own, found = alone
    of = _layers_of(single, found)
    stands = {share: of[logical] for share, logical in binding.logical.items() if logical in of}
    several = _stacked(parallel, stands)
    if several is None:
        return None
    flows, stack = several
    if stack.layers != found.layers or stack.layers <= KEPT or not _stand_for(parallel, stack, single, found, binding):
        return None
    if not _called_alike(parallel, stack, single, found, binding):
        return None
    fewer = Fewer(shortened(single, own, found), shortened(parallel, flows, stack), stack.layers)
    return fewer if _bound_alike(fewer, binding) else None


def _bound_alike(fewer: Fewer, binding: Binding) -> bool:
    """Whether the same is bound in the plans with fewer layers."""
    single, parallel = fewer.single, fewer.parallel
    found = bind(single.plan, parallel.plan)
    whole = {parallel.logicals[share]: single.logicals[logical] for share, logical in found.logical.items()}
    batch = {single.logicals[logical]: axis for logical, axis in found.batch.items()}
    kept = set(parallel.logicals)
    left = {share: logical for share, logical in binding.logical.items() if share in kept}
    return whole == left and batch == {logical: binding.batch[logical] for logical in batch}


def _is_unlike(plan: Plan) -> bool:
    """Whether a plan has what is not looked at here: random numbers, memory that is shared, parts of a plan."""
    ops = {node.op for segment in plan.segments for node in segment.nodes}
    return bool(plan.storages or plan.effects or plan.granted or plan.faults) or any(map(FACTS.random, ops))


def _stacked(plan: Plan, known: Mapping[int, int]) -> tuple[list[Flow], Stack] | None:
    (microbatch,) = walked_microbatches(plan, every=False)
    flows = flows_of(plan, microbatch)
    stack = stack_of(plan, flows, known) if flows else None
    if not flows or stack is None or not (_is_apart(plan, flows, stack) and _meet_alike(flows, stack)):
        return None
    return flows, stack


def _layers_of(plan: Plan, stack: Stack) -> dict[int, int]:
    """The layers of logical tensors that are given."""
    return {plan.tensors[t].logical: k for tensors in stack.grid for k, t in enumerate(tensors.tolist())}


def _is_apart(plan: Plan, flows: Sequence[Flow], stack: Stack) -> bool:
    """Whether all that is no layer's reads of the inner ones nothing but sums over all of them, and makes nothing of
    them; whether logical tensors are of one layer; whether what is declared is declared alike of each layer.
    """
    layer = stack.layer
    for flow, own in zip(flows, stack.node_layer, strict=True):
        sizes, made = np.diff(flow.read_from), np.diff(flow.made_from)
        outside = np.repeat(own == OUTSIDE, sizes) & _is_inner(layer[flow.reads], stack.layers)
        nodes = np.unique(np.repeat(np.arange(len(own)), sizes)[outside])
        if not all(_adds_all(flow.nodes[k], stack) for k in nodes.tolist()):
            return False
        if (layer[flow.makes][np.repeat(own == OUTSIDE, made)] != OUTSIDE).any():
            return False
    return _logicals_apart(plan, stack) and _declared_alike(plan, stack)


def _is_inner(layers: Numbers, count: int) -> Numbers:
    return (layers > 0) & (layers < count - 1)


def _adds_all(node: Node, stack: Stack) -> bool:
    """Whether a node adds what it reads, of each inner layer the same."""
    if FACTS.addends(node.op, node.inputs, len(node.outputs)) != node.inputs or node.attrs:
        return False
    rows: dict[int, Counter[int]] = defaultdict(Counter)
    for tensor in node.inputs:
        if stack.layer[tensor] != OUTSIDE:
            rows[int(stack.row[tensor])][int(stack.layer[tensor])] += 1
    inner = range(1, stack.layers - 1)
    return all(len({found[k] for k in inner}) == 1 for found in rows.values())


def _logicals_apart(plan: Plan, stack: Stack) -> bool:
    """Whether what the tensors of one row are shares of is one logical tensor for each inner layer, of that layer alone."""
    logical = np.fromiter((tensor.logical for tensor in plan.tensors), dtype=np.int64, count=len(plan.tensors))
    inner = np.arange(1, stack.layers - 1)
    layer, row = (np.full(len(plan.logicals), OUTSIDE) for _ in range(2))
    rows: dict[int, int] = {}
    for own in logical[stack.grid][:, inner]:
        number = rows.setdefault(int(own[0]), len(rows))
        fresh = row[own] == OUTSIDE
        row[own[fresh]], layer[own[fresh]] = number, inner[fresh]
        if (row[own] != number).any() or (layer[own] != inner).any():
            return False
    others = logical[~_is_inner(stack.layer[:-1], stack.layers)]
    return bool((layer[others] == OUTSIDE).all())


def _declared_alike(plan: Plan, stack: Stack) -> bool:
    """Whether of layers no loss is declared and no seed, and of all the same gradients and updated values."""
    layer, row = stack.layer, stack.row
    if any(layer[held.tensor] != OUTSIDE for held in plan.losses) or any(layer[t] != OUTSIDE for t in plan.seeds):
        return False
    for declared in (plan.gradients, plan.outputs):
        found: list[Counter[tuple[int, ...]]] = [Counter() for _ in range(stack.layers)]
        for held in declared:
            own, of = int(layer[held.tensor]), int(layer[held.weight])
            known = _is_inner(layer[[held.tensor, held.weight]], stack.layers)
            if not known.any():
                continue
            apart = 0 if held.weight == ABSENT else of - own
            if own == OUTSIDE or abs(apart) > 1 or (known[0] and of == OUTSIDE and held.weight != ABSENT):
                return False
            found[own][held.device, int(row[held.tensor]), int(row[held.weight]), apart] += 1
        if any(one != found[1] for one in found[1:-1]):
            return False
    return True


def _meet_alike(flows: Sequence[Flow], stack: Stack) -> bool:
    """Whether messages and collectives join nodes of one layer, and of each layer the same ones."""
    queues: dict[tuple[str, int, object], list[tuple[int, int]]] = defaultdict(list)
    for device, flow in enumerate(flows):
        layers, places = stack.node_layer[device].tolist(), stack.node_place[device].tolist()
        for k, node in enumerate(flow.nodes):
            if node.op in COMMUNICATION:
                with_ = attribute(node, "peer") if node.op in (SEND, RECV) else tuple(sorted(attribute(node, "ranks")))
                kind = node.op if node.op in (SEND, RECV) else "group"
                queues[kind, device, with_].append((layers[k], places[k]))
    for (kind, device, with_), own in queues.items():
        if kind == SEND:
            others = [queues.get((RECV, int(str(with_)), device), [])]
        elif kind == RECV:
            others = [queues.get((SEND, int(str(with_)), device), [])]
        else:
            others = [queues.get((kind, other, with_), []) for other in _members(with_)]
        if not all(_pair_up(own, other) for other in others):
            return False
    return all(node.op not in COMMUNICATION or node.op in COLLECTIVES | {SEND, RECV} for f in flows for node in f.nodes)


def _members(group: object) -> tuple[int, ...]:
    return group if isinstance(group, tuple) else ()


def _pair_up(own: Sequence[tuple[int, int]], other: Sequence[tuple[int, int]]) -> bool:
    """Whether steps that meet in turn are of one layer, and those of one place always meet those of one other place."""
    if [layer for layer, _ in own] != [layer for layer, _ in other]:
        return False
    known: dict[int, int] = {}
    pairs = ((mine[1], theirs[1]) for mine, theirs in zip(own, other, strict=True) if mine[0] != OUTSIDE)
    return all(known.setdefault(mine, theirs) == theirs for mine, theirs in pairs)


def _stand_for(parallel: Plan, stack: Stack, single: Plan, alone: Stack, binding: Binding) -> bool:
    """Whether what is given to a layer stands for what is given to the same layer of the single-device plan, and of each
    layer for the same; what is given to none stands for nothing of a layer.
    """
    of = {single.tensors[t].logical: (row, k) for row, own in enumerate(alone.grid) for k, t in enumerate(own.tolist())}
    taken: set[int] = set()
    for tensors in stack.grid.tolist():
        shares = [parallel.tensors[tensor].logical for tensor in tensors]
        places = [of.get(binding.logical[share]) for share in shares if share in binding.logical]
        if places and (places[0] is None or places != [(places[0][0], k) for k in range(stack.layers)]):
            return False
        taken.update(shares)
    return all(logical not in of for share, logical in binding.logical.items() if share not in taken)


def _called_alike(parallel: Plan, stack: Stack, single: Plan, alone: Stack, binding: Binding) -> bool:
    """Whether outputs of no weight, which are known by what they are called, are of each layer the same of that layer."""
    hints = hinted(single)
    of = {single.tensors[held.tensor].logical: held.tensor for held in single.outputs if held.weight == ABSENT}
    rows: dict[int, int] = {}
    for held in parallel.outputs:
        if held.weight != ABSENT:
            continue
        key, layer = key_of(parallel, binding, hints, held), int(stack.layer[held.tensor])
        due = ABSENT if key is None else of[key[1]]
        if not _is_inner(np.array([layer, alone.layer[due]]), stack.layers).any():
            continue
        row = int(alone.row[due])
        if layer != alone.layer[due] or rows.setdefault(int(stack.row[held.tensor]), row) != row:
            return False
    return True
