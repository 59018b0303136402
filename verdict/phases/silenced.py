"""Large plans on numbers of which only what surrounds a fault is computed: the other layers are silenced.

A residual layer x + f(x) is x where a weight that f is a multiple of is zero. So with such weights of all layers zero
but of those that a finding is about, both plans are much smaller ones, on the very numbers that they would compute: a
sum of x and of what is zero is x, and what is zero is so only where all that it is computed from is a finite number
(verdict/ops/known.py). What is zero and is read all the same is computed as it stands.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from verdict.graph import ABSENT, ACCUMULATOR, GIVEN, GRAD, WEIGHT, Node, Place, Plan
from verdict.graph.cone import again, of_gradients
from verdict.graph.events import events_of
from verdict.lineage import Evidence, Lineages
from verdict.ops import FACTS
from verdict.outcome import Finding
from verdict.phases.zeroed import rewritten
from verdict.semantics import bind

Point = tuple[int, int]
"""A device, and one of its tensors."""


class Silenced(NamedTuple):
    """A pair of plans whose losses, or gradients, are those of given ones where some weights are zero. weights: their
    names.
    """

    single: Plan
    parallel: Plan
    weights: frozenset[str]


def silenced(
    pair: tuple[Plan, Plan], cones: tuple[Plan, Plan], finding: Finding, walks: Sequence[Lineages]
) -> Silenced | None:
    """The losses, or gradients, of a pair, of which only those layers are left that a finding is about, and those of
    the gradients' weights; None where no other one can be silenced.

    cones: what they are computed by in both plans. walks: of the same single-device plan. Raises Faulty where the two
    plans do not fit together.
    """
    single, parallel = pair
    about = set(_names(finding, walks))
    if about:
        about.update(_readers(single, {cones[0].tensors[held.weight].logical for held in cones[0].gradients}))
    weights = _weights(single, about) if about else frozenset()
    if not weights or any(call.crossed for program in parallel.programs for call in program):
        return None
    partners = bind(single, parallel).logical
    theirs = frozenset(mine for mine, partner in partners.items() if partner in weights)
    names = frozenset(single.logicals[logical].name for logical in weights)
    return Silenced(_without(cones[0], weights), _without(cones[1], theirs), names)


def gradients_behind(pair: tuple[Plan, Plan], finding: Finding) -> tuple[Plan, Plan] | None:
    """What the gradients of one weight are computed by in both plans, to which the place at which a finding shows adds
    first; None where there are none, or it says no place. Raises Faulty as `silenced` does.
    """
    single, parallel = pair
    if not isinstance(finding.evidence, Evidence):
        return None
    logical = _adds_to(parallel, finding.evidence.places[0], finding.evidence.tensors[0])
    partner = None if logical is None else bind(single, parallel).logical.get(logical)
    ours = [held for held in single.gradients if single.tensors[held.weight].logical == partner]
    theirs = [held for held in parallel.gradients if parallel.tensors[held.weight].logical == logical]
    return (of_gradients(single, ours), of_gradients(parallel, theirs)) if ours and theirs else None


def _adds_to(plan: Plan, place: Place, tensor: int) -> int | None:
    """The weight, as a logical tensor, whose gradient a tensor is, or to whose gradient a node adds first."""
    ends = {(held.device, held.tensor): plan.tensors[held.weight].logical for held in plan.gradients}
    if (place.device, tensor) in ends:
        return ends[place.device, tensor]
    reached, summed = set[Point](), False
    for event in events_of(plan, 0):
        here = any((device, node.op, node.name) == (place.device, place.op, place.name) for device, node in event.nodes)
        reads = any((device, t) in reached for device, node in event.nodes for t in node.inputs)
        if not reads and (summed or not here):
            continue
        made = {(device, t) for device, node in event.nodes for t in node.outputs if t != ABSENT}
        sums = {point for point in made if point in ends or plan.kind(point[1]) == ACCUMULATOR}
        reached, summed = (sums, True) if sums and not summed else (reached | made, summed)
        if found := [ends[point] for point in reached if point in ends]:
            return min(found)
    return None


def _names(finding: Finding, walks: Sequence[Lineages]) -> Iterator[tuple[str, str]]:
    """The single-device nodes that a finding is about, by operator and name, whether they are gradients or not: that
    which the place at which it shows should compute, and those that make what it holds.
    """
    about = finding.evidence
    if not isinstance(about, Evidence):
        return
    for walk in walks[:1]:
        table = walk.reference
        for number in (about.partner, *(table.bases[share.base].node for share in about.value or ())):
            if number >= 0:
                yield _named(table.partners[number].node)


def _named(node: Node) -> tuple[str, str]:
    return node.op.removesuffix(GRAD), node.name


def _readers(plan: Plan, weights: Set[int]) -> Iterator[tuple[str, str]]:
    """The nodes that read some weights, given as logical tensors."""
    for segment in plan.segments:
        for node in segment.nodes:
            if any(tensor != ABSENT and plan.tensors[tensor].logical in weights for tensor in node.inputs):
                yield _named(node)


@dataclass(frozen=True)
class _Line:
    """The nodes of a single-device plan that its losses depend on, in their order, and who makes and reads what."""

    plan: Plan
    nodes: tuple[Node, ...]
    makers: Mapping[int, int] = field(default_factory=dict)
    readers: Mapping[int, Set[int]] = field(default_factory=dict)


def _line(plan: Plan) -> _Line:
    nodes = [node for call in plan.programs[0] for node in plan.segments[call.segment].nodes]
    needed, kept = {held.tensor for held in plan.losses}, list[Node]()
    for node in reversed(nodes):
        if not needed.isdisjoint(node.outputs):
            needed.update(node.inputs)
            kept.append(node)
    kept.reverse()
    readers: dict[int, set[int]] = {}
    for number, node in enumerate(kept):
        for tensor in node.inputs:
            if tensor != ABSENT:
                readers.setdefault(plan.tensors[tensor].logical, set()).add(number)
    makers = {tensor: number for number, node in enumerate(kept) for tensor in node.outputs if tensor != ABSENT}
    return _Line(plan, tuple(kept), makers, readers)


def _weights(plan: Plan, about: Set[tuple[str, str]]) -> frozenset[int]:
    """Weights, as logical tensors, of which each makes a layer do nothing where it is zero, but for those layers that
    some nodes are part of, which are given by operator and name.
    """
    line = _line(plan)
    found: set[int] = set()
    for node in line.nodes:
        if FACTS.is_sum(node.op) and len(node.inputs) == 2:
            for kept, added in (node.inputs, node.inputs[::-1]):
                branch = _branch(line, kept, added)
                if branch and about.isdisjoint(_named(line.nodes[number]) for number in branch):
                    found.update(_silencing(line, added, branch) or ())
    return frozenset(found)


def _branch(line: _Line, kept: int, added: int) -> Set[int]:
    """The nodes by which one addend is computed from the other one; none where it is not, or the other way round."""
    root = kept
    while (maker := line.makers.get(root)) is not None and FACTS.copies(
        line.nodes[maker].op, len(line.nodes[maker].inputs), len(line.nodes[maker].outputs)
    ):
        root = line.nodes[maker].inputs[0]
    begin = line.makers.get(root, -1)
    branch, border, stack = set[int](), set[int](), [added]
    while stack:
        tensor = stack.pop()
        number = line.makers.get(tensor, -1)
        if number <= begin:
            border.add(tensor)
        elif number not in branch:
            branch.add(number)
            stack.extend(t for t in line.nodes[number].inputs if t != ABSENT)
    return branch if root in border else set()


def _silencing(line: _Line, tensor: int, branch: Set[int]) -> set[int] | None:
    """Weights that make a tensor zero where they are, that nothing but a branch reads; None where none do."""
    logical, number = line.plan.tensors[tensor].logical, line.makers.get(tensor)
    if number is None:
        is_own = line.plan.logicals[logical].kind == WEIGHT and line.readers[logical] <= branch
        return {logical} if is_own else None
    if number not in branch or line.nodes[number].op.endswith(GRAD):
        return None
    node = line.nodes[number]
    if FACTS.is_sum(node.op):
        each = [_silencing(line, t, branch) for t in node.inputs if t != ABSENT]
        return None if any(one is None for one in each) else set().union(*(one for one in each if one))
    rule = FACTS.of(node.op)
    linear = rule.linear_in(len(node.inputs), dict(node.attrs)) if rule else frozenset[int]()
    inputs = sorted((node.inputs[k] for k in linear if node.inputs[k] != ABSENT), key=lambda t: t in line.makers)
    return next((found for t in inputs if (found := _silencing(line, t, branch))), None)


def _without(plan: Plan, weights: Set[int]) -> Plan:
    """A plan of losses or gradients without what is zero where some weights, as logical tensors, are."""
    return _with_few(again(rewritten(plan, weights)))


def _with_few(plan: Plan) -> Plan:
    """The plan with those of its logical tensors that are given, or that tensors are shares of."""
    named = {tensor.logical for tensor in plan.tensors}
    kept = [k for k, logical in enumerate(plan.logicals) if logical.kind in GIVEN or k in named]
    numbers = {logical: number for number, logical in enumerate(kept)}
    tensors = tuple(tensor._replace(logical=numbers[tensor.logical]) for tensor in plan.tensors)
    return replace(plan, logicals=tuple(plan.logicals[k] for k in kept), tensors=tensors)
