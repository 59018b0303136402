"""Random numbers that a recorded step draws, made inputs: draws that are the same are one input.

A node `random_draw` reads nothing and makes what a generator draws from one state: attributes `state` (all of the
generator's state before it, as a word), `kind`, `parameters`, `dtype` and `layout` of the memory that is written, and,
for people and for `verdict/graph/matched.py`, `number` (of the draw in its rank's step), `module` and `again` (whether
it runs in the backward pass). What agrees in all but these is the same draw.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from verdict.graph.lockstep import LOADER
from verdict.graph.plan import INPUT, Logical, Node, Plan, Tensor
from verdict.graph.region import Region, Shape, whole

DRAW = "random_draw"
BERNOULLI, UNIFORM, NORMAL, EXPONENTIAL, INTEGERS = "bernoulli", "uniform", "normal", "exponential", "integers"
"""What is drawn: true with probability p; from a to b; with mean m and deviation s; at rate l; from a to b - 1."""
FLOATS = ("float16", "float32", "float64", "bfloat16")
"""The types of real numbers that a program computes with."""
_FORMS: Mapping[str, tuple[int, tuple[str, ...]]] = {
    BERNOULLI: (1, ("bool",)),
    UNIFORM: (2, FLOATS),
    NORMAL: (2, FLOATS),
    EXPONENTIAL: (1, FLOATS),
    INTEGERS: (2, ("int8", "int16", "int32", "int64", "uint8")),
}
"""Of each kind, the number of its parameters, and the types that it may be of."""
OF_DRAWS = ("state", "kind", "parameters", "dtype", "layout", "number", "module", "again")
"""The attributes of a draw."""


class Draw(NamedTuple):
    """One draw of a plan. segment, node: which node it is. tensor: what it makes."""

    segment: int
    node: int
    device: int
    tensor: int
    shape: Shape
    made: str
    attrs: Mapping[str, Hashable]

    @property
    def state(self) -> Hashable:
        """The state that it is drawn from."""
        return self.attrs["state"]

    @property
    def law(self) -> Hashable:
        """What its elements have in common, wherever they are drawn."""
        return self.attrs["kind"], self.attrs["parameters"], self.made

    @property
    def same(self) -> Hashable:
        """Equal for draws that draw the same."""
        return self.state, self.law, self.shape, self.attrs["dtype"], self.attrs["layout"]

    @property
    def parameters(self) -> tuple[float, ...]:
        """The parameters of its kind."""
        found = self.attrs["parameters"]
        return found if isinstance(found, tuple) else ()

    @property
    def module(self) -> str:
        """The module that draws, as people call it."""
        return str(self.attrs["module"]) or "the step"


class Use(NamedTuple):
    """The input that a draw becomes: its name, its whole shape, and which region of it."""

    name: str
    shape: Shape
    region: Region


def draws_of(plan: Plan) -> list[Draw]:
    """All draws of a plan, rank by rank in their order; none where it has several microbatches or replicas, or runs a
    segment again: there a node would draw several times, and stays what has no rule.
    """
    calls = [call.segment for program in plan.programs for call in program]
    if plan.columns != 1 or len(set(calls)) != len(calls):
        return []
    return list(_draws(plan, calls))


def _draws(plan: Plan, calls: Sequence[int]) -> Iterator[Draw]:
    for number in calls:
        segment = plan.segments[number]
        for place, node in enumerate(segment.nodes):
            if node.op != DRAW or len(node.outputs) != 1 or node.outputs[0] < 0 or node.inputs:
                continue
            attrs, logical = dict(node.attrs), plan.logicals[plan.tensors[node.outputs[0]].logical]
            if not _is_known(attrs, logical.dtype):
                continue
            yield Draw(number, place, segment.device, node.outputs[0], logical.shape, logical.dtype, attrs)


def _is_known(attrs: Mapping[str, Hashable], made: str) -> bool:
    """Whether attributes say what is drawn, and that it is of the type that it must be of."""
    if attrs.keys() != set(OF_DRAWS):
        return False
    wanted, types = _FORMS.get(str(attrs["kind"]), (-1, ()))
    parameters = attrs["parameters"]
    if not isinstance(parameters, tuple) or len(parameters) != wanted or made not in types:
        return False
    return all(isinstance(each, int | float) for each in parameters)


def named(draws: Sequence[Draw]) -> dict[Hashable, Use]:
    """An input for each draw that is another one, by `same`."""
    found: dict[Hashable, Use] = {}
    for draw in draws:
        if draw.same not in found:
            name = f"{draw.attrs['kind']} {len(found) + 1} of {draw.module}"
            found[draw.same] = Use(name, draw.shape, whole(draw.shape))
    return found


def as_inputs(plan: Plan, uses: Sequence[tuple[Draw, Use]], others: Sequence[tuple[Draw, Use]] = ()) -> Plan:
    """The plan in which each draw reads the input that it becomes. others: further inputs, which nobody reads."""
    logicals, tensors = list(plan.logicals), list(plan.tensors)
    numbers: dict[str, int] = {}
    ranges: dict[str, tuple[str, int, int]] = {}

    def tensor(draw: Draw, use: Use) -> int:
        if use.name not in numbers:
            numbers[use.name] = len(logicals)
            logicals.append(Logical(use.name, use.shape, draw.made, INPUT, use.name))
            if draw.attrs["kind"] == INTEGERS:
                low, high = draw.parameters
                ranges[use.name] = (use.name, int(low), int(high) - 1)
        tensors.append(Tensor(numbers[use.name], use.region))
        return len(tensors) - 1

    read = {(draw.segment, draw.node): tensor(draw, use) for draw, use in uses}
    more = [Node(LOADER, (), (tensor(draw, use),), (), f"{draw.module}: what ranks draw") for draw, use in others]
    changed = replaced(plan, lambda draw: Node(LOADER, (), (read[draw.segment, draw.node],), (), ""))
    first = plan.programs[0][0].segment
    segments = tuple(
        segment._replace(nodes=(*more, *segment.nodes)) if number == first else segment
        for number, segment in enumerate(changed.segments)
    )
    return replace(
        changed,
        logicals=tuple(logicals),
        tensors=tuple(tensors),
        segments=segments,
        ranges=tuple(sorted({*plan.ranges, *ranges.values()})),
        lines=() if more else changed.lines,
    )


def replaced(plan: Plan, made: Callable[[Draw], Node]) -> Plan:
    """The plan with another node in the place of each draw; what reads the draw reads what that makes."""
    nodes = [list(segment.nodes) for segment in plan.segments]
    for draw in draws_of(plan):
        node, row = made(draw), nodes[draw.segment]
        row[draw.node] = node._replace(name=row[draw.node].name)
        if node.outputs[0] != draw.tensor:
            nodes[draw.segment] = [_reading(each, draw.tensor, node.outputs[0]) for each in row]
    segments = tuple(segment._replace(nodes=tuple(row)) for segment, row in zip(plan.segments, nodes, strict=True))
    return replace(plan, segments=segments)


def _reading(node: Node, before: int, after: int) -> Node:
    if before not in node.inputs:
        return node
    return node._replace(inputs=tuple(after if tensor == before else tensor for tensor in node.inputs))
