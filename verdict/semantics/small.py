"""A plan at shapes: its own, or smaller ones."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from verdict.comparison import Fault, Faulty
from verdict.graph import ABSENT, Node, Plan, Region, Shape, extent, inside
from verdict.graph.lockstep import CHUNK, COMMUNICATION, LOADER
from verdict.ops import Pattern
from verdict.semantics.arity import Reading, axes_of, pattern_of, reading
from verdict.semantics.wiring import walk_messages


@dataclass(frozen=True, slots=True)
class Small:
    """One plan at small shapes.

    regions: of each tensor. logicals: the shape of each logical tensor. attrs: of each node (by its signature,
    see `signature`), reduced.
    """

    regions: tuple[Region, ...]
    logicals: tuple[Shape, ...]
    attrs: Mapping[tuple[object, ...], Mapping[str, Any]]

    def shape(self, tensor: int) -> Shape:
        """The local shape of a tensor."""
        return extent(self.regions[tensor])


def signature(node: Node) -> tuple[object, ...]:
    """What the reduced attributes of a node depend on."""
    return (node.op, node.attrs, node.inputs, node.outputs)


def at(plan: Plan, small: Small) -> Plan:
    """The plan at these shapes."""
    segments = tuple(
        segment._replace(nodes=tuple(_at(node, small) for node in segment.nodes)) for segment in plan.segments
    )
    return replace(
        plan,
        logicals=tuple(t._replace(shape=shape) for t, shape in zip(plan.logicals, small.logicals, strict=True)),
        tensors=tuple(t._replace(region=region) for t, region in zip(plan.tensors, small.regions, strict=True)),
        segments=segments,
    )


def _at(node: Node, small: Small) -> Node:
    attrs = small.attrs.get(signature(node))
    return node if attrs is None else node._replace(attrs=tuple(sorted(attrs.items())))


def full(plan: Plan) -> Small:
    """The plan at its full shapes, which must fit. Raises Faulty."""
    walk_messages(plan)
    nodes = nodes_of(plan)
    attrs = {key: dict(node.attrs) for key, (node, _, _) in nodes.items()}
    return Small(tuple(t.region for t in plan.tensors), tuple(t.shape for t in plan.logicals), attrs)


def nodes_of(plan: Plan) -> dict[tuple[object, ...], tuple[Node, Reading, Pattern]]:
    """The nodes that compute, by signature, with their patterns at full shapes."""
    shapes = plan.shapes
    for tensor in plan.tensors:
        if not inside(tensor.region, plan.logicals[tensor.logical].shape):
            name = plan.logicals[tensor.logical].name
            raise Faulty(Fault(f"the region {list(tensor.region)} is not inside of it", f"tensor {name}"))
    known: dict[tuple[object, ...], Pattern] = {}
    found: dict[tuple[object, ...], tuple[Node, Reading, Pattern]] = {}
    for segment in plan.segments:
        for node in segment.nodes:
            if node.op in COMMUNICATION or node.op in (CHUNK, LOADER) or signature(node) in found:
                continue
            where = f"{node.op} {node.name} on device {segment.device}"
            read = reading(node, where)
            kinds = tuple(shapes[tensor] if tensor != ABSENT else None for tensor in (*node.inputs, *node.outputs))
            key = (node.op, node.attrs, len(node.inputs), kinds)
            if key not in known:
                known[key] = pattern_of(node, read, axes_of(node, read, shapes, where), shapes, where)
            found[signature(node)] = (node, read, known[key])
    return found
