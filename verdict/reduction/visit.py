"""A node as values are followed through it: what it reads, what it makes, and along which axes it mixes elements."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from verdict.graph import ABSENT, GRAD, Node, Plan
from verdict.graph.lockstep import COMMUNICATION
from verdict.ops import FACTS, FLOWS, RULES, Attributes, Dim, Flow, Law, Pattern


class Axis(NamedTuple):
    """An axis of a tensor: its variable, and how many elements it has."""

    variable: int
    size: int


class Visit(NamedTuple):
    """key: the signature of the node. read: the logical tensor at each input position that is there, and whose values
    count: not those that name elements of an axis, nor those that are read for their shape alone.

    atoms: the variable of each atom of the pattern. mixed: the atoms along which outputs do not depend on one element
    alone. made: the logical tensors of the outputs that are wanted, by position.
    """

    key: tuple[object, ...]
    node: Node
    attrs: Attributes
    pattern: Pattern
    atoms: Mapping[str, int]
    read: Mapping[int, int]
    made: Mapping[int, int]
    mixed: frozenset[str]
    flow: Flow

    def dims(self, position: int) -> tuple[Dim, ...]:
        """The dimensions of an input."""
        axes = self.pattern.axes
        grads = len(self.node.inputs) - len(axes.inputs)
        return axes.outputs[position] if position < grads else axes.inputs[position - grads]

    def made_dims(self, position: int) -> tuple[Dim, ...]:
        """The dimensions of an output."""
        axes = self.pattern.axes
        return axes.inputs[position] if self.node.op.endswith(GRAD) else axes.outputs[position]

    def contracted(self, positions: Iterable[int]) -> frozenset[str]:
        """The atoms that are mixed along some of these inputs; none where elements are only put elsewhere."""
        if self.flow is Flow.MOVED:
            return frozenset()
        return self.mixed & {name for position in positions for dim in self.dims(position) for name in dim}

    def axes(self, atoms: Iterable[str]) -> frozenset[Axis]:
        """Atoms as axes."""
        return frozenset(Axis(self.atoms[name], self.size(name)) for name in atoms)

    def size(self, atom: str) -> int:
        """How many elements an atom has."""
        return next(each.size for each in self.pattern.axes.atoms if each.name == atom)


def visited(
    plan: Plan, key: tuple[object, ...], node: Node, pattern: Pattern, atoms: Mapping[str, int]
) -> Visit:
    """A node with its pattern at full shapes. Gradients mix along all axes, as far as is known."""
    gradient = node.op.endswith(GRAD)
    rule = RULES[node.op.removesuffix(GRAD)]
    unread = {*pattern.along, *rule.unread(gradient)}
    read = {k: plan.tensors[t].logical for k, t in enumerate(node.inputs) if t != ABSENT and k not in unread}
    made = {k: plan.tensors[t].logical for k, t in enumerate(node.outputs) if t != ABSENT}
    every = frozenset(atom.name for atom in pattern.axes.atoms)
    each = frozenset(atom.name for atom in pattern.axes.atoms if atom.law is Law.EACH)
    for dims in pattern.axes.outputs:
        each &= {name for dim in dims for name in dim}
    mixed = every if gradient else every - each
    return Visit(key, node, dict(node.attrs), pattern, atoms, read, made, mixed, _flow(node))


def _flow(node: Node) -> Flow:
    if node.op in COMMUNICATION or FACTS.adds_to(node.op, dict(node.attrs)):
        return Flow.UNKNOWN
    rule = RULES[node.op.removesuffix(GRAD)]
    return FLOWS.get(node.op, Flow.MOVED if rule.moves and not node.op.endswith(GRAD) else Flow.UNKNOWN)
