"""Values of which nobody says what they are, made inputs of their own, so that PROVED speaks of whatever they hold.

A node `unsaid` reads nothing; its attribute `reason` says whose values they are. Such are those of a member of a reduce
that is not its root: one backend leaves what was there, another a part of the sum.
"""

from collections.abc import Iterator
from dataclasses import replace

from verdict.graph.draws import FLOATS
from verdict.graph.lockstep import LOADER
from verdict.graph.plan import COPY, INPUT, Logical, Node, Plan, Tensor
from verdict.graph.region import whole

UNSAID = "unsaid"
Place = tuple[int, int]
"""A node: its segment, and where in that it stands."""


def with_unsaid(single: Plan, parallel: Plan) -> tuple[Plan, Plan]:
    """Both plans, in which each value that one of them leaves unsaid is an input. The other one has it, too, and does
    not use it.
    """
    alone, ranks = (list(_named(plan, side)) for plan, side in ((single, "one device"), (parallel, "the ranks")))
    if not alone and not ranks:
        return single, parallel
    return _reading(single, alone, ranks), _reading(parallel, ranks, alone)


def _named(plan: Plan, side: str) -> Iterator[tuple[Place, Logical]]:
    """What a plan leaves unsaid, as inputs; nothing where it runs a segment several times, of which each may leave
    something else: there it stays what has no rule. So do integers, of which no bounds are known.
    """
    calls = [call.segment for program in plan.programs for call in program]
    if plan.columns != 1 or len(set(calls)) != len(calls):
        return
    for number in calls:
        for place, node in enumerate(plan.segments[number].nodes):
            if node.op != UNSAID or node.inputs or len(node.outputs) != 1 or node.outputs[0] < 0:
                continue
            made = plan.logicals[plan.tensors[node.outputs[0]].logical]
            if made.dtype in FLOATS:
                name = f"{dict(node.attrs).get('reason', UNSAID)}: value {node.outputs[0]} of {side}"
                yield (number, place), Logical(name, made.shape, made.dtype, INPUT, name)


def _reading(plan: Plan, own: list[tuple[Place, Logical]], others: list[tuple[Place, Logical]]) -> Plan:
    """The plan, in which nodes hand on inputs. others: further inputs, which are read last and not used."""
    logicals, tensors = list(plan.logicals), list(plan.tensors)
    rows = [[[node] for node in segment.nodes] for segment in plan.segments]

    def read(logical: Logical, name: str) -> Node:
        tensors.append(Tensor(len(logicals), whole(logical.shape)))
        logicals.append(logical)
        return Node(LOADER, (), (len(tensors) - 1,), (), name)

    for (number, place), logical in own:
        (node,) = rows[number][place]
        first = read(logical, node.name)
        rows[number][place] = [first, node._replace(op=COPY, inputs=first.outputs, attrs=())]
    rows[plan.programs[0][-1].segment][-1] += [read(logical, logical.name) for _, logical in others]
    return replace(
        plan,
        logicals=tuple(logicals),
        tensors=tuple(tensors),
        segments=tuple(
            segment._replace(nodes=tuple(node for each in row for node in each))
            for segment, row in zip(plan.segments, rows, strict=True)
        ),
        lines=tuple(
            tuple(line for line, each in zip(lines, row, strict=True) for _ in each)
            for lines, row in zip(plan.lines, rows, strict=False)
        ),
    )
