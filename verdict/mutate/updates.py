"""Faults of updates and of what carries over to the next step: stale values, states and declared outputs exchanged."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from verdict.graph import ABSENT, ACCUMULATOR, Held, Node, Plan
from verdict.mutate.sites import Change, change_each, edit, named, node_at, pick, shape, sites, spread, with_attrs

OPTIMIZERS = frozenset({"sgd", "adam", "adamw"})
_FACTORS = (0.0, 0.5, 0.99, 2.0)
"""By what a constant of an optimizer is multiplied: it is gone, halved, a hundredth less, or doubled."""


def declare_stale(plan: Plan, random: Random) -> Change | None:
    """A declared output is the weight or state from before the update."""
    outputs = enumerate(plan.outputs)
    found = [k for k, held in outputs if held.weight not in (ABSENT, held.tensor) and _alike(plan, held)]
    if not found:
        return None
    k = random.choice(found)
    held = plan.outputs[k]
    return _declared(plan, {k: held._replace(tensor=held.weight)}), f"{_of(plan, held)} is declared as it was before"


def drop_updated(plan: Plan, random: Random) -> Change | None:
    """An updated weight or state is not declared."""
    if not plan.outputs:
        return None
    k = random.randrange(len(plan.outputs))
    outputs = (*plan.outputs[:k], *plan.outputs[k + 1 :])
    return replace(plan, outputs=outputs), f"the update of {_of(plan, plan.outputs[k])} is not declared"


def repeat_updated(plan: Plan, random: Random) -> Change | None:
    """An updated weight or state is declared as another one's, too."""
    pair = _two_alike(plan, random)
    if pair is None:
        return None
    one, other = pair
    outputs = plan.outputs
    changed = _declared(plan, {one: outputs[one]._replace(tensor=outputs[other].tensor)})
    return changed, f"the update of {_of(plan, outputs[one])} is that of {_of(plan, outputs[other])}"


def exchange_updated(plan: Plan, random: Random) -> Change | None:
    """Two weights or states of one device and shape are declared as each other's update."""
    pair = _two_alike(plan, random)
    if pair is None:
        return None
    (one, other), outputs = pair, plan.outputs
    changed = _declared(
        plan,
        {
            one: outputs[one]._replace(tensor=outputs[other].tensor),
            other: outputs[other]._replace(tensor=outputs[one].tensor),
        },
    )
    return changed, f"the updates of {_of(plan, outputs[one])} and {_of(plan, outputs[other])} are exchanged"


def read_stale(plan: Plan, random: Random) -> Change | None:
    """A node reads a weight or state as it was before some step updated it."""
    before = _before(plan)
    site = pick(plan, random, lambda node: any(tensor in before for tensor in node.inputs))
    if site is None:
        return None
    place = random.choice([k for k, tensor in enumerate(node_at(plan, site).inputs) if tensor in before])

    def stale(node: Node) -> Node:
        tensor = node.inputs[place]
        inputs = (*node.inputs[:place], before.get(tensor, tensor), *node.inputs[place + 1 :])
        return node._replace(inputs=inputs)

    where = [site for site in spread(plan, random, site) if len(node_at(plan, site).inputs) > place]
    return change_each(plan, where, stale), f"input {place} of {named(plan, site)} is that of before the step"


def skip_update(plan: Plan, random: Random) -> Change | None:
    """An optimizer leaves a weight and its states as they are."""
    site = pick(plan, random, lambda node: node.op in OPTIMIZERS)
    if site is None:
        return None

    def copies(node: Node) -> Sequence[Node]:
        olds = (node.inputs[0], *node.inputs[2:])
        return [
            Node("identity", (old,), (new,), (), node.name) for old, new in zip(olds, node.outputs, strict=False)
        ]

    where = spread(plan, random, site)
    return edit(plan, {each: copies(node_at(plan, each)) for each in where}), f"no update in {named(plan, site)}"


def change_rate(plan: Plan, random: Random) -> Change | None:
    """An optimizer has another constant on one rank or on all: learning rate, momentum, decay, number of the step."""
    site = pick(plan, random, lambda node: node.op in OPTIMIZERS)
    if site is None:
        return None
    name, value = random.choice([pair for pair in node_at(plan, site).attrs if isinstance(pair[1], int | float)])
    assert isinstance(value, int | float)
    other = value + 1 if name == "step" else value * random.choice(_FACTORS)
    changed = change_each(plan, spread(plan, random, site), lambda node: with_attrs(node, **{name: other}))
    return changed, f"{name} is {other} and not {value} in {named(plan, site)}"


def keep_gradients(plan: Plan, random: Random) -> Change | None:
    """An accumulator is not set to zero: what a later step adds goes on to that of the step before."""
    names = {logical.name: number for number, logical in enumerate(plan.logicals)}
    firsts = ((number, names.get(name.partition(".step")[0])) for name, number in names.items())
    later = {number: first for number, first in firsts if first is not None and first != number}
    found = [k for k, tensor in enumerate(plan.tensors) if tensor.logical in later and plan.kind(k) == ACCUMULATOR]
    if not found:
        return None
    mine = random.choice(found)
    share = plan.tensors[mine]
    devices = {t: s.device for s in plan.segments for node in s.nodes for t in node.outputs}
    same = share._replace(logical=later[share.logical])
    first = [k for k, tensor in enumerate(plan.tensors) if tensor == same and devices.get(k) == devices.get(mine)]
    if not first:
        return None

    def moved(node: Node) -> Node:
        inputs, outputs = (tuple(first[0] if t == mine else t for t in ends) for ends in (node.inputs, node.outputs))
        return node._replace(inputs=inputs, outputs=outputs)

    where = sites(plan, lambda node: mine in (*node.inputs, *node.outputs))
    return change_each(plan, where, moved), f"{plan.logicals[share.logical].name} is not set to zero before its step"


def _before(plan: Plan) -> dict[int, int]:
    """Of each tensor that an optimizer makes, or that is declared, the one that it follows."""
    found = {held.tensor: held.weight for held in plan.outputs if held.weight != ABSENT and _alike(plan, held)}
    for segment in plan.segments:
        for node in segment.nodes:
            if node.op in OPTIMIZERS:
                found.update(zip(node.outputs, (node.inputs[0], *node.inputs[2:]), strict=False))
    return found


def _alike(plan: Plan, held: Held) -> bool:
    return shape(plan, held.tensor) == shape(plan, held.weight)


def _two_alike(plan: Plan, random: Random) -> tuple[int, int] | None:
    """Two declared outputs of one device and shape."""
    outputs = plan.outputs
    found = [
        (one, other)
        for one, mine in enumerate(outputs)
        for other, theirs in enumerate(outputs)
        if one < other and mine.device == theirs.device and shape(plan, mine.tensor) == shape(plan, theirs.tensor)
    ]
    return random.choice(found) if found else None


def _declared(plan: Plan, changes: dict[int, Held]) -> Plan:
    return replace(plan, outputs=tuple(changes.get(k, held) for k, held in enumerate(plan.outputs)))


def _of(plan: Plan, held: Held) -> str:
    tensor = held.tensor if held.weight == ABSENT else held.weight
    return f"{plan.logicals[plan.tensors[tensor].logical].name} on device {held.device}"
