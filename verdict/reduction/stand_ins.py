"""Tables in the plans that are reduced: nodes read a given tensor, or one number, where they read a table before."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any, NamedTuple

from verdict.graph import BUFFER, Logical, Node, Plan, Region, Segment, Shape, Tensor, extent, whole
from verdict.ops import CONSTANT, Array
from verdict.reduction.tables import Content, Contents, Given, Use, match, uses_of
from verdict.semantics import signature


class Added(NamedTuple):
    """A tensor that a plan is given instead of tables.

    region: of a tensor of `shape`; like: the table of the single-device plan that this is, and of this plan the tensor
    that has its shape. number: what all its elements are, None of a given one.
    """

    name: str
    shape: Shape
    region: Region
    like: int
    tensor: int
    number: float | int | None


Axes = Callable[[int, int], frozenset[int]]
"""The axes of more than one element of a tensor, equal for those that have one scale. The first number is the plan."""


class Tables(NamedTuple):
    """What stands for the tables of one plan. swapped: for each use the place among `added`; kept: tensors that keep
    all their values.
    """

    added: tuple[Added, ...]
    swapped: Mapping[Use, int]
    kept: tuple[int, ...]


def stand_ins(
    single: Plan, parallel: Plan, read: Sequence[Mapping[tuple[object, ...], frozenset[int]]], axes: Axes
) -> tuple[Tables, Tables]:
    """What stands for the tables that nodes of both plans read as numbers. read: as `Coordinates.tables`, of both."""
    plans = (single, parallel)
    uses = [uses_of(plan, tables) for plan, tables in zip(plans, read, strict=True)]
    contents = [Contents(plan) if use else None for plan, use in zip(plans, uses, strict=True)]
    places = [tuple(dict.fromkeys((use.device, use.tensor) for use in found)) for found in uses]
    tables: list[list[Array | None]] = [
        [known.of(*place) for place in found] if known else [] for known, found in zip(contents, places, strict=True)
    ]
    along = [[axes(plan, tensor) for _, tensor in found] for plan, found in enumerate(places)]
    ones, twos = _settled(match(tables[0], tables[1]), along)
    leaders = [tensor for _, tensor in places[0]]
    return (
        _tables(uses[0], dict(zip(places[0], ones, strict=True)), tables[0], leaders),
        _tables(uses[1], dict(zip(places[1], twos, strict=True)), tables[0], leaders),
    )


def _settled(
    contents: tuple[Sequence[Content], Sequence[Content]], along: Sequence[Sequence[frozenset[int]]]
) -> tuple[list[Content], list[Content]]:
    """The contents without those along an axis that keeps its size, as another table along it keeps its values.

    One number beside a table of any numbers along one axis could be part of it: both keep their values.
    """
    found = list(contents[0]), list(contents[1])
    every = [(side, k) for side in (0, 1) for k in range(len(found[side]))]
    given = {axis for side, k in every if isinstance(found[side][k], Given) for axis in along[side][k]}
    for side, k in every:
        if not isinstance(found[side][k], Given) and along[side][k] & given:
            found[side][k] = None
    kept: set[int] = set()
    while True:
        fresh = {a for side, k in every if found[side][k] is None for a in along[side][k]} - kept
        if not fresh:
            return found
        kept |= fresh
        for side, k in every:
            if along[side][k] & kept:
                found[side][k] = None


def _tables(
    uses: Sequence[Use], contents: Mapping[tuple[int, int], Content], single: Sequence[Array | None],
    leaders: Sequence[int],
) -> Tables:  # fmt: skip
    added: dict[Added, int] = {}
    swapped: dict[Use, int] = {}
    kept: dict[int, None] = {}
    for use in uses:
        content = contents[use.device, use.tensor]
        if content is None:
            kept[use.tensor] = None
            continue
        if isinstance(content, Given):
            table = single[content.number]
            shape = () if table is None else table.shape
            name = f"table {content.number} of no input"
            found = Added(name, shape, content.region, leaders[content.number], use.tensor, None)
        else:
            found = Added(f"{content} everywhere", (), (), leaders[0] if leaders else 0, use.tensor, content)
        swapped[use] = added.setdefault(found, len(added))
    return Tables(tuple(added), swapped, tuple(kept))


def rewritten(plan: Plan, tables: Tables) -> Plan:
    """The plan that reads what stands for its tables. What is added stands behind its other tensors, in its order."""
    if not tables.added:
        return plan
    logicals, tensors = list(plan.logicals), list(plan.tensors)
    known: dict[str, int] = {}
    for added in tables.added:
        shape = added.shape if added.number is None else extent(plan.tensors[added.tensor].region)
        region = added.region if added.number is None else whole(shape)
        name = added.name if added.number is None else f"{added.name}, {len(tensors)}"
        if name not in known:
            known[name] = len(logicals)
            like = plan.logicals[plan.tensors[added.tensor].logical]
            given = Logical(name, shape, "float64", BUFFER, name)
            logicals.append(given if added.number is None else like._replace(name=name, shape=shape, origin=name))
        tensors.append(Tensor(known[name], region))
    segments = tuple(_rewritten(segment, plan, tables) for segment in plan.segments)
    return replace(plan, logicals=tuple(logicals), tensors=tuple(tensors), segments=segments)


def _rewritten(segment: Segment, plan: Plan, tables: Tables) -> Segment:
    nodes: list[Node] = []
    first = len(plan.tensors)
    written: set[int] = set()
    for node in segment.nodes:
        key, inputs = signature(node), list(node.inputs)
        for position, tensor in enumerate(node.inputs):
            place = tables.swapped.get(Use(segment.device, tensor, key, position))
            if place is None:
                continue
            inputs[position] = first + place
            if tables.added[place].number is not None and place not in written:
                written.add(place)
                nodes.append(Node(CONSTANT, (), (first + place,), (("number", place),), tables.added[place].name))
        nodes.append(node._replace(inputs=tuple(inputs)))
    return segment._replace(nodes=tuple(nodes))


def attributes(
    before: Plan, plan: Plan, tables: Tables, attrs: Mapping[tuple[object, ...], Mapping[str, Any]],
    shapes: Sequence[Shape],
) -> dict[tuple[object, ...], Mapping[str, Any]]:  # fmt: skip
    """The reduced attributes of the nodes of the rewritten plan. attrs: those of `before`. shapes: of all tensors."""
    found = dict(attrs)
    first = len(before.tensors)
    for old, new in zip(before.segments, plan.segments, strict=True):
        olds = iter(old.nodes)
        for node in new.nodes:
            added = node.outputs[0] - first if node.outputs else -1
            if node.op == CONSTANT and added >= 0:
                shape, number = shapes[node.outputs[0]], tables.added[added].number
                found[signature(node)] = {"shape": shape, "values": (number,) * prod(shape)}
                continue
            key = signature(next(olds))
            if key in attrs:
                found[signature(node)] = attrs[key]
    return found
