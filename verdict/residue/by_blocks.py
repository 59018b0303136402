"""The single-device plan on an axis whose blocks are in another order, and what must hold for it to be the same plan.

Where a node does the same for each index of an axis, what it makes of blocks in another order is in that order, and
what it adds up over them is the same. So it is where each block, by itself, makes its block of the result: that is
asked of each node, as of a plan whose ranks have one block each. All else reads blocks in the order that it knows.
"""

from collections.abc import Iterator, Mapping, Set
from math import prod
from typing import NamedTuple

from verdict.graph import ABSENT, ACCUMULATOR, GRAD, PER_STEP, Node, Plan
from verdict.lineage import IgnoredLaw, Signature, SumLaw, mean, reference
from verdict.ops import FACTS, RULES, Dim, Law
from verdict.residue.blocks import Blocks, Given, given_blocks, in_order
from verdict.residue.changed import Changed, runs_once
from verdict.residue.flattened import axes_of, is_reshape, shape_of
from verdict.residue.part_of import part_of
from verdict.stage import Members, Stage

MOST_ASKED = 256
"""The most blocks of an axis, of flattened ones those of each sample, of which each is asked of a node by itself."""

Tensors = tuple[tuple[Dim, ...], ...]
"""The dimensions of several tensors."""
Atoms = Mapping[str, Blocks]
"""The index axes of a node along which it works on blocks in the order of ranks, with these."""
Moved = frozenset[tuple[int, Blocks]]
"""The axes of a tensor whose blocks are in the order of ranks, with these."""
AS_IT_WAS: Moved = frozenset()


Asked = tuple[Signature, str, Blocks]
"""What the meaning of a node depends on that works on blocks in another order, along which index axis, and which."""


class Reordered(NamedTuple):
    """Both plans, given blocks in the order of ranks. questions: what must be proved of single-device nodes, for both
    to compute what the given plans do, each with what it is about; None where all rests on it.
    """

    single: Plan
    parallel: Plan
    questions: Mapping[Stage, Asked | None]


def by_blocks(single: Plan, parallel: Plan, refused: Set[Asked] = frozenset()) -> Reordered | None:
    """Both plans with blocks of positions in the order in which ranks hold them; None where these are intervals as it
    is, or nothing can be said of them in another order. refused: nodes that get their blocks as they were.
    """
    given = given_blocks(single, parallel) if runs_once(single) else None
    other = in_order(parallel, given) if given is not None else None
    if given is None or other is None:
        return None
    rewriting = _Reordering(single, given, refused)
    made = rewriting.anew(rewriting.take, rewriting.in_order)
    return Reordered(made, other, rewriting.questions)


class _Reordering(Changed):
    """The single-device plan, given blocks in another order. questions: what is to be proved of nodes that work on
    these as they are, or read no more than a shape.
    """

    def __init__(self, plan: Plan, given: Given, refused: Set[Asked]) -> None:
        super().__init__(plan)
        self.questions: dict[Stage, Asked | None] = {}
        self.refused = refused
        self._table = reference(plan, 1, {})
        self._moved: dict[int, Moved] = {}
        self._known: dict[tuple[int, Moved], int] = {}
        self._instead: dict[int, int] = {}
        for tensor, (logical, _, _) in enumerate(plan.tensors):
            axis = given.single.get(logical)
            if axis is not None:
                self._moved[tensor] = frozenset({(axis, given.blocks)})

    def take(self, node: Node) -> None:
        """Write a node: as it is where it works on blocks in another order, else it reads them as they were."""
        read, written, sizes, met = self._met(node)
        atoms = self._carried(node, written, met)
        unread = self._unread(node)
        inputs = [
            self._with(tensor, _along(read[place], atoms, sizes) if atoms else AS_IT_WAS)
            if tensor != ABSENT and place not in unread
            else tensor
            for place, tensor in enumerate(node.inputs)
        ]
        self.nodes.append(node._replace(inputs=tuple(inputs)))
        for tensor, dims in zip(node.outputs, written, strict=False):
            if tensor != ABSENT and self.plan.kind(tensor) not in PER_STEP:
                wanted = _along(dims, met, sizes) or (self._likely(node, tensor) if met and not atoms else AS_IT_WAS)
                self._move(tensor, _along(dims, atoms, sizes), wanted)

    def in_order(self, tensor: int) -> int:
        """A tensor with its blocks as the plan has them."""
        return self._with(tensor, AS_IT_WAS)

    def _met(self, node: Node) -> tuple[Tensors, Tensors, Mapping[str, int], Atoms]:
        """The dimensions of what a node reads and makes, the sizes of its index axes, and of which of these it meets
        blocks in another order.
        """
        found = axes_of(node, self.plan)
        if found is None:
            return (), (), {}, {}
        read, written, axes = found
        sizes = {atom.name: atom.size for atom in axes.atoms}
        unread, atoms = self._unread(node), dict[str, Blocks]()
        for place, (tensor, dims) in enumerate(zip(node.inputs, read, strict=True)):
            for axis, blocks in self._moved.get(tensor, AS_IT_WAS) if place not in unread else ():
                for name, own in _parts(dims[axis], blocks, sizes):
                    atoms.setdefault(name, own)
        return read, written, sizes, atoms

    def _carried(self, node: Node, written: Tensors, met: Atoms) -> Atoms:
        """The index axes of a node along which it works on blocks in another order, of those where it meets such. That
        it may is noted as what is to be proved.
        """
        if not met or FACTS.random(node.op):
            return {}
        fixed = {name for dims in self._lasting(node, written) for dim in dims for name in dim}
        if is_reshape(node, self.plan):
            return {name: blocks for name, blocks in met.items() if name not in fixed}
        partner = self._partner(node)
        if partner is None and FACTS.addends(node.op, node.inputs, len(node.outputs)) is None:
            return {}
        fixed |= _fixed(node, self.plan)
        atoms = {name: blocks for name, blocks in met.items() if name not in fixed}
        return atoms if partner is None else {k: blocks for k, blocks in atoms.items() if self._may(partner, k, blocks)}

    def _may(self, node: Signature, atom: str, blocks: Blocks) -> bool:
        """Whether a node may work on blocks in another order, where what is noted is proved."""
        about = node, atom, blocks
        questions = _questions(*about) if about not in self.refused else ()
        self.questions.update(dict.fromkeys(questions, about))
        return bool(questions)

    def _move(self, tensor: int, made: Moved, wanted: Moved) -> None:
        """Note in which order a node makes a tensor, and in which it is read: as what it was made of. All that reads it
        does so from there, since what is known between cut points is one tensor of each value.
        """
        self._moved[tensor] = made
        if wanted != made:
            self._instead[tensor] = self._with(tensor, wanted)
            self._moved[tensor] = wanted

    def _likely(self, node: Node, tensor: int) -> Moved:
        """In which order what a node makes is likely to be held by ranks: as what it reads of the same form."""
        shape = shape_of(self.plan, tensor)
        read = (t for t in node.inputs if t != ABSENT and len(shape_of(self.plan, t)) == len(shape))
        each = {place for t in read for place in self._moved.get(t, AS_IT_WAS)}
        return frozenset((axis, blocks) for axis, blocks in each if shape[axis] == blocks.size)

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
            self.questions[IgnoredLaw(partner, moved)] = None
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

    def _with(self, tensor: int, wanted: Moved) -> int:
        """A tensor with these blocks of these axes in the order of ranks, and no others."""
        moved, made = self._moved.get(tensor, AS_IT_WAS), self._instead.get(tensor, tensor)
        if moved == wanted:
            return made
        if (tensor, wanted) not in self._known:
            for axis, blocks in sorted(moved - wanted):
                made = self.in_pieces(made, axis, blocks.put_back)
            for axis, blocks in sorted(wanted - moved):
                made = self.in_pieces(made, axis, blocks.taken)
            self._known[tensor, wanted] = made
        return self._known[tensor, wanted]


def _parts(dim: Dim, blocks: Blocks, sizes: Mapping[str, int]) -> Iterator[tuple[str, Blocks]]:
    """The index axis of a dimension whose blocks are in another order where those of the dimension are."""
    every = [sizes[name] for name in dim]
    each = ((name, blocks.part(prod(every[:k]), every[k], prod(every[k + 1 :]))) for k, name in enumerate(dim))
    yield from [(name, own) for name, own in each if own is not None][:1]


def _along(dims: tuple[Dim, ...], atoms: Atoms, sizes: Mapping[str, int]) -> Moved:
    """The dimensions that are these index axes, or into which these are flattened, with their blocks; what has no
    elements is in any order.
    """
    found = set[tuple[int, Blocks]]()
    for axis, dim in enumerate(dims):
        every = [sizes[name] for name in dim]
        for k, name in enumerate(dim):
            if name in atoms and 0 not in every:
                found.add((axis, atoms[name].flattened(prod(every[:k]), prod(every[k + 1 :]))))
    return frozenset(found)


def _fixed(node: Node, plan: Plan) -> set[str]:
    """The index axes along which a node computes, of which attributes name places, or that are parts of a dimension."""
    found = axes_of(node, plan)
    if found is None:
        return set()
    axes = found[2]
    fixed = {atom.name for atom in axes.atoms if atom.law is Law.WHOLE}
    fixed.update(RULES[node.op.removesuffix(GRAD)].cuts(dict(node.attrs)))
    return fixed | {n for dims in (*axes.inputs, *axes.outputs) for dim in dims if len(dim) > 1 for n in dim}


def _questions(signature: Signature, atom: str, blocks: Blocks) -> tuple[Stage, ...]:
    """What has to be proved of a node, for it to work on blocks along an index axis in whatever order they are; nothing
    where a block by itself is another node.
    """
    meaning = mean(signature, 1)
    every = blocks.intervals if len(blocks.order) <= MOST_ASKED else ()
    own = [member for interval in every if (member := part_of(meaning, {atom: interval})) is not None]
    if not own or len(own) < len(every) or any(repr(member.attrs) != repr(own[0].attrs) for member in own):
        return ()
    ends = tuple(sorted({end for interval in every for end in interval}))
    parts = [output for output, claim in enumerate(own[0].claims) if claim and claim.part]
    return Members(signature, tuple(own)), *(SumLaw(signature, output, atom, ends) for output in parts)
