"""Which nodes flatten axes, or make them again, and of which flattened axes ranks hold strided shares."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

from verdict.errors import ShapeError
from verdict.graph import ABSENT, GRAD, PER_STEP, Node, Plan, Shape, extent
from verdict.lineage.counterparts import counterparts, in_turn
from verdict.ops import FACTS, RULES, Axes, Dim, Law


class Order(NamedTuple):
    """How axes are flattened into one: into how many pieces each is cut, and how long it is."""

    counts: tuple[int, ...]
    sizes: tuple[int, ...]


class Flat(NamedTuple):
    """A node that flattens some axes into one, or makes some of one. dim: that one; first: of the others. flattens:
    whether it makes the one.
    """

    dim: int
    first: int
    sizes: tuple[int, ...]
    flattens: bool


def orders_of(single: Plan, parallel: Plan) -> dict[tuple[int, ...], Order]:
    """By what they make, the nodes of the single-device plan of whose flattened axes ranks hold strided shares."""
    flats = {
        node.outputs: flat
        for node, flat in _flats(single)
        if flat.flattens and single.kind(node.outputs[0]) not in PER_STEP
    }
    counts: dict[tuple[int, ...], set[tuple[int, ...] | None]] = defaultdict(set)
    own = partners(single, parallel) if flats else {}
    for segment in parallel.segments:
        for node in segment.nodes:
            partner = own.get((segment.device, node.outputs))
            flat = flats.get(partner.outputs) if partner is not None else None
            if partner is not None and flat is not None and node.inputs:
                counts[partner.outputs].add(_counts(flat, shape_of(parallel, node.inputs[0])))
    found = {}
    for outputs, each in counts.items():
        alike = next(iter(each)) if len(each) == 1 else None
        if alike is not None and _is_strided(alike, flats[outputs].sizes):
            found[outputs] = Order(alike, flats[outputs].sizes)
    return found


def partners(single: Plan, parallel: Plan) -> dict[tuple[int, tuple[int, ...]], Node]:
    """For each node of each device, by its outputs, the single-device node that is called as it is; for one that
    flattens axes, or makes them again, and is called as none, the next of those that do so with axes of which it has a
    part.
    """
    every = counterparts(single, parallel, unwraps=True).items()
    found = {place: node for place, alike in every if (node := next(in_turn(alike), None)) is not None}
    taken = {node.outputs for node in found.values()}
    left = [(node, flat) for node, flat in _flats(single) if node.outputs not in taken]
    of_device: dict[int, list[tuple[Node, Flat]]] = defaultdict(lambda: list(left))
    for segment in parallel.segments if left else ():
        waiting = of_device[segment.device]
        for node in segment.nodes:
            flat = flat_of(node, parallel) if waiting and (segment.device, node.outputs) not in found else None
            fits = (k for k, other in enumerate(waiting) if flat and _is_part((node, flat), parallel, other, single))
            at = next(fits, None)
            if at is not None:
                found[segment.device, node.outputs] = waiting.pop(at)[0]
    return found


def _flats(plan: Plan) -> list[tuple[Node, Flat]]:
    """The nodes that flatten axes, or make them again."""
    every = ((node, flat_of(node, plan)) for segment in plan.segments for node in segment.nodes)
    return [(node, flat) for node, flat in every if flat is not None]


def _is_part(own: tuple[Node, Flat], parallel: Plan, whole: tuple[Node, Flat], single: Plan) -> bool:
    """Whether a node does to a part of each of some axes what another one does to all of them."""
    (mine, flat), (other, full) = own, whole
    if flat._replace(sizes=()) != full._replace(sizes=()) or len(flat.sizes) != len(full.sizes):
        return False
    parts = all(size and not its % size for size, its in zip(flat.sizes, full.sizes, strict=True))
    shapes = [
        shape_of(plan, node.inputs[0] if flat.flattens else node.outputs[0])
        for plan, node in ((parallel, mine), (single, other))
    ]
    besides = [(shape[: flat.first], shape[flat.first + len(flat.sizes) :]) for shape in shapes]
    return parts and besides[0] == besides[1]


def _counts(flat: Flat, shape: Shape) -> tuple[int, ...] | None:
    """Into how many pieces axes are cut of which a rank has one of this shape; None where it has none."""
    own = tuple(zip(shape[flat.first :], flat.sizes, strict=False))
    if len(own) < len(flat.sizes) or not all(size and not full % size for size, full in own):
        return None
    return tuple(full // size for size, full in own)


def _is_strided(counts: Sequence[int], sizes: Sequence[int]) -> bool:
    """Whether one piece of each axis is no interval of what they are flattened into."""
    long = [place for place, (count, size) in enumerate(zip(counts, sizes, strict=True)) if size > count]
    return any(count > 1 for count in counts[long[0] + 1 :]) if long else False


def flat_of(node: Node, plan: Plan) -> Flat | None:
    """How a node flattens axes into one, or makes axes of one, if it does that alone."""
    axes = axes_of(node, plan)
    if axes is None or not is_reshape(node, plan) or any(atom.law is not Law.EACH for atom in axes[2].atoms):
        return None
    (read,), (written,), sizes = *axes[:2], {atom.name: atom.size for atom in axes[2].atoms}
    for flattens, one, others in ((True, written, read), (False, read, written)):
        for dim, names in enumerate(one):
            alone = tuple((name,) for name in names)
            first = others.index(alone[0]) if len(names) > 1 and alone[0] in others else None
            if first is not None and others[first : first + len(alone)] == alone:
                return Flat(dim, first, tuple(sizes[name] for name in names), flattens)
    return None


def axes_of(node: Node, plan: Plan) -> tuple[tuple[tuple[Dim, ...], ...], tuple[tuple[Dim, ...], ...], Axes] | None:
    """The dimensions of all that a node reads, and of all that it makes, with its index axes."""
    rule = RULES.get(node.op.removesuffix(GRAD))
    if rule is None or ABSENT in node.inputs:
        return None
    grads = len(node.inputs) - len(node.outputs) if node.op.endswith(GRAD) else 0
    try:
        axes = rule.axes([shape_of(plan, tensor) for tensor in node.inputs[grads:]], dict(node.attrs))
    except ShapeError:
        return None
    read = (*(axes.outputs[:grads]), *axes.inputs)
    return read, axes.inputs if node.op.endswith(GRAD) else axes.outputs, axes


def shape_of(plan: Plan, tensor: int) -> Shape:
    """The shape of a tensor."""
    return extent(plan.tensors[tensor].region)


def is_reshape(node: Node, plan: Plan) -> bool:
    """Whether a node makes other dimensions of all that it reads, in row-major order."""
    axes = axes_of(node, plan)
    if axes is None or len(node.inputs) != 1 or len(node.outputs) != 1 or not FACTS.moves(node.op, 1):
        return False
    (read,), (written,), _ = axes
    return [*chain(*read)] == [*chain(*written)]
