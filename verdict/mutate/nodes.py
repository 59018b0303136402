"""Faults of single nodes: left out, doubled, moved, wired to something else, another operator."""

from collections.abc import Mapping
from dataclasses import replace
from random import Random

from verdict.graph import ABSENT, ACCUMULATOR, GRAD, Node, Plan
from verdict.mutate.sites import (
    Change,
    change_each,
    computes,
    edit,
    named,
    node_at,
    pick,
    shape,
    sites,
    spread,
)

KIN: tuple[frozenset[str], ...] = (
    frozenset({"add", "sub", "mul", "div"}),
    frozenset({"relu", "silu", "gelu", "sigmoid", "tanh", "exp", "neg", "identity", "rsqrt", "sqrt"}),
    frozenset({"sum", "mean"}),
    frozenset({"float", "to", "contiguous", "identity"}),
)
"""Operators that may stand in for each other."""
ATTRIBUTES: Mapping[str, frozenset[str]] = {
    "add": frozenset({"other", "alpha"}),
    "sub": frozenset({"other", "alpha"}),
    "mul": frozenset({"other"}),
    "div": frozenset({"other"}),
    "sum": frozenset({"dim", "keepdim"}),
    "mean": frozenset({"dim", "keepdim"}),
}


def remove_node(plan: Plan, random: Random) -> Change | None:
    """An operator is gone, with nothing in its place."""
    site = pick(plan, random, computes)
    if site is None:
        return None
    where = spread(plan, random, site)
    return edit(plan, dict.fromkeys(where, ())), f"removed {named(plan, site)} on {len(where)} devices"


def skip_node(plan: Plan, random: Random) -> Change | None:
    """An operator hands on an input of the shape of its output, and computes nothing."""
    site = pick(plan, random, lambda node: computes(node) and _passable(plan, node) != ABSENT)
    if site is None:
        return None
    where = [other for other in spread(plan, random, site) if _passable(plan, node_at(plan, other)) != ABSENT]
    changes = {
        other: tuple(
            Node("identity", (_passable(plan, node_at(plan, other)),), (output,), (), node_at(plan, other).name)
            for output in node_at(plan, other).outputs
            if output != ABSENT and shape(plan, output) == shape(plan, _passable(plan, node_at(plan, other)))
        )
        for other in where
    }
    return edit(plan, changes), f"skipped {named(plan, site)} on {len(where)} devices"


def _passable(plan: Plan, node: Node) -> int:
    """An input of the shape of the first output that is wanted."""
    wanted = next((tensor for tensor in node.outputs if tensor != ABSENT), ABSENT)
    if wanted == ABSENT or node.op == "identity":
        return ABSENT
    return next((t for t in node.inputs if t != ABSENT and shape(plan, t) == shape(plan, wanted)), ABSENT)


def duplicate_node(plan: Plan, random: Random) -> Change | None:
    """An operator runs twice; what adds to an accumulator adds twice."""
    site = pick(plan, random, computes)
    if site is None:
        return None
    node = node_at(plan, site)
    again = node._replace(
        outputs=tuple(t if t != ABSENT and plan.kind(t) == ACCUMULATOR else ABSENT for t in node.outputs)
    )
    if all(tensor == ABSENT for tensor in again.outputs):
        again = node
    return edit(plan, {site: (node, again)}), f"doubled {named(plan, site)}"


def move_node(plan: Plan, random: Random) -> Change | None:
    """A node runs earlier or later in its segment."""
    site = pick(plan, random, lambda node: True)
    if site is None:
        return None
    nodes = list(plan.segments[site.segment].nodes)
    if len(nodes) < 2:
        return None
    node = nodes.pop(site.at)
    near = [site.at + step for step in (-3, -2, -1, 1, 2, 3) if 0 <= site.at + step <= len(nodes)]
    target = random.choice(near)
    nodes.insert(target, node)
    segments = list(plan.segments)
    segments[site.segment] = segments[site.segment]._replace(nodes=tuple(nodes))
    return replace(plan, segments=tuple(segments)), f"moved {named(plan, site)} to place {target}"


def rewire_input(plan: Plan, random: Random) -> Change | None:
    """A node reads another tensor of the same shape that its device has."""
    site = pick(plan, random, lambda node: any(tensor != ABSENT for tensor in node.inputs))
    if site is None:
        return None
    node, device = node_at(plan, site), plan.segments[site.segment].device
    place = random.choice([k for k, tensor in enumerate(node.inputs) if tensor != ABSENT])
    others = sorted(_held(plan, device, node.inputs[place]) - {node.inputs[place]} - set(node.outputs))
    if not others:
        return None
    other = random.choice(others)
    inputs = (*node.inputs[:place], other, *node.inputs[place + 1 :])
    name = plan.logicals[plan.tensors[other].logical].name
    return change_each(plan, (site,), lambda node: node._replace(inputs=inputs)), (
        f"input {place} of {named(plan, site)} is {name}"
    )


def _held(plan: Plan, device: int, like: int) -> set[int]:
    wanted = shape(plan, like)
    return {
        tensor
        for segment in plan.segments
        if segment.device == device
        for node in segment.nodes
        for tensor in (*node.inputs, *node.outputs)
        if tensor != ABSENT and shape(plan, tensor) == wanted
    }


def exchange_inputs(plan: Plan, random: Random) -> Change | None:
    """Two inputs of a node change places."""
    site = pick(plan, random, lambda node: len(set(node.inputs)) > 1)
    if site is None:
        return None
    inputs = node_at(plan, site).inputs
    pairs = [(i, j) for i in range(len(inputs)) for j in range(i) if inputs[i] != inputs[j]]
    alike = [(i, j) for i, j in pairs if shape(plan, inputs[i]) == shape(plan, inputs[j])]
    i, j = random.choice(alike or pairs)
    where = spread(plan, random, site)
    changed = change_each(plan, where, lambda node: node._replace(inputs=_swapped(node.inputs, i, j)))
    return changed, f"inputs {j} and {i} exchanged in {named(plan, site)} on {len(where)} devices"


def exchange_outputs(plan: Plan, random: Random) -> Change | None:
    """Two outputs of a node change places."""
    site = pick(plan, random, lambda node: len(node.outputs) > 1)
    if site is None:
        return None
    i, j = random.sample(range(len(node_at(plan, site).outputs)), 2)
    where = spread(plan, random, site)
    changed = change_each(plan, where, lambda node: node._replace(outputs=_swapped(node.outputs, i, j)))
    return changed, f"outputs {i} and {j} exchanged in {named(plan, site)} on {len(where)} devices"


def _swapped(tensors: tuple[int, ...], i: int, j: int) -> tuple[int, ...]:
    if max(i, j) >= len(tensors):
        return tensors
    changed = list(tensors)
    changed[i], changed[j] = changed[j], changed[i]
    return tuple(changed)


def rewire_output(plan: Plan, random: Random) -> Change | None:
    """A node writes another tensor of the same shape: of its device's, or of another node's results."""
    site = pick(plan, random, lambda node: any(tensor != ABSENT for tensor in node.outputs))
    if site is None:
        return None
    node, device = node_at(plan, site), plan.segments[site.segment].device
    place = random.choice([k for k, tensor in enumerate(node.outputs) if tensor != ABSENT])
    others = sorted(_held(plan, device, node.outputs[place]) - {node.outputs[place]})
    if not others:
        return None
    other = random.choice(others)
    outputs = (*node.outputs[:place], other, *node.outputs[place + 1 :])
    name = plan.logicals[plan.tensors[other].logical].name
    return change_each(plan, (site,), lambda node: node._replace(outputs=outputs)), (
        f"output {place} of {named(plan, site)} is {name}"
    )


def drop_input(plan: Plan, random: Random) -> Change | None:
    """A gradient or an addend is not there."""
    site = pick(plan, random, lambda node: node.op.endswith(GRAD) or node.op == "accumulate")
    if site is None:
        return None
    node = node_at(plan, site)
    grads = len(node.inputs) if node.op == "accumulate" else len(node.inputs) - len(node.outputs)
    place = random.randrange(max(grads, 1))
    where = spread(plan, random, site)
    changed = change_each(
        plan, where, lambda node: node._replace(inputs=(*node.inputs[:place], ABSENT, *node.inputs[place + 1 :]))
    )
    return changed, f"input {place} absent in {named(plan, site)} on {len(where)} devices"


def repeat_input(plan: Plan, random: Random) -> Change | None:
    """A sum adds one of its addends twice, in place of another or besides it."""
    site = pick(plan, random, lambda node: node.op in ("accumulate", "add", "multiref.grad") and len(node.inputs) > 1)
    if site is None:
        return None
    inputs = node_at(plan, site).inputs
    last = len(inputs) - (node_at(plan, site).op == "multiref.grad")
    if last < 2:
        return None
    source, target = random.sample(range(last), 2)
    changed = change_each(
        plan, (site,), lambda node: node._replace(inputs=(*inputs[:target], inputs[source], *inputs[target + 1 :]))
    )
    return changed, f"input {source} twice in {named(plan, site)}"


def change_operator(plan: Plan, random: Random) -> Change | None:
    """Another operator of the same form; forward, gradient, or both."""
    site = pick(plan, random, lambda node: computes(node) and bool(_kin(node)))
    if site is None:
        return None
    node = node_at(plan, site)
    other = random.choice(sorted(_kin(node)))
    base = node.op.removesuffix(GRAD)
    where = list(spread(plan, random, site))
    if random.random() < 0.5:
        both = {(base, node.name), (base + GRAD, node.name)}
        device = plan.segments[site.segment].device
        where += [
            found
            for found in sites(plan, lambda node: (node.op, node.name) in both)
            if plan.segments[found.segment].device == device and found not in where
        ]
    kept = ATTRIBUTES.get(other, frozenset())

    def changed(node: Node) -> Node:
        op = other + (GRAD if node.op.endswith(GRAD) else "")
        return node._replace(op=op, attrs=tuple(pair for pair in node.attrs if pair[0] in kept))

    return change_each(plan, where, changed), f"{other} in place of {named(plan, site)} at {len(where)} places"


def _kin(node: Node) -> set[str]:
    base = node.op.removesuffix(GRAD)
    return {other for kin in KIN if base in kin for other in kin} - {base}
