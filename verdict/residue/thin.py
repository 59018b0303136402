"""Axes along which a pair of small plans does the same for each index: what holds at one index holds at all.

Of an attention such are samples and heads. Reduced shapes keep two or three of each, and everything is done as often;
here one is left. Each node makes of the first index what it makes of a tensor of one, and of the others what it makes
of these: that is asked of every node, and by induction it makes each index of that index alone.
"""

from collections import Counter
from collections.abc import Iterator, Set
from dataclasses import replace
from typing import NamedTuple

from verdict.graph import ABSENT, BUFFER, GRAD, INPUT, Node, Plan
from verdict.graph.events import Event, events_of
from verdict.graph.lockstep import CHUNK, COMMUNICATION, attribute
from verdict.lineage import mean
from verdict.ops import FACTS, RULES, Axes, Dim, Law
from verdict.residue.flattened import axes_of
from verdict.residue.part_of import part_of, signature_of
from verdict.stage import Members

Dims = tuple[tuple[Dim, ...], ...]
"""The dimensions of several tensors."""
Axis = tuple[int, int, int]
"""Of the single-device plan, 0, or the parallel one, 1, a logical tensor, and a dimension of it."""
ALONG = frozenset({"all_gather", "reduce_scatter", CHUNK})
"""What puts pieces together, or takes them, along the dimension that it names."""
EACH = frozenset({"all_reduce", "broadcast", "reduce", "send", "recv"})
"""What does the same to all elements."""
FIRST: tuple[int, int] = (0, 1)
"""The index that is left."""


class Thin(NamedTuple):
    """A pair with one index of such axes. laws: what must be proved of its nodes, for it to stand for all of them."""

    single: Plan
    parallel: Plan
    laws: tuple[Members, ...]


def thin(single: Plan, parallel: Plan) -> Thin | None:
    """A pair of plans of one column with one index of each axis along which nothing is computed; None where there is no
    such axis, or nothing can be asked of a node.
    """
    found = _Found((single, parallel))
    left = found.left()
    if not left:
        return None
    laws: dict[Members, None] = {}
    one, other = (_thinned(plan, which, found, left, laws) for which, plan in enumerate((single, parallel)))
    return Thin(one, other, tuple(laws)) if one is not None and other is not None else None


class _Found:
    """Which axes are one axis, wherever they occur, and which cannot be left out."""

    def __init__(self, plans: tuple[Plan, Plan]) -> None:
        from networkx.utils import UnionFind  # noqa: PLC0415  (see deadlock.py)

        self.plans = plans
        self.one: UnionFind[Axis] = UnionFind()
        self.kept: set[Axis] = set()
        for which, plan in enumerate(plans):
            for event in events_of(plan, 0):
                self._note(which, event)
            for logical, region, _ in plan.tensors:
                shape = plan.logicals[logical].shape
                cut = (dim for dim, size in enumerate(shape) if region[dim] != (0, size))
                self.kept.update((which, logical, dim) for dim in cut)
        ends = [_ends(plan) for plan in plans]
        for name in ends[0].keys() & ends[1].keys():
            for dim in range(len(plans[0].logicals[ends[0][name]].shape)):
                self.one.union((0, ends[0][name], dim), (1, ends[1][name], dim))

    def left(self) -> Set[Axis]:
        """The first of each axis that can be left out, which is that axis at most once in every tensor."""
        kept = {self.one[axis] for axis in self.kept}
        found: set[Axis] = set()
        for which, plan in enumerate(self.plans):
            for logical, of in enumerate(plan.logicals):
                roots = [self.one[which, logical, dim] for dim in range(len(of.shape))]
                kept.update(root for root, count in Counter(roots).items() if count > 1)
                found.update(root for root, size in zip(roots, of.shape, strict=True) if size > 1)
        return found - kept

    def atoms(self, which: int, node: Node, left: Set[Axis]) -> Set[str]:
        """The index axes of a node that are left out."""
        plan = self.plans[which]
        found = axes_of(node, plan) if node.op not in COMMUNICATION | ALONG else None
        read = zip(node.inputs, found[0], strict=True) if found is not None else ()
        written = zip(node.outputs, found[1], strict=True) if found is not None else ()
        return {
            dims[dim][0]
            for tensor, dims in (*read, *written)
            for dim in range(len(dims) if tensor != ABSENT else 0)
            if dims[dim] and self.one[which, plan.tensors[tensor].logical, dim] in left
        }

    def _note(self, which: int, event: Event) -> None:
        for _, node in event.nodes:
            if node.op in COMMUNICATION | ALONG:
                continue
            found = axes_of(node, self.plans[which])
            if found is None or not node.inputs or FACTS.random(node.op):
                self._keep(which, node)
            else:
                self._note_axes(which, node, *found)
        meeting = [node for _, node in event.nodes if node.op in COMMUNICATION | ALONG]
        if meeting:
            self._note_meeting(which, meeting)

    def _note_axes(self, which: int, node: Node, read: Dims, written: Dims, axes: Axes) -> None:
        """Note which dimensions are one index axis of a node, and those along which it computes."""
        plan, places = self.plans[which], dict[str, list[Axis]]()
        for tensor, dims in (*zip(node.inputs, read, strict=True), *zip(node.outputs, written, strict=True)):
            for dim, names in enumerate(dims if tensor != ABSENT else ()):
                axis = (which, plan.tensors[tensor].logical, dim)
                self.kept.update({axis} if len(names) > 1 else ())
                for name in names:
                    places.setdefault(name, []).append(axis)
        rule = RULES[node.op.removesuffix(GRAD)]
        fixed = {*rule.cuts(dict(node.attrs)), *rule.keeps, *rule.indices.values(), *_lost(node, written, axes)}
        for name, (first, *others) in places.items():
            self.one.union(first, *others)
            self.kept.update({first} if name in fixed else ())

    def _note_meeting(self, which: int, nodes: list[Node]) -> None:
        """Note that the tensors of nodes that meet have the same axes, but for those along which pieces are taken."""
        plan = self.plans[which]
        if any(node.op not in EACH | ALONG for node in nodes):
            for node in nodes:
                self._keep(which, node)
            return
        tensors = [plan.tensors[t].logical for node in nodes for t in (*node.inputs, *node.outputs) if t != ABSENT]
        for dim in range(len(plan.logicals[tensors[0]].shape)):
            self.one.union(*((which, logical, dim) for logical in tensors))
        for node in nodes if nodes[0].op in ALONG else ():
            dim = attribute(node, "dim")
            self.kept.update((which, plan.tensors[t].logical, dim) for t in (*node.inputs, *node.outputs))

    def _keep(self, which: int, node: Node) -> None:
        plan = self.plans[which]
        for tensor in {*node.inputs, *node.outputs} - {ABSENT}:
            logical = plan.tensors[tensor].logical
            self.kept.update((which, logical, dim) for dim in range(len(plan.logicals[logical].shape)))


def _ends(plan: Plan) -> dict[str, int]:
    """The logical tensors by name that are given, or declared."""
    declared = {plan.tensors[held.tensor].logical for held in plan.declared}
    return {of.name: k for k, of in enumerate(plan.logicals) if of.kind in (INPUT, BUFFER) or k in declared}


def _lost(node: Node, written: Dims, axes: Axes) -> Iterator[str]:
    """The index axes of a node that it computes along, or adds up over."""
    outputs = [dims for tensor, dims in zip(node.outputs, written, strict=True) if tensor != ABSENT]
    made = [{name for dim in dims for name in dim} for dims in outputs]
    for atom in axes.atoms:
        if atom.law is not Law.UNUSED and (atom.law is not Law.EACH or not all(atom.name in each for each in made)):
            yield atom.name


def _thinned(plan: Plan, which: int, found: _Found, left: Set[Axis], laws: dict[Members, None]) -> Plan | None:
    """A plan whose tensors have one element along the axes that are left out; None where nothing can be said of a node.
    laws: what has to be proved is noted.
    """
    segments = []
    for segment in plan.segments:
        every = (_at_first(node, plan, found.atoms(which, node, left), laws) for node in segment.nodes)
        nodes = tuple(node for node in every if node is not None)
        if len(nodes) < len(segment.nodes):
            return None
        segments.append(segment._replace(nodes=nodes))

    def is_left(logical: int, dim: int) -> bool:
        return found.one[which, logical, dim] in left

    logicals = tuple(
        of._replace(shape=tuple(1 if is_left(k, dim) else size for dim, size in enumerate(of.shape)))
        for k, of in enumerate(plan.logicals)
    )
    tensors = tuple(
        of._replace(region=tuple(FIRST if is_left(of.logical, dim) else cut for dim, cut in enumerate(of.region)))
        for of in plan.tensors
    )
    return replace(plan, segments=tuple(segments), logicals=logicals, tensors=tensors)


def _at_first(node: Node, plan: Plan, atoms: Set[str], laws: dict[Members, None]) -> Node | None:
    """A node at one index of some of its axes; None where nothing can be said of it there, or of the others."""
    if not atoms:
        return node
    meaning = mean(signature_of(node, plan), 1)
    for atom in sorted(atoms):
        first, others = (part_of(meaning, {atom: cut}) for cut in (FIRST, (1, meaning.sizes.get(atom, 1))))
        if first is None or others is None:
            return None
        laws[Members(meaning.signature, (first, others))] = None
    alone = part_of(meaning, dict.fromkeys(atoms, FIRST))
    return node._replace(attrs=alone.attrs) if alone is not None else None
