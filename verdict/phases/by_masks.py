"""Plans that mask by great negative numbers, as -1e30: where that keeps them from a proof, with minus infinity there.

In floats the exponential of such a number is zero, as that of minus infinity is, and over the real numbers it is not: a
running softmax that begins at -1e30, or that writes zeros over what is masked, is another formula then. With minus
infinity in its place it is the same one, wherever a row has something that is not masked: which rows have is known
where no mask depends on data, and is looked at on numbers, as is that both plans agree as they are.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import isfinite
from typing import Any

from verdict.concrete import AGREE
from verdict.graph import ABSENT, Node, Plan
from verdict.graph.lockstep import COMMUNICATION
from verdict.ops import FACTS, RULES
from verdict.ops.names import FILLS, FINITE, MASKED, named
from verdict.ops.shaken import is_real
from verdict.ops.signs import compares, orders
from verdict.outcome import Assumption
from verdict.phases.numbers import run_on_numbers
from verdict.phases.query import Answers, Query
from verdict.report import Report, Verdict

GREAT = -1e8
"""Numbers from here on downwards are masks: what is beside them is far from them, whatever is added."""
WRITES = FILLS | {"constant"}
"""Operators that write numbers which are attributes."""
ENDS = FINITE | MASKED.keys()
"""Operators that make the same of such a number as of minus infinity: zero."""
MASKS = Assumption(
    "masks-are-infinite",
    f"numbers of {GREAT:g} and less that are written as masks are minus infinity: what is masked so counts for nothing",
)


def with_masks(query: Query, answers: Answers) -> Iterator[Report]:
    """The answers to a query; where the last is UNKNOWN, that it is PROVED where masks are minus infinity."""
    report = None
    for report in answers(query):
        yield report
    if report is None or report.verdict is not Verdict.UNKNOWN or MASKS.name in query.options.denied:
        return
    plans = query.values
    single, parallel = map(masked_by_infinity, plans)
    if single is None or parallel is None or (single, parallel) == plans:
        return
    if not (_agree(plans[0], plans[1]) and _agree(plans[0], single)):
        return
    parallel = replace(parallel, assumptions=(*parallel.assumptions, MASKS))
    *_, last = answers(replace(query, single=single, parallel=parallel, causes=False))
    if last.verdict is Verdict.PROVED:
        yield last


def masked_by_infinity(plan: Plan) -> Plan | None:
    """The plan with minus infinity for such numbers. None where a mask depends on what is given or sent, or something
    is chosen by what a mask was written into: there a number is not what minus infinity is.
    """
    kinds = [plan.logicals[tensor.logical].dtype for tensor in plan.tensors]
    nodes = [node for segment in plan.segments for node in segment.nodes]
    changed = {node: _without_great(node) for node in nodes if is_real(_made(node, kinds))}
    masks = [node for node, other in changed.items() if node is not other]
    if _any_depends(nodes, masks, kinds):
        return None
    segments = tuple(
        segment._replace(nodes=tuple(changed.get(node, node) for node in segment.nodes)) for segment in plan.segments
    )
    return replace(plan, segments=segments) if masks else plan


def _made(node: Node, kinds: Sequence[str]) -> str:
    """The type of what a node makes first."""
    return next((kinds[tensor] for tensor in node.outputs if tensor != ABSENT), "")


def _without_great(node: Node) -> Node:
    if named(node.op) not in WRITES:
        return node
    attrs = tuple((name, _infinite(value)) for name, value in node.attrs)
    return node if attrs == node.attrs else node._replace(attrs=attrs)


def _infinite(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_infinite, value))
    is_great = isinstance(value, int | float) and isfinite(value) and value <= GREAT
    return float("-inf") if is_great else value


def _any_depends(nodes: Sequence[Node], masks: Sequence[Node], kinds: Sequence[str]) -> bool:
    """Whether truth values or integers that are made from what is given, sent or drawn meet a mask, or something is
    compared or put in order that one was written into, before an exponential is taken of it.
    """
    drawn = {out for node in nodes if _comes_from_outside(node) for out in node.outputs}
    given = {tensor for node in nodes for tensor in node.inputs} - {out for node in nodes for out in node.outputs}
    varying = _behind(nodes, drawn | given)
    ends = [node for node in nodes if named(node.op) not in ENDS]
    masked = _behind(ends, {out for node in masks for out in node.outputs})
    asked = [*masks, *(node for node in nodes if not masked.isdisjoint(node.inputs))]
    if any(tensor in varying and not is_real(kinds[tensor]) for node in asked for tensor in {*node.inputs} - {ABSENT}):
        return True
    told = (node for node in nodes if compares(node.op) or orders(node.op))
    return any(not masked.isdisjoint(node.inputs) for node in told)


def _comes_from_outside(node: Node) -> bool:
    """Whether what a node makes is sent, drawn or loaded."""
    is_made = bool(node.inputs) or node.op in RULES
    return node.op in COMMUNICATION or FACTS.random(node.op) or not is_made


def _behind(nodes: Sequence[Node], first: set[int]) -> set[int]:
    """What is made of some tensors, among others. What is sent may come to any rank."""
    found, before = first - {ABSENT}, -1
    meeting = {out for node in nodes if node.op in COMMUNICATION for out in node.outputs} - {ABSENT}
    while len(found) != before:
        before = len(found)
        for node in nodes:
            if not found.isdisjoint(node.inputs):
                found |= meeting if node.op in COMMUNICATION else {*node.outputs} - {ABSENT}
    return found


def _agree(single: Plan, other: Plan) -> bool:
    found = run_on_numbers(single, other)
    return not isinstance(found, str) and found.outcome == AGREE
