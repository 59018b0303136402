"""Whether the layers of a plan are apart: what is no layer's takes nothing of the inner ones but sums over all of them,
and what tensors are shares of, and what is declared, is alike of each.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np

from verdict.graph import ABSENT, Held, Node, Plan
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
    alone = (*(held.tensor for held in plan.losses), *plan.seeds)
    if any(stack.layer[tensor] != OUTSIDE for tensor in alone):
        return False
    return _each_alike(plan.gradients, stack) and _each_alike(plan.outputs, stack)


def _each_alike(declared: Sequence[Held], stack: Stack) -> bool:
    """Whether of each inner layer the same is declared, each with the weight of its layer, or of one beside it."""
    if not declared:
        return True
    device, tensor, weight = np.array(declared, dtype=np.int64).T
    layer, of = stack.layer[tensor], stack.layer[weight]
    own, weighed = is_inner(layer, stack.layers), weight != ABSENT
    apart = np.where(weighed, of - layer, 0)
    wrong = (layer == OUTSIDE) | (np.abs(apart) > 1) | (own & weighed & (of == OUTSIDE))
    if (wrong & (own | is_inner(of, stack.layers))).any():
        return False
    said = np.array([layer, device, stack.row[tensor], stack.row[weight], apart]).T[own]
    said = said[np.lexsort(said.T[::-1])]
    each = np.bincount(said[:, 0], minlength=stack.layers)[1:-1]
    if (each != each[0]).any():
        return False
    by_layer = said[:, 1:].reshape(len(each), each[0] * (said.shape[1] - 1))
    return bool((by_layer == by_layer[0]).all())
