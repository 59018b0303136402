"""The operators: shape rule, forward, derivative and facts of each, one file an operator or family, and their table."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from verdict.errors import ShapeError
from verdict.ops import (
    arithmetic,
    aten,
    attention,
    bounds,
    casts,
    constant,
    cross_entropy,
    dropout,
    elementwise,
    embedding,
    feedforward,
    gate,
    hlo,
    keyed_dropout,
    layernorm,
    linear,
    logsoftmax,
    lookup,
    mask,
    matmul,
    moe_gmm,
    numbers,
    optimizers,
    pieces,
    reductions,
    rotary,
    softmax,
    transpose,
    view,
)
from verdict.ops.casts import CAST
from verdict.ops.constant import CONSTANT
from verdict.ops.facts import Facts
from verdict.ops.pattern import Flow, Pattern
from verdict.ops.patterns import FLOWS, KEEPING, PATTERNS, PLACES, RECORDED
from verdict.ops.rule import Array, Atom, Attributes, Axes, Dim, Law, OpRule, Scale
from verdict.words import near_text


def table(rules: Iterable[OpRule]) -> Mapping[str, OpRule]:
    """The rules by name; all that they make are arrays, of no dimension too. A name that occurs twice is an error of
    ours.
    """
    named: dict[str, OpRule] = {}
    for rule in rules:
        if rule.name in named:
            raise ValueError(f"two rules are named {rule.name}")
        named[rule.name] = _of_arrays(rule)
    return MappingProxyType(named)


def _of_arrays(rule: OpRule) -> OpRule:
    """The rule with arrays where numpy makes a bare number or term of arrays without a dimension, and with a ShapeError
    where inputs do not fit the attributes, or gradients have shapes that no output has.
    """

    def forward(inputs: Sequence[Array], attrs: Attributes) -> tuple[Array | None, ...]:
        try:
            made = rule.forward(inputs, attrs)
        except ValueError as error:
            raise ShapeError(f"{rule.name}: its inputs do not fit: {error}") from None
        return tuple(None if y is None else numbers.array(y, inputs) for y in made)

    def gradient(inputs: Sequence[Array], grads: Sequence[Array], attrs: Attributes) -> tuple[Array | None, ...]:
        try:
            made = rule.gradient(inputs, grads, attrs)
        except ValueError as error:
            raise ShapeError(f"{rule.name}: its gradients do not fit its inputs: {error}") from None
        return tuple(None if dx is None else numbers.array(dx, (*inputs, *grads)) for dx in made)

    return replace(rule, forward=forward, gradient=gradient)


RULES: Mapping[str, OpRule] = table(
    (
        *embedding.RULES,
        *mask.RULES,
        *casts.RULES,
        *constant.RULES,
        *elementwise.RULES,
        *arithmetic.RULES,
        *reductions.RULES,
        *linear.RULES,
        *matmul.RULES,
        *view.RULES,
        *transpose.RULES,
        *softmax.RULES,
        *rotary.RULES,
        *layernorm.RULES,
        *gate.RULES,
        *moe_gmm.RULES,
        *dropout.RULES,
        *attention.RULES,
        *feedforward.RULES,
        *logsoftmax.RULES,
        *lookup.RULES,
        *cross_entropy.RULES,
        *bounds.RULES,
        *pieces.RULES,
        *keyed_dropout.RULES,
        *optimizers.RULES,
        *aten.RULES,
        *hlo.RULES,
    )
)
"""Every operator that has a meaning here; `op.grad` is the gradient of the rule `op`."""

FACTS = Facts(RULES)
"""What engines ask of them."""


def without_rule(op: str) -> str:
    """That an operator has no rule, and the one that has and is spelled most like it, where there is one."""
    near = near_text(op, list(RULES)).rstrip()
    return f"operator {op} has no rule" + (f" ({near})" if near else "")


__all__ = [
    "CAST",
    "CONSTANT",
    "FACTS",
    "FLOWS",
    "KEEPING",
    "PATTERNS",
    "PLACES",
    "RECORDED",
    "RULES",
    "Array",
    "Atom",
    "Attributes",
    "Axes",
    "Dim",
    "Facts",
    "Flow",
    "Law",
    "OpRule",
    "Pattern",
    "Scale",
    "table",
    "without_rule",
]
