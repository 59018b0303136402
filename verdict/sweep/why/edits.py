"""Corrections of steps, said of the nodes of the plan: what a repair makes of it."""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from verdict.graph.fault import Added, Dropped, Edit, Given, Multiplied, NodeAt, Reduced, Wired
from verdict.sweep.why.scene import Scene
from verdict.sweep.why.siblings import Partition, Siblings
from verdict.sweep.why.words import collective, entered

SMALL = 4096
"""Numerators and denominators of factors that a repair multiplies by; others are not known exactly."""


def reduced(scene: Scene, at: Siblings, outputs: Sequence[int], groups: Partition, how: str) -> tuple[Edit, ...]:
    """An all-reduce of outputs behind steps, for each group; none where groups are not of ranks, each once."""
    if any(len({rank for rank, _ in group}) < len(group) or scene.parallel.columns > 1 for group in groups):
        return ()
    nodes = [tuple(_node(scene, at.steps[place]) for place in group) for group in groups]
    return tuple(Reduced(group, output, how) for output in outputs for group in nodes)


def dropped(scene: Scene, numbers: Iterable[int]) -> tuple[Edit, ...]:
    """No collective where there is an all-reduce."""
    nodes = _members(scene, numbers)
    return (Dropped(nodes),) if nodes and all(node.op == "all_reduce" for node in nodes) else ()


def handed_on(scene: Scene, numbers: Iterable[int], k: int = 0) -> tuple[Edit, ...]:
    """Steps that hand on one of their inputs."""
    nodes = tuple(_node(scene, number) for number in numbers)
    return (Dropped(nodes, k),) if nodes else ()


def without(scene: Scene, numbers: Iterable[int], k: int) -> tuple[Edit, ...]:
    """Sums of two without one of them."""
    nodes = [number for number in numbers if len(scene.step(number).inputs) == 2]
    return (Dropped(tuple(_node(scene, number) for number in nodes), 1 - k),) if nodes else ()


def wired(scene: Scene, numbers: Iterable[int], k: int, values: Iterable[int | None]) -> tuple[Edit, ...]:
    """Steps that read other values of their ranks. values: what a collective makes need be told of one of them."""
    nodes, sources, told = [], [], list(values)
    some = next((value for value in told if value is not None), None)
    for number, value in zip(numbers, told, strict=True):
        source = _source(scene, scene.step(number).place.rank, some if value is None else value)
        if source is None:
            return ()
        nodes.append(_node(scene, number))
        sources.append(source)
    return (Wired(tuple(nodes), k, tuple(sources)),)


def added(scene: Scene, numbers: Iterable[int], values: Iterable[int]) -> tuple[Edit, ...]:
    """Values of their ranks, added to the first output of steps."""
    steps = list(numbers)
    sources = [_source(scene, scene.step(k).place.rank, value) for k, value in zip(steps, values, strict=True)]
    known = tuple(source for source in sources if source is not None)
    nodes = tuple(_node(scene, number) for number in steps)
    return (Added(nodes, 0, known),) if nodes and len(known) == len(nodes) else ()


def _source(scene: Scene, rank: int, value: int | None) -> tuple[NodeAt, int] | None:
    """The node of a rank that makes a value, by itself or with others, and which output it is; None where none does."""
    maker = scene.maker.get(value) if value is not None else None
    if maker is None:
        return None
    step = scene.step(maker)
    if step.op.startswith("~"):
        node = collective(scene, step)
        if node is None or rank not in entered(scene, step):
            return None
        return NodeAt(rank % scene.parallel.devices, node.op, step.place.name, 0), 0
    return (_node(scene, maker), step.outputs.index(value)) if step.place.rank == rank else None


def reducing(scene: Scene, numbers: Iterable[int], how: str) -> tuple[Edit, ...]:
    """Collectives that reduce in another way."""
    nodes = _members(scene, numbers)
    return (Given(nodes, (("reduce", how),)),) if nodes else ()


def grouped(scene: Scene, numbers: Iterable[int], groups: Partition) -> tuple[Edit, ...]:
    """Collectives of other groups."""
    members = {node.device: node for node in _members(scene, numbers)}
    if scene.parallel.replicas > 1 or scene.parallel.columns > 1:
        return ()
    found = []
    for group in groups:
        ranks = tuple(rank for rank, _ in group)
        if not members.keys() >= set(ranks):
            return ()
        found.append(Given(tuple(members[rank] for rank in ranks), (("ranks", ranks),)))
    return tuple(found)


def attributes(
    scene: Scene, numbers: Iterable[int], attrs: Mapping[str, Any], names: Iterable[str]
) -> tuple[Edit, ...]:
    """Other numbers as attributes."""
    values = tuple(sorted((name, attrs[name]) for name in names if name in attrs))
    if not values or not all(isinstance(value, int | float) for _, value in values):
        return ()
    return (Given(tuple(_node(scene, number) for number in numbers), values),)


def multiplied(scene: Scene, numbers: Iterable[int], output: int, factor: float) -> tuple[Edit, ...]:
    """A factor behind steps."""
    exact = Fraction(factor).limit_denominator(SMALL)
    if not exact or abs(exact.numerator) > SMALL or abs(float(exact) - factor) > 1e-9 * abs(factor):
        return ()
    steps = list(numbers)
    collectives = _members(scene, steps)
    nodes = collectives or tuple(_node(scene, k) for k in steps if not scene.step(k).op.startswith("~"))
    return (Multiplied(nodes, output, exact),) if nodes else ()


def _node(scene: Scene, number: int) -> NodeAt:
    """The node of a step."""
    step = scene.step(number)
    return NodeAt(step.place.rank % scene.parallel.devices, step.op, step.place.name, _before(scene, number))


def _members(scene: Scene, numbers: Iterable[int]) -> tuple[NodeAt, ...]:
    """The nodes of all ranks that take part in the collectives of which steps are parts."""
    found: dict[NodeAt, None] = {}
    for number in numbers:
        step, before = scene.step(number), _before(scene, number)
        node = collective(scene, step)
        for rank in entered(scene, step) if node is not None else ():
            found[NodeAt(rank % scene.parallel.devices, node.op if node else "", step.place.name, before)] = None
    return tuple(found)


def _before(scene: Scene, number: int) -> int:
    step = scene.step(number)
    same = (other for other in scene.other.steps[:number] if other.place == step.place and other.op == step.op)
    return sum(1 for _ in same)
