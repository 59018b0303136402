"""The single-device plan on an axis whose blocks are in another order, and what must hold for it to be the same plan.

Where a node does the same for each index of an axis, what it makes of blocks in another order is in that order, and
what it adds up over them is the same. So it is where each block, by itself, makes its block of the result: that is
asked of each node, as of a plan whose ranks have one block each. All else reads blocks in the order that it knows.
"""

from collections.abc import Iterable, Set
from typing import NamedTuple

from verdict.graph import ABSENT, ACCUMULATOR, GRAD, PER_STEP, Node, Plan
from verdict.lineage import IgnoredLaw, Signature, SumLaw, mean, reference
from verdict.ops import FACTS, RULES, Dim, Law
from verdict.ops import Axes as IndexAxes
from verdict.ops.reordered import joined, pieces
from verdict.residue.blocks import Blocks, Given, given_blocks, in_order
from verdict.residue.changed import Changed, runs_once
from verdict.residue.flattened import axes_of, shape_of
from verdict.residue.part_of import part_of
from verdict.stage import Members, Stage

Tensors = tuple[tuple[Dim, ...], ...]
"""The dimensions of several tensors."""
Axes = frozenset[int]
"""The axes of a tensor whose blocks are in the order of ranks."""
AS_IT_WAS: Axes = frozenset()


class Reordered(NamedTuple):
    """Both plans, given blocks in the order of ranks. questions: what must be proved of single-device nodes, for both
    to compute what the given plans do.
    """

    single: Plan
    parallel: Plan
    questions: tuple[Stage, ...]


def by_blocks(single: Plan, parallel: Plan) -> Reordered | None:
    """Both plans with blocks of positions in the order in which ranks hold them; None where these are intervals as it
    is, or nothing can be said of them in another order.
    """
    given = given_blocks(single, parallel) if runs_once(single) else None
    other = in_order(parallel, given) if given is not None else None
    if given is None or other is None:
        return None
    rewriting = _Reordering(single, given)
    made = rewriting.anew(rewriting.take, rewriting.in_order)
    questions = _questions(rewriting.questions, given.blocks)
    return Reordered(made, other, (*questions, *rewriting.laws)) if questions is not None else None


class _Reordering(Changed):
    """The single-device plan, given blocks in another order. questions: what the meanings of nodes depend on that work
    on these as they are, with the index axes along which they do. laws: that nodes read no more than a shape.
    """

    def __init__(self, plan: Plan, given: Given) -> None:
        super().__init__(plan)
        self.blocks = given.blocks
        self.questions: dict[tuple[Signature, str], None] = {}
        self.laws: dict[Stage, None] = {}
        self._table = reference(plan, 1, {})
        self._moved: dict[int, Axes] = {}
        self._known: dict[tuple[int, Axes], int] = {}
        for tensor, (logical, _, _) in enumerate(plan.tensors):
            axis = given.single.get(logical)
            if axis is not None:
                self._moved[tensor] = frozenset({axis})

    def take(self, node: Node) -> None:
        """Write a node: as it is where it works on blocks in another order, else it reads them as they were."""
        read, written, atoms = self._carried(node)
        unread = self._unread(node)
        inputs = [
            self._with(tensor, _along(read[place], atoms) if atoms else AS_IT_WAS)
            if tensor != ABSENT and place not in unread
            else tensor
            for place, tensor in enumerate(node.inputs)
        ]
        self.nodes.append(node._replace(inputs=tuple(inputs)))
        for tensor, dims in zip(node.outputs, written, strict=False):
            if tensor != ABSENT and (moved := _along(dims, atoms)):
                self._moved[tensor] = moved

    def in_order(self, tensor: int) -> int:
        """A tensor with its blocks as the plan has them."""
        return self._with(tensor, AS_IT_WAS)

    def _carried(self, node: Node) -> tuple[Tensors, Tensors, frozenset[str]]:
        """The dimensions of what a node reads and makes, and those of its index axes along which it works on blocks in
        another order. That it may is noted as what is to be proved.
        """
        found = axes_of(node, self.plan)
        if found is None or FACTS.random(node.op):
            return (), (), frozenset()
        read, written, axes = found
        partner = self._partner(node)
        if partner is None and FACTS.addends(node.op, node.inputs, len(node.outputs)) is None:
            return read, written, frozenset()
        unread, moved = self._unread(node), self._moved
        atoms = {
            name
            for place, (tensor, dims) in enumerate(zip(node.inputs, read, strict=True))
            for axis in moved.get(tensor, ())
            if place not in unread
            for name in dims[axis]
        }
        atoms -= _fixed(node, axes) | {name for dims in self._lasting(node, written) for dim in dims for name in dim}
        if partner is not None:
            self.questions.update(((partner, name), None) for name in sorted(atoms))
        return read, written, frozenset(atoms)
    def _lasting(self, node: Node, written: Tensors) -> Tensors:
        """The dimensions of those that last from step to step of what a node makes."""
        made = zip(node.outputs, written, strict=True)
        return tuple(dims for tensor, dims in made if tensor != ABSENT and self.plan.kind(tensor) in PER_STEP)

    def _unread(self, node: Node) -> frozenset[int]:
        """The inputs of which a node takes the shape alone; of what computes that is noted as what is to be proved."""
        rule = FACTS.of(node.op)
        unread = rule.unread(node.op.endswith(GRAD)) if rule is not None else frozenset[int]()
        moved = tuple(sorted(place for place in unread if node.inputs[place] in self._moved))
        partner = self._partner(node) if moved else None
        if partner is not None:
            self.laws[IgnoredLaw(partner, moved)] = None
        return unread

    def _partner(self, node: Node) -> Signature | None:
        """What the meaning of a node depends on; None of what adds up or copies, or reads what changes in a step."""
        if any(tensor != ABSENT and self.plan.kind(tensor) == ACCUMULATOR for tensor in node.inputs):
            return None
        values = tuple(self._table.values.get(tensor, ()) for tensor in node.inputs)
        wanted = tuple(tensor != ABSENT for tensor in node.outputs)
        for index in self._table.by_inputs.get((node.op, values), ()):
            partner = self._table.partners[index]
            if repr(partner.node.attrs) == repr(node.attrs) and partner.signature.wanted == wanted:
                return partner.signature
        return None

    def _with(self, tensor: int, axes: Axes) -> int:
        """A tensor with the blocks of these axes in the order of ranks, and of no others."""
        moved = self._moved.get(tensor, AS_IT_WAS)
        if moved == axes:
            return tensor
        if (tensor, axes) not in self._known:
            shape, made = shape_of(self.plan, tensor), tensor
            for axis in sorted(moved ^ axes):
                intervals = self.blocks.taken if axis in axes else self.blocks.put_back
                parts = [self.made((made,), form, "blocks") for form in pieces(shape, axis, intervals)]
                made = self.made(parts, joined(shape, axis), "blocks in order")
            self._known[tensor, axes] = made
        return self._known[tensor, axes]


def _along(dims: tuple[Dim, ...], atoms: Set[str]) -> Axes:
    """The dimensions that are these index axes."""
    return frozenset(axis for axis, dim in enumerate(dims) if len(dim) == 1 and dim[0] in atoms)


def _fixed(node: Node, axes: IndexAxes) -> set[str]:
    """The index axes along which a node computes, of which attributes name places, or that are parts of a dimension."""
    fixed = {atom.name for atom in axes.atoms if atom.law is Law.WHOLE}
    fixed.update(RULES[node.op.removesuffix(GRAD)].cuts(dict(node.attrs)))
    return fixed | {n for dims in (*axes.inputs, *axes.outputs) for dim in dims if len(dim) > 1 for n in dim}


def _questions(carried: Iterable[tuple[Signature, str]], blocks: Blocks) -> tuple[Stage, ...] | None:
    """What has to be proved of nodes, for each to work on blocks along an index axis in whatever order they are; None
    where a block by itself is another node.
    """
    found: dict[Stage, None] = {}
    for signature, atom in carried:
        meaning = mean(signature, 1)
        members = [part_of(meaning, {atom: interval}) for interval in blocks.intervals]
        own = [member for member in members if member is not None]
        if len(own) < len(members) or any(repr(member.attrs) != repr(own[0].attrs) for member in own):
            return None
        found[Members(signature, tuple(own))] = None
        ends = tuple(sorted({end for interval in blocks.intervals for end in interval}))
        claims = enumerate(own[0].claims)
        found.update(
            (SumLaw(signature, output, atom, ends), None) for output, claim in claims if claim and claim.part
        )
    return tuple(found)
