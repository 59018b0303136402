"""Flattened axes in the order in which ranks hold them: the rows that a rank has are an interval of them again.

Of a batch of sequences of which each rank has a part of every sequence, a rank flattens a strided share of the rows
that one device flattens, which no region can name. What is done to rows does not depend on their order: this makes a
single-device plan that flattens them rank by rank, and puts them back where it does. It says nothing by itself: that
this plan computes what the single-device plan computes has to be proved as anything else.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

from verdict.errors import ShapeError
from verdict.graph import ABSENT, GRAD, PER_STEP, Node, Plan, Shape, Tensor, extent, whole
from verdict.lineage.counterparts import NONE, counterparts, in_turn
from verdict.ops import FACTS, RULES, Axes, Dim, Law
from verdict.ops.regrouped import Made, by_pieces, from_pieces, viewed


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


class Pair(NamedTuple):
    """Both plans, the same rows flattened in the same order in both. moved: the tensors of the single-device plan that
    have rows in another order than before.
    """

    single: Plan
    parallel: Plan
    moved: frozenset[int]


def by_rank(single: Plan, parallel: Plan) -> Pair | None:
    """Both plans with flattened axes in the order in which ranks hold them; None where these are intervals as it is.

    The parallel plan computes the same as before: a rank has one piece of each axis.
    """
    once = all(len({call.segment for call in calls}) == len(calls) for calls in (*single.programs, *parallel.programs))
    if parallel.columns > 1 or not once:
        return None
    orders = _orders(single, parallel)
    if not orders:
        return None
    rows = _Rows(single, orders)
    made = rows.rewritten()
    return Pair(made, _alike(single, parallel, rows.changed), rows.moved)


def _orders(single: Plan, parallel: Plan) -> dict[tuple[int, ...], Order]:
    """By what they make, the nodes of the single-device plan of whose flattened axes ranks hold strided shares."""
    flats = {
        node.outputs: flat
        for segment in single.segments
        for node in segment.nodes
        if (flat := _flat(node, single)) is not None and flat.flattens
    }
    counts: dict[tuple[int, ...], set[tuple[int, ...] | None]] = defaultdict(set)
    for node, partner in _partners(single, parallel) if flats else ():
        flat = flats.get(partner.outputs)
        if flat is not None:
            counts[partner.outputs].add(_counts(flat, _shape(parallel, node.inputs[0])))
    found = {}
    for outputs, each in counts.items():
        alike = next(iter(each)) if len(each) == 1 else None
        if alike is not None and _is_strided(alike, flats[outputs].sizes):
            found[outputs] = Order(alike, flats[outputs].sizes)
    return found


def _partners(single: Plan, parallel: Plan) -> list[tuple[Node, Node]]:
    """The nodes of the parallel plan with those of the single-device plan that are called as they are."""
    own = counterparts(single, parallel)
    every = ((segment.device, node) for segment in parallel.segments for node in segment.nodes)
    found = ((node, next(in_turn(own.get((device, node.outputs), NONE)), None)) for device, node in every)
    return [(node, partner) for node, partner in found if partner is not None]


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


def _flat(node: Node, plan: Plan) -> Flat | None:
    """How a node flattens axes into one, or makes axes of one, if it does that alone."""
    axes = _axes(node, plan)
    if axes is None or not _is_reshape(node, plan) or any(atom.law is not Law.EACH for atom in axes[2].atoms):
        return None
    (read,), (written,), sizes = *axes[:2], {atom.name: atom.size for atom in axes[2].atoms}
    for flattens, one, others in ((True, written, read), (False, read, written)):
        for dim, names in enumerate(one):
            if len(names) > 1 and all((name,) in others for name in names):
                return Flat(dim, others.index((names[0],)), tuple(sizes[name] for name in names), flattens)
    return None


def _axes(node: Node, plan: Plan) -> tuple[tuple[tuple[Dim, ...], ...], tuple[tuple[Dim, ...], ...], Axes] | None:
    """The dimensions of all that a node reads, and of all that it makes, with its index axes."""
    rule = RULES.get(node.op.removesuffix(GRAD))
    if rule is None or ABSENT in node.inputs:
        return None
    grads = len(node.inputs) - len(node.outputs) if node.op.endswith(GRAD) else 0
    try:
        axes = rule.axes([_shape(plan, tensor) for tensor in node.inputs[grads:]], dict(node.attrs))
    except ShapeError:
        return None
    read = (*(axes.outputs[:grads]), *axes.inputs)
    return read, axes.inputs if node.op.endswith(GRAD) else axes.outputs, axes


def _shape(plan: Plan, tensor: int) -> Shape:
    return extent(plan.tensors[tensor].region)


class _Changed:
    """A plan of which some nodes are put in the place of others."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.logicals, self.tensors = list(plan.logicals), list(plan.tensors)
        self.nodes: list[Node] = []

    def chain(self, read: int, made: Sequence[Made], name: str, output: int | None = None) -> int:
        """Nodes one after the other; what the last one makes, which is a tensor of its own where none is given."""
        for number, (op, attrs, shape) in enumerate(made, 1):
            last = output is not None and number == len(made)
            tensor = output if last and output is not None else self._tensor(read, shape)
            self.nodes.append(Node(op, (read,), (tensor,), attrs, name))
            read = tensor
        return read

    def taken(self) -> tuple[Node, ...]:
        """The nodes since the last time."""
        nodes, self.nodes = tuple(self.nodes), []
        return nodes

    def _tensor(self, like: int, shape: Shape) -> int:
        logical, number = self.logicals[self.tensors[like].logical], len(self.logicals)
        self.logicals.append(logical._replace(name=f"{logical.name} by rank {number}", shape=shape, origin=None))
        self.tensors.append(Tensor(len(self.logicals) - 1, whole(shape)))
        return len(self.tensors) - 1


class _Rows(_Changed):
    """The single-device plan with some axes flattened in other orders. changed: by what they make, the nodes that
    flatten them, or make axes of what is so flattened.
    """

    def __init__(self, plan: Plan, orders: Mapping[tuple[int, ...], Order]) -> None:
        super().__init__(plan)
        self.orders = orders
        self.changed: dict[tuple[int, ...], Flat] = {}
        self._moved: dict[int, tuple[int, Order]] = {}
        self._plain: dict[int, int] = {}

    @property
    def moved(self) -> frozenset[int]:
        """The tensors that have rows in another order than before."""
        return frozenset(self._moved)

    def rewritten(self) -> Plan:
        """The plan, whose declared outputs are as before."""
        segments = list(self.plan.segments)
        for call in self.plan.programs[0]:
            for node in self.plan.segments[call.segment].nodes:
                self._take(node)
            segments[call.segment] = segments[call.segment]._replace(nodes=self.taken())
        declared = [
            tuple(held._replace(tensor=self._in_order(held.tensor)) for held in each)
            for each in (self.plan.losses, self.plan.gradients, self.plan.outputs)
        ]
        last = self.plan.programs[0][-1].segment
        segments[last] = segments[last]._replace(nodes=(*segments[last].nodes, *self.taken()))
        losses, gradients, outputs = declared
        return replace(
            self.plan,
            logicals=tuple(self.logicals),
            tensors=tuple(self.tensors),
            segments=tuple(segments),
            losses=losses,
            gradients=gradients,
            outputs=outputs,
            lines=(),
        )

    def _take(self, node: Node) -> None:
        moved = {place: self._moved[t] for place, t in enumerate(node.inputs) if t in self._moved}
        flat = _flat(node, self.plan)
        order = self.orders.get(node.outputs)
        if not moved and order is not None and flat is not None:
            shapes = _shape(self.plan, node.inputs[0]), _shape(self.plan, node.outputs[0])
            self.chain(node.inputs[0], by_pieces(*shapes, flat.first, order.counts), node.name, node.outputs[0])
            self._moved[node.outputs[0]] = flat.dim, order
            self.changed[node.outputs] = flat
        elif moved and flat is not None and self._ends(flat, *moved[0]):
            shape = _shape(self.plan, node.outputs[0])
            self.chain(node.inputs[0], from_pieces(shape, flat.first, moved[0][1].counts), node.name, node.outputs[0])
            self.changed[node.outputs] = flat
        elif moved and (made := self._carried(node, moved)) is not None:
            self.nodes.append(node)
            self._moved.update(made)
        else:
            self.nodes.append(node._replace(inputs=tuple(self._in_order(tensor) for tensor in node.inputs)))

    def _ends(self, flat: Flat, dim: int, order: Order) -> bool:
        """Whether a node makes the axes again that were flattened."""
        return not flat.flattens and (flat.dim, flat.sizes) == (dim, order.sizes)

    def _carried(self, node: Node, moved: Mapping[int, tuple[int, Order]]) -> dict[int, tuple[int, Order]] | None:
        """What a node makes in another order, where it does the same for each index of an axis of which all that it
        reads is in that order; None where it does not.
        """
        found = _axes(node, self.plan)
        if found is None or len({order for _, order in moved.values()}) > 1:
            return None
        read, written, axes = found
        names = {name for place, (dim, _) in moved.items() for name in [read[place][dim]]}
        order = next(iter(moved.values()))[1]
        if len(names) > 1 or len(only := next(iter(names))) != 1:
            return None
        (atom,) = (atom for atom in axes.atoms if atom.name == only[0])
        rule = RULES[node.op.removesuffix(GRAD)]
        if atom.law is Law.WHOLE or atom.name in rule.cuts(dict(node.attrs)):
            return None
        for place, dims in enumerate(read):
            if any(atom.name in dim for dim in dims) and (place not in moved or dims.index(only) != moved[place][0]):
                return None
        made = {}
        for tensor, dims in zip(node.outputs, written, strict=True):
            if tensor != ABSENT and any(atom.name in dim for dim in dims):
                if only not in dims or self.plan.kind(tensor) in PER_STEP:
                    return None
                made[tensor] = dims.index(only), order
        return made

    def _in_order(self, tensor: int) -> int:
        """A tensor with its rows where the plan has them."""
        if tensor not in self._moved:
            return tensor
        if tensor not in self._plain:
            (dim, order), shape = self._moved[tensor], _shape(self.plan, tensor)
            parts = (*shape[:dim], *order.sizes, *shape[dim + 1 :])
            made = [*from_pieces(parts, dim, order.counts), viewed(shape)]
            self._plain[tensor] = self.chain(tensor, made, "rows in order")
        return self._plain[tensor]


def _alike(single: Plan, parallel: Plan, changed: Mapping[tuple[int, ...], Flat]) -> Plan:
    """The parallel plan, whose nodes that are called as changed ones are written as these are, for one piece of each
    axis: they make what they made.
    """
    own = counterparts(single, parallel)
    found = _Changed(parallel)
    segments = []
    for segment in parallel.segments:
        for node in segment.nodes:
            partner = next(in_turn(own.get((segment.device, node.outputs), NONE)), None)
            flat = changed.get(partner.outputs) if partner is not None else None
            if flat is None or not _is_reshape(node, parallel):
                found.nodes.append(node)
                continue
            ones = (1,) * len(flat.sizes)
            read, made = _shape(parallel, node.inputs[0]), _shape(parallel, node.outputs[0])
            forms = by_pieces(read, made, flat.first, ones) if flat.flattens else from_pieces(made, flat.first, ones)
            found.chain(node.inputs[0], forms, node.name, node.outputs[0])
        segments.append(segment._replace(nodes=found.taken()))
    return replace(
        parallel,
        logicals=tuple(found.logicals),
        tensors=tuple(found.tensors),
        segments=tuple(segments),
        lines=(),
    )


def _is_reshape(node: Node, plan: Plan) -> bool:
    """Whether a node makes other dimensions of all that it reads, in row-major order."""
    axes = _axes(node, plan)
    if axes is None or len(node.inputs) != 1 or len(node.outputs) != 1 or not FACTS.moves(node.op, 1):
        return False
    (read,), (written,), _ = axes
    return [*chain(*read)] == [*chain(*written)]
