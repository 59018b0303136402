"""Whether chance can hide on random numbers of one shape what those of another one show."""

from collections.abc import Iterable

from verdict.graph import ABSENT, Node, Plan
from verdict.graph.lockstep import COMMUNICATION, LOADER
from verdict.inputs import domains
from verdict.ops import FACTS
from verdict.semantics import full
from verdict.sweep.compare import Different

PLAIN = 1e-3
"""A difference of so much, relative to the greatest element, is not lost in rounding at other shapes."""
LINEAR = frozenset({None, "sum", "avg", "mean"})
"""What a collective does that makes sums of what it is given, or only hands it on."""


def can_hide(different: Iterable[Different], *plans: Plan) -> bool:
    """Whether outputs that differ on some random numbers may agree on others.

    Two polynomials that differ do so at almost all numbers. Integers that matter may not be drawn, and what is made
    where a number is positive or the greatest (or by any operator of which the rules do not say that it makes
    polynomials) may differ at some numbers only.
    """
    if not any(item.error > PLAIN * item.size for item in different):
        return True
    return any(
        bool(domains(plan, full(plan))) or not all(_is_polynomial(node) for s in plan.segments for node in s.nodes)
        for plan in plans
    )


def _is_polynomial(node: Node) -> bool:
    attrs = dict(node.attrs)
    if node.op in COMMUNICATION:
        return attrs.get("reduce") in LINEAR
    inputs = sum(tensor != ABSENT for tensor in node.inputs)
    return node.op == LOADER or FACTS.is_polynomial(node.op, inputs, len(node.outputs), attrs)
