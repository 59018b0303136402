"""Where a fault can be put, and plans with some nodes exchanged for others."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import NamedTuple

from verdict.graph import ABSENT, GRAD, Node, Plan, Shape, extent
from verdict.graph.lockstep import CHUNK, COLLECTIVES, RECV, SEND

Change = tuple[Plan, str]
"""A changed plan, and what was changed, for people."""


class Site(NamedTuple):
    """The node at place `at` of a segment."""

    segment: int
    at: int


def node_at(plan: Plan, site: Site) -> Node:
    """The node at a site."""
    return plan.segments[site.segment].nodes[site.at]


def named(plan: Plan, site: Site) -> str:
    """A site for people."""
    node, segment = node_at(plan, site), plan.segments[site.segment]
    return f"{node.op} {node.name} (node {site.at} of {segment.name}, device {segment.device})"


def sites(plan: Plan, wanted: Callable[[Node], bool]) -> list[Site]:
    """All nodes that are wanted, in the order of the plan."""
    return [
        Site(k, index)
        for k, segment in enumerate(plan.segments)
        for index, node in enumerate(segment.nodes)
        if wanted(node)
    ]


def pick(plan: Plan, random: Random, wanted: Callable[[Node], bool]) -> Site | None:
    """One wanted node: first an operator at random, then one of its nodes, so that rare ones have their turn."""
    found: dict[str, list[Site]] = {}
    for site in sites(plan, wanted):
        found.setdefault(node_at(plan, site).op, []).append(site)
    if not found:
        return None
    return random.choice(found[random.choice(sorted(found))])


def spread(plan: Plan, random: Random, site: Site) -> tuple[Site, ...]:
    """Where a fault shows: at the site alone, at its twins on all devices, or in forward and gradient of all."""
    chance = random.random()
    if chance < 0.4:
        return (site,)
    if chance < 0.7:
        return twins(plan, site)
    base, name = node_at(plan, site).op.removesuffix(GRAD), node_at(plan, site).name
    return tuple(sites(plan, lambda other: (other.op.removesuffix(GRAD), other.name) == (base, name)))


def twins(plan: Plan, site: Site) -> tuple[Site, ...]:
    """The nodes of the same operator and name on all devices, one a device, that of `site` included."""
    node, home = node_at(plan, site), plan.segments[site.segment].device
    found = {home: site}
    for other in sites(plan, lambda other: (other.op, other.name) == (node.op, node.name)):
        found.setdefault(plan.segments[other.segment].device, other)
    return tuple(found.values())


def members(plan: Plan, site: Site) -> tuple[Site, ...]:
    """The nodes with which a collective meets: same operator, group and channel, or name where there is none."""
    node = node_at(plan, site)
    attrs = dict(node.attrs)
    if node.op not in COLLECTIVES or "ranks" not in attrs:
        return (site,)
    key = (attrs["ranks"], attrs.get("channel", node.name))

    def meets(other: Node) -> bool:
        theirs = dict(other.attrs)
        return other.op == node.op and (theirs.get("ranks"), theirs.get("channel", other.name)) == key

    group = attrs["ranks"] if isinstance(attrs["ranks"], tuple) else ()
    return tuple(other for other in sites(plan, meets) if plan.segments[other.segment].device in group) or (site,)


def edit(plan: Plan, changes: Mapping[Site, Sequence[Node]]) -> Plan:
    """The plan with these nodes in place of those at the sites."""
    touched = {site.segment for site in changes}
    segments = tuple(
        segment._replace(
            nodes=tuple(node for index, old in enumerate(segment.nodes) for node in changes.get(Site(k, index), (old,)))
        )
        if k in touched
        else segment
        for k, segment in enumerate(plan.segments)
    )
    return replace(plan, segments=segments)


def change_each(plan: Plan, where: Iterable[Site], change: Callable[[Node], Node]) -> Plan:
    """The plan with `change` of the nodes at these sites."""
    return edit(plan, {site: (change(node_at(plan, site)),) for site in where})


def with_attrs(node: Node, **values: Hashable) -> Node:
    """The node with these attributes set."""
    return node._replace(attrs=tuple(sorted({**dict(node.attrs), **values}.items())))


def shape(plan: Plan, tensor: int) -> Shape | None:
    """The local shape of a tensor; None for an absent one."""
    return None if tensor == ABSENT else extent(plan.tensors[tensor].region)


def fresh(plan: Plan, like: int) -> tuple[Plan, int]:
    """The plan with one more tensor, like another one in all but identity and logical tensor."""
    logical, region, part = plan.tensors[like]
    other = plan.logicals[logical]._replace(name=f"{plan.logicals[logical].name}.again", origin=None)
    tensor = plan.tensors[like]._replace(logical=len(plan.logicals), region=region, part=part)
    return replace(plan, logicals=(*plan.logicals, other), tensors=(*plan.tensors, tensor)), len(plan.tensors)


def is_collective(node: Node) -> bool:
    """Whether a whole group takes part in the node."""
    return node.op in COLLECTIVES


def communicates(node: Node) -> bool:
    """Whether the node has to do with other devices: messages, collectives, and the pieces of a group."""
    return node.op in COLLECTIVES or node.op in (SEND, RECV, CHUNK)


def computes(node: Node) -> bool:
    """Whether the node is an operator, not communication and not a loader."""
    return not communicates(node) and node.op != "dataloader"
