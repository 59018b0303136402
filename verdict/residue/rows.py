"""Flattened axes in the order in which ranks hold them: the rows that a rank has are an interval of them again.

Of a batch of sequences of which each rank has a part of every sequence, a rank flattens a strided share of the rows
that one device flattens, which no region can name. What is done to rows does not depend on their order: this makes a
single-device plan that flattens them rank by rank, and puts them back where it does. It says nothing by itself: that
this plan computes what the single-device plan computes has to be proved as anything else.
"""

from collections.abc import Mapping
from typing import NamedTuple

from verdict.graph import ABSENT, GRAD, PER_STEP, Node, Plan
from verdict.ops import RULES, Law
from verdict.ops.regrouped import Made, by_pieces, from_pieces, viewed
from verdict.residue.changed import Changed, runs_once
from verdict.residue.flattened import Flat, Order, axes_of, flat_of, is_reshape, orders_of, partners, shape_of


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
    if parallel.columns > 1 or not (runs_once(single) and runs_once(parallel)):
        return None
    orders = orders_of(single, parallel)
    if not orders:
        return None
    rows = _Rows(single, orders)
    made = rows.rewritten()
    return Pair(made, _alike(single, parallel, rows.changed), rows.moved)


class _Rows(Changed):
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
        return self.anew(self._take, self._in_order)

    def _take(self, node: Node) -> None:
        moved = {place: self._moved[t] for place, t in enumerate(node.inputs) if t in self._moved}
        flat = flat_of(node, self.plan)
        order = self.orders.get(node.outputs)
        if not moved and order is not None and flat is not None:
            shapes = shape_of(self.plan, node.inputs[0]), shape_of(self.plan, node.outputs[0])
            self.chain(node.inputs[0], by_pieces(*shapes, flat.first, order.counts), node.name, node.outputs[0])
            self._moved[node.outputs[0]] = flat.dim, order
            self.changed[node.outputs] = flat
        elif moved and flat is not None and self._ends(flat, *moved[0]):
            shape = shape_of(self.plan, node.outputs[0])
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
        found = axes_of(node, self.plan)
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
            (dim, order), shape = self._moved[tensor], shape_of(self.plan, tensor)
            parts = (*shape[:dim], *order.sizes, *shape[dim + 1 :])
            made = [*from_pieces(parts, dim, order.counts), viewed(shape)]
            self._plain[tensor] = self.chain(tensor, made, "rows in order")
        return self._plain[tensor]


def _of_one_piece(node: Node, plan: Plan, flat: Flat) -> list[Made]:
    """What makes the same as a node that only makes other dimensions, written for one piece of each axis; nothing where
    a node does something else.
    """
    if not is_reshape(node, plan):
        return []
    read, made = shape_of(plan, node.inputs[0]), shape_of(plan, node.outputs[0])
    if len(read if flat.flattens else made) < flat.first + len(flat.sizes):
        return []
    ones = (1,) * len(flat.sizes)
    return by_pieces(read, made, flat.first, ones) if flat.flattens else from_pieces(made, flat.first, ones)


def _alike(single: Plan, parallel: Plan, changed: Mapping[tuple[int, ...], Flat]) -> Plan:
    """The parallel plan, whose nodes that are called as changed ones are written as these are, for one piece of each
    axis: they make what they made.
    """
    own = partners(single, parallel)
    found = Changed(parallel)
    segments = []
    for segment in parallel.segments:
        for node in segment.nodes:
            partner = own.get((segment.device, node.outputs))
            flat = changed.get(partner.outputs) if partner is not None else None
            forms = _of_one_piece(node, parallel, flat) if flat is not None else []
            if forms:
                found.chain(node.inputs[0], forms, node.name, node.outputs[0])
            else:
                found.nodes.append(node)
        segments.append(segment._replace(nodes=found.taken()))
    return found.of(segments)
