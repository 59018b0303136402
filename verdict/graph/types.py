"""The check of types at the door: what a plan says of the type of what a node makes, its operator must make.

Only kinds are looked at: floats of any width are one, since casts between those change no value; every type of integers
is one, and so are truth values. A plan that calls floats integers would have them proved for integers only. A number
that is an operator's attribute is one of the type that it computes in.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from verdict.graph.fault import Fault, Place
from verdict.graph.plan import ABSENT, GRAD, ONCE_A_STEP, Node, Plan
from verdict.outcome import Finding

Kinds = frozenset[str]


Beyond = Callable[[str, Sequence[str], Mapping[str, Any]], str]


class TypeRule(Protocol):
    """What the check needs of an operator's rule."""

    @property
    def types(self) -> Callable[[Sequence[str], Mapping[str, Any]], tuple[Kinds | None, ...]]:
        """The kinds that each output may have, the last for all further ones; None for anything."""


def check_types(
    plan: Plan, rules: Mapping[str, TypeRule], kind: Callable[[str], str], gradients: Kinds, beyond: Beyond
) -> tuple[Finding, ...]:
    """Every node's types against its operator's rule, those of one look once. kind: of a type. gradients: their kinds.

    beyond: what is wrong with the numbers among attributes, beside tensors of some kinds; empty for nothing.
    """
    kinds = [kind(logical.dtype) for logical in plan.logicals]
    found: dict[str, Finding] = {}
    for number, at in plan.looks.values():
        segment = plan.segments[number]
        node = segment.nodes[at]
        sides = (node.inputs, node.outputs)
        read, made = ([kinds[plan.tensors[t].logical] if t != ABSENT else "" for t in side] for side in sides)
        problem = _misfit(node, read, made, rules, gradients) or beyond(node.op, (*read, *made), dict(node.attrs))
        if problem:
            place = Place(segment.device, ONCE_A_STEP, node.name, node.op)
            about = Fault((place,), tuple(node.outputs))
            found.setdefault(problem, Finding("wrong-dtype", problem, place.spelled, evidence=about, kind=problem))
    return tuple(found.values())


def _misfit(node: Node, read: list[str], made: list[str], rules: Mapping[str, TypeRule], gradients: Kinds) -> str:
    """Why the types of a node cannot be those that it is said to have; empty where they can."""
    rule = rules.get(node.op.removesuffix(GRAD))
    if rule is None:
        moved = len(read) == len(made) == 1 and "ranks" in dict(node.attrs) and made != read
        return f"the plan says {made[0]} of what it makes of {read[0]}" if moved else ""
    if node.op.endswith(GRAD):
        wrong = next((found for found in made if found and found not in gradients), None)
        return f"the plan says {wrong} where gradients are floats" if wrong else ""
    allowed = rule.types(read, dict(node.attrs))
    for place, found in enumerate(made):
        known = allowed[min(place, len(allowed) - 1)]
        if found and known is not None and found not in known:
            return f"the plan says {found} where the operator makes {' or '.join(sorted(known))}"
    return ""
