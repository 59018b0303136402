"""Complex numbers: operators whose rules speak of real numbers alone are told apart where they meet complex ones.

What rearranges elements, or is linear, computes of complex numbers what its rule says. The absolute value, a root or an
exponential does not, nor does what makes real numbers of complex ones, or these of real ones, nor a gradient, in which
torch conjugates.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Protocol

from verdict.graph.plan import ABSENT, GRAD, Node, Plan

OF_COMPLEX = "{} of complex numbers"
"""What an operator that meets these is called: there is no rule of that name."""


class LinearRule(Protocol):
    """What is asked of an operator's rule."""

    @property
    def moves(self) -> bool: ...

    @property
    def additive(self) -> bool: ...

    @property
    def linear(self) -> frozenset[int]: ...


def without_complex(
    plan: Plan, rules: Mapping[str, LinearRule], is_complex: Callable[[Any], bool], known: frozenset[str]
) -> Plan:
    """`plan`, in which each node that meets complex numbers, and whose rule does not say what it makes of these, has no
    rule. is_complex: of a type. known: operators whose rules are of complex numbers.
    """
    kinds = [is_complex(plan.logicals[tensor.logical].dtype) for tensor in plan.tensors]
    if not any(kinds):
        return plan

    def told(node: Node) -> Node:
        read, made = ([kinds[t] for t in side if t != ABSENT] for side in (node.inputs, node.outputs))
        op = node.op.removesuffix(GRAD)
        if not any((*read, *made)) or op in known:
            return node
        rule = rules.get(op)
        if rule is None:
            return node
        fits = rule.moves or rule.additive or (bool(rule.linear) and op == node.op)
        return node if fits and any(read) and all(made) else node._replace(op=OF_COMPLEX.format(node.op))

    segments = tuple(each._replace(nodes=tuple(map(told, each.nodes))) for each in plan.segments)
    return replace(plan, segments=segments)
