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
    """Every distinct node's types against its operator's rule. kind: of a type. gradients: the kinds that they have.

    beyond: what is wrong with the numbers among attributes, beside tensors of some kinds; empty for nothing.
    """
    kinds = [kind(plan.logicals[tensor.logical].dtype) for tensor in plan.tensors]
    known: dict[tuple[object, ...], str] = {}
    found: dict[str, Finding] = {}
    for segment in plan.segments:
        for node in segment.nodes:
            read, made = ([kinds[t] if t != ABSENT else "" for t in side] for side in (node.inputs, node.outputs))
            key = (node.op, id(node.attrs), tuple(read), tuple(made))
            if key not in known:
                attrs = dict(node.attrs)
                known[key] = _misfit(node, read, made, rules, gradients) or beyond(node.op, (*read, *made), attrs)
            problem = known[key]
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
