"""Faults of communication: groups, peers, roots, axes, operations, order."""

from collections.abc import Hashable
from random import Random

from verdict.graph import ABSENT, Node, Plan
from verdict.graph.lockstep import CHUNK, RECV, SEND, attribute
from verdict.mutate.sites import (
    Change,
    Site,
    change_each,
    communicates,
    edit,
    fresh,
    is_collective,
    members,
    named,
    node_at,
    pick,
    shape,
    sites,
    with_attrs,
)

ROOTED = ("broadcast", "reduce")


def drop_collective(plan: Plan, random: Random) -> Change | None:
    """A collective or chunk is left out, on one device or by its whole group: the input is taken as it is."""
    site = pick(plan, random, lambda node: _may_pass(plan, node))
    if site is None:
        return None
    where = (site,) if random.random() < 0.5 else members(plan, site)
    where = tuple(other for other in where if _may_pass(plan, node_at(plan, other)))
    changed = change_each(plan, where, lambda node: node._replace(op="identity", attrs=()))
    return changed, f"dropped {named(plan, site)} on {len(where)} devices"


def _may_pass(plan: Plan, node: Node) -> bool:
    return (
        (is_collective(node) or node.op == CHUNK)
        and len(node.inputs) == len(node.outputs) == 1
        and shape(plan, node.inputs[0]) == shape(plan, node.outputs[0])
    )


def remove_communication(plan: Plan, random: Random) -> Change | None:
    """A communication node is gone, with nothing in its place."""
    site = pick(plan, random, communicates)
    if site is None:
        return None
    return edit(plan, {site: ()}), f"removed {named(plan, site)}"


def duplicate_collective(plan: Plan, random: Random) -> Change | None:
    """A whole group calls its collective twice in a row."""
    site = pick(plan, random, lambda node: is_collective(node) and _may_pass(plan, node))
    if site is None:
        return None
    changes: dict[Site, tuple[Node, ...]] = {}
    for member in members(plan, site):
        node = node_at(plan, member)
        plan, between = fresh(plan, node.outputs[0])
        changes[member] = (node._replace(outputs=(between,)), node._replace(inputs=(between,)))
    return edit(plan, changes), f"doubled {named(plan, site)}"


def exchange_communication(plan: Plan, random: Random) -> Change | None:
    """Two communication nodes of one segment change places."""
    first = pick(plan, random, communicates)
    if first is None:
        return None
    others = [site for site in sites(plan, communicates) if site.segment == first.segment and site.at != first.at]
    if not others:
        return None
    second = random.choice(others)
    changed = edit(plan, {first: (node_at(plan, second),), second: (node_at(plan, first),)})
    return changed, f"exchanged {named(plan, first)} and {named(plan, second)}"


def regroup(plan: Plan, random: Random) -> Change | None:
    """A member leaves the group, joins it, or stands in for another; as one device or all members see it."""
    site = pick(plan, random, lambda node: is_collective(node) or node.op == CHUNK)
    if site is None:
        return None
    ranks = _ranks(node_at(plan, site))
    outside = [device for device in range(plan.devices) if device not in ranks]
    choices = []
    if len(ranks) > 1:
        choices.append(tuple(rank for rank in ranks if rank != random.choice(ranks)))
    if outside:
        choices.append((*ranks, random.choice(outside)))
        at = random.randrange(len(ranks))
        choices.append((*ranks[:at], random.choice(outside), *ranks[at + 1 :]))
    if not choices:
        return None
    group = random.choice(choices)
    return _set(plan, random, site, "group", ranks=group)


def permute_ranks(plan: Plan, random: Random) -> Change | None:
    """The members of a group stand in another order."""
    site = pick(plan, random, lambda node: (is_collective(node) or node.op == CHUNK) and len(_ranks(node)) > 1)
    if site is None:
        return None
    ranks = list(_ranks(node_at(plan, site)))
    random.shuffle(ranks)
    return _set(plan, random, site, "order", ranks=tuple(ranks))


def retarget_peer(plan: Plan, random: Random) -> Change | None:
    """A message goes to, or comes from, another device."""
    site = pick(plan, random, lambda node: node.op in (SEND, RECV))
    if site is None or plan.devices < 2:
        return None
    node = node_at(plan, site)
    peer = random.choice([device for device in range(plan.devices) if device != dict(node.attrs).get("peer")])
    return change_each(plan, (site,), lambda node: with_attrs(node, peer=peer)), f"peer {peer} in {named(plan, site)}"


def cross_messages(plan: Plan, random: Random) -> Change | None:
    """Two messages of one device and shape, or two of two devices, carry each other's content."""
    one = pick(plan, random, lambda node: node.op in (SEND, RECV))
    if one is None:
        return None
    node = node_at(plan, one)
    mine = (*node.inputs, *node.outputs)
    others = [
        site
        for site in sites(plan, lambda other: other.op == node.op)
        if plan.segments[site.segment].device == plan.segments[one.segment].device
        and _carried(plan, site) != mine
        and shape(plan, _carried(plan, site)[0]) == shape(plan, mine[0])
    ]
    if not others:
        return None
    two = random.choice(others)
    other = node_at(plan, two)
    changed = edit(
        plan,
        {
            one: (node._replace(inputs=other.inputs, outputs=other.outputs),),
            two: (other._replace(inputs=node.inputs, outputs=node.outputs),),
        },
    )
    return changed, f"crossed {named(plan, one)} and {named(plan, two)}"


def _carried(plan: Plan, site: Site) -> tuple[int, ...]:
    """The tensor that a message takes or brings."""
    node = node_at(plan, site)
    return (*node.inputs, *node.outputs)


def cross_peers(plan: Plan, random: Random) -> Change | None:
    """The pieces of a tensor that two devices send to two others arrive exchanged, sender and receiver agreeing."""
    one = pick(plan, random, lambda node: node.op == SEND)
    if one is None:
        return None
    name, source = node_at(plan, one).name, plan.segments[one.segment].device
    twin = [
        site
        for site in sites(plan, lambda node: node.op == SEND and node.name == name)
        if plan.segments[site.segment].device != source
    ]
    if not twin:
        return None
    two = random.choice(twin)
    source_one, source_two = (plan.segments[site.segment].device for site in (one, two))
    target_one, target_two = (dict(node_at(plan, site).attrs)["peer"] for site in (one, two))
    if target_one == target_two:
        return None
    receives = {
        site: {source_one: source_two, source_two: source_one}.get(attribute(node_at(plan, site), "peer"))
        for site in sites(plan, lambda node: node.op == RECV and node.name == name)
        if plan.segments[site.segment].device in (target_one, target_two)
    }
    changes: dict[Site, tuple[Node, ...]] = {
        one: (with_attrs(node_at(plan, one), peer=target_two),),
        two: (with_attrs(node_at(plan, two), peer=target_one),),
    }
    for site, peer in receives.items():
        if peer is not None:
            changes[site] = (with_attrs(node_at(plan, site), peer=peer),)
    return edit(plan, changes), f"crossed the peers of {named(plan, one)} and {named(plan, two)}"


def change_root(plan: Plan, random: Random) -> Change | None:
    """A rooted collective has another root."""
    site = pick(plan, random, lambda node: node.op in ROOTED and len(_ranks(node)) > 1)
    if site is None:
        return None
    node = node_at(plan, site)
    root = random.choice([rank for rank in _ranks(node) if rank != dict(node.attrs).get("root")])
    return _set(plan, random, site, "root", root=root)


def change_collective(plan: Plan, random: Random) -> Change | None:
    """One collective in place of another that leaves the same shape."""
    site = pick(plan, random, lambda node: node.op in ("all_reduce", "all_gather", "reduce_scatter", "broadcast"))
    if site is None:
        return None
    node = node_at(plan, site)
    ranks = _ranks(node)
    choices: list[tuple[str, dict[str, Hashable]]] = [
        (op, {"root": rank} if op in ROOTED else {"dim": 0} if op in ("all_gather", "reduce_scatter") else {})
        for op in ("all_reduce", "broadcast", "all_gather", "reduce_scatter")
        for rank in ranks[:2]
        if op != node.op
    ]
    op, extra = random.choice(choices)
    where = (site,) if random.random() < 0.3 else members(plan, site)
    changed = change_each(plan, where, lambda node: with_attrs(node._replace(op=op), **extra))
    return changed, f"{op} in place of {named(plan, site)} on {len(where)} devices"


def change_reduction(plan: Plan, random: Random) -> Change | None:
    """A reduction takes the greatest or the mean where a sum belongs."""
    site = pick(plan, random, lambda node: node.op in ("all_reduce", "reduce_scatter", "reduce"))
    if site is None:
        return None
    return _set(plan, random, site, "reduction", reduce=random.choice(("max", "avg", "min")))


def change_collective_axis(plan: Plan, random: Random) -> Change | None:
    """A gather, scatter, exchange or chunk works along another axis."""
    site = pick(plan, random, lambda node: communicates(node) and bool(_axes(node)))
    if site is None:
        return None
    node = node_at(plan, site)
    dims = len(shape(plan, node.inputs[0]) or ()) if node.inputs and node.inputs[0] != ABSENT else 1
    name = random.choice(_axes(node))
    others = [dim for dim in range(dims) if dim != dict(node.attrs)[name]]
    if not others:
        return None
    return _set(plan, random, site, name, **{name: random.choice(others)})


def toggle_replicas(plan: Plan, random: Random) -> Change | None:
    """What goes over the replicas stays within one, or a reduction within a replica spans all of them."""
    site = pick(plan, random, lambda node: node.op == "all_reduce" or bool(dict(node.attrs).get("replicas")))
    if site is None:
        return None
    return _set(plan, random, site, "replicas", replicas=not dict(node_at(plan, site).attrs).get("replicas", False))


def _axes(node: Node) -> list[str]:
    return [name for name, _ in node.attrs if name in ("dim", "split_dim", "concat_dim")]


def _ranks(node: Node) -> tuple[int, ...]:
    ranks = dict(node.attrs).get("ranks")
    return ranks if isinstance(ranks, tuple) else ()


def _set(plan: Plan, random: Random, site: Site, what: str, **values: Hashable) -> Change:
    """Set attributes on one device or on all members of the group."""
    where = (site,) if random.random() < 0.4 else members(plan, site)
    changed = change_each(plan, where, lambda node: with_attrs(node, **values))
    told = ", ".join(f"{name}={value}" for name, value in values.items())
    return changed, f"{what}: {told} in {named(plan, site)} on {len(where)} devices"
