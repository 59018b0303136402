"""A plan that is written anew: nodes are put in the place of others, and make tensors of their own."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from verdict.graph import (
    ACTIVATION,
    GRADIENT,
    Attrs,
    Held,
    Interval,
    Logical,
    Node,
    Plan,
    Segment,
    Shape,
    Tensor,
    extent,
    whole,
)
from verdict.ops.reordered import joined, pieces


class Back(NamedTuple):
    """What a tensor that was given is made of, and the nodes that make it."""

    given: int
    nodes: tuple[Node, ...]


class Changed:
    """A plan of which some nodes are put in the place of others."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.logicals, self.tensors = list(plan.logicals), list(plan.tensors)
        self.nodes: list[Node] = []

    def made(self, read: Sequence[int], form: tuple[str, Attrs, Shape], name: str, output: int | None = None) -> int:
        """What a node makes of what it reads, by its operator, its attributes and a shape: a tensor of its own where
        none is given.
        """
        op, attrs, shape = form
        tensor = self._tensor(read[0], shape) if output is None else output
        self.nodes.append(Node(op, tuple(read), (tensor,), attrs, name))
        return tensor

    def chain(
        self, read: int, forms: Sequence[tuple[str, Attrs, Shape]], name: str, output: int | None = None
    ) -> int:
        """Nodes one after the other; what the last one makes, which is a tensor of its own where none is given."""
        for number, form in enumerate(forms, 1):
            read = self.made((read,), form, name, output if number == len(forms) else None)
        return read

    def in_pieces(self, read: int, axis: int, intervals: Sequence[Interval], output: int | None = None) -> int:
        """A tensor with these intervals of it side by side."""
        shape = extent(self.tensors[read].region)
        parts = [self.made((read,), form, "blocks") for form in pieces(shape, axis, intervals)]
        return self.made(parts, joined(shape, axis), "blocks in order", output)

    def put_back(self, tensor: int, axis: int, intervals: Sequence[Interval]) -> Back:
        """A tensor that is given whole as it is made of another one that is, in another order."""
        of = self.tensors[tensor]
        logical = self.logicals[of.logical]
        self.logicals.append(logical._replace(name=f"{logical.name} as it was", kind=ACTIVATION, origin=None))
        self.tensors[tensor] = of._replace(logical=len(self.logicals) - 1)
        self.tensors.append(of)
        given = len(self.tensors) - 1
        self.in_pieces(given, axis, intervals, tensor)
        return Back(given, self.taken())

    def taken(self) -> tuple[Node, ...]:
        """The nodes since the last time."""
        nodes, self.nodes = tuple(self.nodes), []
        return nodes

    def anew(self, take: Callable[[Node], None], declared: Callable[[int], int]) -> Plan:
        """A single-device plan of what is made of each node, as they run, and of declared outputs."""
        segments = list(self.plan.segments)
        for call in self.plan.programs[0]:
            for node in self.plan.segments[call.segment].nodes:
                take(node)
            segments[call.segment] = segments[call.segment]._replace(nodes=self.taken())

        def held_anew(held: Sequence[Held]) -> tuple[Held, ...]:
            return tuple(each._replace(tensor=declared(each.tensor)) for each in held)

        losses, gradients, outputs = map(held_anew, (self.plan.losses, self.plan.gradients, self.plan.outputs))
        last = self.plan.programs[0][-1].segment
        segments[last] = segments[last]._replace(nodes=(*segments[last].nodes, *self.taken()))
        return replace(self.of(segments), losses=losses, gradients=gradients, outputs=outputs)

    def of(self, segments: Sequence[Segment]) -> Plan:
        """The plan with these segments, and all tensors that were made for them."""
        logicals, tensors = tuple(self.logicals), tuple(self.tensors)
        return replace(self.plan, logicals=logicals, tensors=tensors, segments=tuple(segments), lines=())

    def _tensor(self, like: int, shape: Shape) -> int:
        logical, number = self.logicals[self.tensors[like].logical], len(self.logicals)
        kind = logical.kind if logical.kind == GRADIENT else ACTIVATION
        self.logicals.append(Logical(f"{logical.name} by rank {number}", shape, logical.dtype, kind))
        self.tensors.append(Tensor(len(self.logicals) - 1, whole(shape)))
        return len(self.tensors) - 1


def runs_once(plan: Plan) -> bool:
    """Whether no device runs a segment twice."""
    return all(len({call.segment for call in calls}) == len(calls) for calls in plan.programs)
