"""Edits of a plan as data: nodes in place of others, new tensors, other programs, other declared outputs.

A patch names everything as it is in the plan that it was made for; what is new is numbered behind what is there.
So patches of one plan can be joined, and applied at once.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeVar

from verdict.graph import ABSENT, Attrs, Call, Held, Logical, Node, Plan, Segment, Tensor

Key = TypeVar("Key")
Kept = TypeVar("Kept")


class Site(NamedTuple):
    """Where a node stands: the segment, and its place there."""

    segment: int
    at: int


@dataclass(frozen=True)
class Patch:
    """One edit. instead: nodes in place of the one at a site. behind: nodes that follow the one at a site.

    logicals, tensors, segments: what is new. programs: by device. losses, gradients: by their place in the plan.
    declared: gradients that are declared besides.
    """

    instead: Mapping[Site, tuple[Node, ...]] = field(default_factory=dict)
    behind: Mapping[Site, tuple[Node, ...]] = field(default_factory=dict)
    logicals: tuple[Logical, ...] = ()
    tensors: tuple[Tensor, ...] = ()
    segments: tuple[Segment, ...] = ()
    programs: Mapping[int, tuple[Call, ...]] = field(default_factory=dict)
    losses: Mapping[int, Held] = field(default_factory=dict)
    gradients: Mapping[int, Held] = field(default_factory=dict)
    declared: tuple[Held, ...] = ()


def apply(plan: Plan, patch: Patch) -> Plan:
    """The plan with the patch."""
    touched = {site.segment for site in (*patch.instead, *patch.behind)}
    segments = tuple(
        segment._replace(nodes=tuple(_nodes(patch, number, segment))) if number in touched else segment
        for number, segment in enumerate(plan.segments)
    )
    return replace(
        plan,
        logicals=(*plan.logicals, *patch.logicals),
        tensors=(*plan.tensors, *patch.tensors),
        segments=(*segments, *patch.segments),
        lines=(),
        programs=tuple(patch.programs.get(device, program) for device, program in enumerate(plan.programs)),
        losses=tuple(patch.losses.get(number, held) for number, held in enumerate(plan.losses)),
        gradients=(
            *(patch.gradients.get(number, held) for number, held in enumerate(plan.gradients)),
            *patch.declared,
        ),
    )


def _nodes(patch: Patch, number: int, segment: Segment) -> Iterable[Node]:
    for at, node in enumerate(segment.nodes):
        site = Site(number, at)
        yield from patch.instead.get(site, (node,))
        yield from patch.behind.get(site, ())


def joined(plan: Plan, patches: Iterable[Patch]) -> tuple[Patch, tuple[bool, ...]]:
    """One patch of all that go together, in their order, and which of them it holds."""
    total, held = Patch(), []
    for patch in patches:
        both = _both(total, _moved(plan, patch, total))
        held.append(both is not None)
        total = both or total
    return total, tuple(held)


def _both(one: Patch, other: Patch) -> Patch | None:
    """The two patches as one; None where they want different things at one place."""
    instead = _union(one.instead, other.instead)
    programs = _union(one.programs, other.programs)
    losses, gradients = _union(one.losses, other.losses), _union(one.gradients, other.gradients)
    if instead is None or programs is None or losses is None or gradients is None:
        return None
    sites = [*one.behind, *(site for site in other.behind if site not in one.behind)]
    return Patch(
        instead,
        {site: (*one.behind.get(site, ()), *other.behind.get(site, ())) for site in sites},
        (*one.logicals, *other.logicals),
        (*one.tensors, *other.tensors),
        (*one.segments, *other.segments),
        programs,
        losses,
        gradients,
        (*one.declared, *other.declared),
    )


def _union(one: Mapping[Key, Kept], other: Mapping[Key, Kept]) -> dict[Key, Kept] | None:
    if any(one[key] != other[key] for key in one.keys() & other.keys()):
        return None
    return {**one, **other}


def _moved(plan: Plan, patch: Patch, before: Patch) -> Patch:
    """The patch with what is new in it numbered behind what is new in `before`."""
    old_tensors, old_logicals, old_segments = len(plan.tensors), len(plan.logicals), len(plan.segments)

    def tensor(number: int) -> int:
        return number + len(before.tensors) if number >= old_tensors else number

    def node(one: Node) -> Node:
        return one._replace(inputs=tuple(map(tensor, one.inputs)), outputs=tuple(map(tensor, one.outputs)))

    def held(one: Held) -> Held:
        return one._replace(tensor=tensor(one.tensor))

    def call(one: Call) -> Call:
        return one._replace(segment=one.segment + len(before.segments)) if one.segment >= old_segments else one

    return Patch(
        {site: tuple(map(node, nodes)) for site, nodes in patch.instead.items()},
        {site: tuple(map(node, nodes)) for site, nodes in patch.behind.items()},
        patch.logicals,
        tuple(
            one._replace(logical=one.logical + len(before.logicals)) if one.logical >= old_logicals else one
            for one in patch.tensors
        ),
        tuple(one._replace(nodes=tuple(map(node, one.nodes))) for one in patch.segments),
        {device: tuple(map(call, calls)) for device, calls in patch.programs.items()},
        {number: held(one) for number, one in patch.losses.items()},
        {number: held(one) for number, one in patch.gradients.items()},
        tuple(map(held, patch.declared)),
    )


def node_at(plan: Plan, site: Site) -> Node:
    """The node at a site."""
    return plan.segments[site.segment].nodes[site.at]


def device_at(plan: Plan, site: Site) -> int:
    """The device of a site."""
    return plan.segments[site.segment].device


def with_attrs(node: Node, **values: object) -> Node:
    """The node with these attributes set; None removes one."""
    attrs = {**dict(node.attrs), **values}
    kept: Attrs = tuple(sorted((name, value) for name, value in attrs.items() if value is not None))
    return node._replace(attrs=kept)


def with_input(node: Node, old: int, new: int) -> Node:
    """The node reading another tensor wherever it read `old`."""
    return node._replace(inputs=tuple(new if tensor == old else tensor for tensor in node.inputs))


def with_output(node: Node, old: int, new: int) -> Node:
    """The node writing another tensor where it wrote `old`."""
    return node._replace(outputs=tuple(new if tensor == old else tensor for tensor in node.outputs))


def present(tensors: Iterable[int]) -> tuple[int, ...]:
    """Those that are not absent."""
    return tuple(tensor for tensor in tensors if tensor != ABSENT)
