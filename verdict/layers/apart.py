"""Whether the layers of a plan are apart: what is no layer's takes nothing of the inner ones but sums over all of them,
and what tensors are shares of, and what is declared, is alike of each.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np

from verdict.graph import ABSENT, Node, Plan
from verdict.layers.flows import Flow
from verdict.layers.stack import OUTSIDE, Stack, is_inner
from verdict.ops import FACTS


def is_apart(plan: Plan, flows: Sequence[Flow], stack: Stack) -> bool:
    """Whether all that is no layer's reads of the inner ones nothing but sums over all of them, and makes nothing of
    them; whether logical tensors are of one layer; whether what is declared is declared alike of each layer.
    """
    layer = stack.layer
    for flow, own in zip(flows, stack.node_layer, strict=True):
        sizes, made = np.diff(flow.read_from), np.diff(flow.made_from)
        outside = np.repeat(own == OUTSIDE, sizes) & is_inner(layer[flow.reads], stack.layers)
        nodes = np.unique(np.repeat(np.arange(len(own)), sizes)[outside])
        if not all(_adds_all(flow.nodes[k], stack) for k in nodes.tolist()):
            return False
        if (layer[flow.makes][np.repeat(own == OUTSIDE, made)] != OUTSIDE).any():
            return False
    return _logicals_apart(plan, stack) and _declared_alike(plan, stack)


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
    """Whether tensors of one row are shares of one logical tensor of each inner layer, which is of that one alone."""
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
    others = logical[~is_inner(stack.layer[:-1], stack.layers)]
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
            known = is_inner(layer[[held.tensor, held.weight]], stack.layers)
            if not known.any():
                continue
            apart = 0 if held.weight == ABSENT else of - own
            if own == OUTSIDE or abs(apart) > 1 or (known[0] and of == OUTSIDE and held.weight != ABSENT):
                return False
            found[own][held.device, int(row[held.tensor]), int(row[held.weight]), apart] += 1
        if any(one != found[1] for one in found[1:-1]):
            return False
    return True
