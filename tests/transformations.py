"""Changes of a plan that change nothing of what it computes. Each takes a plan and a source of chance."""

import random
from dataclasses import replace

from verdict.graph import ABSENT, ACCUMULATOR, Plan

COMMUNICATION = frozenset(
    ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "reduce", "send", "recv")
)


def _nodes(plan: Plan, change) -> Plan:
    """The plan with `change(segment, node)`, a list of nodes, in place of every node."""
    segments = tuple(
        segment._replace(nodes=tuple(new for node in segment.nodes for new in change(segment, node)))
        for segment in plan.segments
    )
    return replace(plan, segments=segments)


def rename_devices(plan: Plan, draw: random.Random) -> Plan:
    """Every device gets another number, in programs, groups, peers and outputs."""
    to = list(range(plan.devices))
    draw.shuffle(to)

    def renamed(node):
        attrs = dict(node.attrs)
        if "ranks" in attrs:
            attrs["ranks"] = tuple(to[rank] for rank in attrs["ranks"])
        for name in ("peer", "root"):
            if name in attrs:
                attrs[name] = to[attrs[name]]
        return node._replace(attrs=tuple(sorted(attrs.items())))

    segments = tuple(
        segment._replace(device=to[segment.device], nodes=tuple(map(renamed, segment.nodes)))
        for segment in plan.segments
    )
    back = {new: old for old, new in enumerate(to)}
    return replace(
        plan,
        segments=segments,
        programs=tuple(plan.programs[back[device]] for device in range(plan.devices)),
        losses=tuple(held._replace(device=to[held.device]) for held in plan.losses),
        gradients=tuple(held._replace(device=to[held.device]) for held in plan.gradients),
    )


def rename_tensors(plan: Plan, draw: random.Random) -> Plan:
    """Every tensor and logical tensor gets another number, and all but weights and inputs another name."""
    to, where = list(range(len(plan.tensors))), list(range(len(plan.logicals)))
    draw.shuffle(to)
    draw.shuffle(where)

    def moved(tensor):
        return tensor if tensor == ABSENT else to[tensor]

    tensors, logicals = list(plan.tensors), list(plan.logicals)
    for old, tensor in enumerate(plan.tensors):
        tensors[to[old]] = tensor._replace(logical=where[tensor.logical])
    for old, logical in enumerate(plan.logicals):
        named = logical.kind in ("weight", "input", "buffer")
        logicals[where[old]] = logical if named else logical._replace(name=f"renamed{old}", origin=None)
    changed = _nodes(
        plan,
        lambda _, node: [
            node._replace(inputs=tuple(map(moved, node.inputs)), outputs=tuple(map(moved, node.outputs)))
        ],
    )
    return replace(
        changed,
        tensors=tuple(tensors),
        logicals=tuple(logicals),
        programs=tuple(
            tuple(call._replace(crossed=tuple((to[tensor], m) for tensor, m in call.crossed)) for call in program)
            for program in plan.programs
        ),
        losses=tuple(held._replace(tensor=to[held.tensor]) for held in plan.losses),
        gradients=tuple(held._replace(tensor=to[held.tensor], weight=to[held.weight]) for held in plan.gradients),
        seeds=tuple(to[tensor] for tensor in plan.seeds),
    )


def rename_nodes(plan: Plan, draw: random.Random) -> Plan:
    """Nodes and segments get other names."""
    names = iter(range(10**9))
    changed = _nodes(plan, lambda _, node: [node._replace(name=f"node{next(names)}")])
    return replace(changed, segments=tuple(s._replace(name=f"part{k}") for k, s in enumerate(changed.segments)))


def reorder_nodes(plan: Plan, draw: random.Random) -> Plan:
    """Within each segment another order in which every tensor is made before it is read; communication keeps its."""

    def order(segment):
        waiting, done, ready = list(segment.nodes), [], set()
        made = {tensor for node in waiting for tensor in node.outputs}
        while waiting:
            first = next((node for node in waiting if node.op in COMMUNICATION), None)
            free = [
                node
                for k, node in enumerate(waiting)
                if (node.op not in COMMUNICATION or node is first)
                and all(tensor in ready or tensor not in made for tensor in node.inputs)
                and not any(_held(plan, node) & _held(plan, other) for other in waiting[:k])
            ]
            node = draw.choice(free)
            waiting.remove(node)
            done.append(node)
            ready |= set(node.outputs) - {t for other in waiting for t in other.outputs}
        return segment._replace(nodes=tuple(done))

    return replace(plan, segments=tuple(map(order, plan.segments)))


def _held(plan: Plan, node):
    """The accumulators that a node adds to or reads."""
    both = (*node.inputs, *node.outputs)
    return {tensor for tensor in both if tensor != ABSENT and plan.kind(tensor) == ACCUMULATOR}


def _copied(plan: Plan, draw: random.Random, share: float, copy) -> Plan:
    """Some reads of each segment go through what `copy(tensor, new)` makes: `new` is like `tensor`."""
    tensors, logicals = list(plan.tensors), list(plan.logicals)

    def new(tensor):
        old = plan.tensors[tensor]
        logical = plan.logicals[old.logical]
        logicals.append(logical._replace(name=f"copy{len(logicals)}", kind="activation", origin=None))
        tensors.append(old._replace(logical=len(logicals) - 1))
        return len(tensors) - 1

    def change(_, node):
        if node.op in COMMUNICATION or not node.inputs or draw.random() > share:
            return [node]
        place = draw.randrange(len(node.inputs))
        tensor = node.inputs[place]
        if tensor == ABSENT or plan.kind(tensor) not in ("activation", "gradient"):
            return [node]
        made, read = copy(tensor, new)
        inputs = tuple(read if k == place else t for k, t in enumerate(node.inputs))
        return [made, node._replace(inputs=inputs)]

    changed = _nodes(plan, change)
    return replace(changed, tensors=tuple(tensors), logicals=tuple(logicals))


def insert_identities(plan: Plan, draw: random.Random) -> Plan:
    """Some reads are of a copy."""
    kind = type(plan.segments[0].nodes[0])

    def copy(tensor, new):
        read = new(tensor)
        return kind("identity", (tensor,), (read,), (), "copy"), read

    return _copied(plan, draw, 0.3, copy)


def insert_multirefs(plan: Plan, draw: random.Random) -> Plan:
    """Some reads are of one of several copies."""
    kind = type(plan.segments[0].nodes[0])

    def copy(tensor, new):
        copies = [new(tensor) for _ in range(draw.choice((1, 2, 3)))]
        return kind("multiref", (tensor,), tuple(copies), (("times", len(copies)),), "copies"), draw.choice(copies)

    return _copied(plan, draw, 0.3, copy)


def regroup_sums(plan: Plan, draw: random.Random) -> Plan:
    """Sums of several tensors are taken two by two, from either end; sums of two in the other order."""
    tensors = list(plan.tensors)
    logicals = list(plan.logicals)

    def change(_, node):
        if node.op != "accumulate":
            return [node]
        parts = list(node.inputs)
        draw.shuffle(parts)
        made = []
        while len(parts) > 2:
            like = plan.tensors[parts[0]] if parts[0] < len(plan.tensors) else tensors[parts[0]]
            logicals.append(logicals[like.logical]._replace(name=f"sum{len(logicals)}", kind="gradient", origin=None))
            tensors.append(like._replace(logical=len(logicals) - 1))
            made.append(node._replace(inputs=(parts.pop(), parts.pop()), outputs=(len(tensors) - 1,), name="part"))
            parts.append(len(tensors) - 1)
        return [*made, node._replace(inputs=tuple(parts))]

    changed = _nodes(plan, change)
    return replace(changed, tensors=tuple(tensors), logicals=tuple(logicals))


TRANSFORMATIONS = (
    rename_devices,
    rename_tensors,
    rename_nodes,
    reorder_nodes,
    insert_identities,
    insert_multirefs,
    regroup_sums,
)
