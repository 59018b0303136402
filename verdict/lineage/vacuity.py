"""Results of the single-device plan that mean nothing: agreeing with them proves nothing.

A loss that is never anything but zero, or not defined; a weight that does not influence the loss though a gradient of
it is declared; a gradient that does not come from the loss, or is zero whatever the values are. All is read off the
wiring and the constants of the plan, along which operators zero stays zero by their own linearity.
"""

from collections.abc import Iterator
from typing import NamedTuple

from verdict.graph import WEIGHT
from verdict.lineage.meaning import base_op
from verdict.lineage.reference import Bases, Partner, Reference
from verdict.ops import RULES

POLES: dict[str, int] = {"rsqrt": 0, "log": 0, "div": 1}
"""Operators that are not defined where the input at this position is zero."""


class Vacuous(NamedTuple):
    """What means nothing, and why."""

    where: str
    reason: str


class _Known(NamedTuple):
    """Of every base: whether it is always zero, whether it is never defined, and which given bases it depends on."""

    zero: set[int]
    undefined: set[int]
    sources: dict[int, int]

    def is_zero(self, value: Bases) -> bool:
        """A sum of what is zero is zero."""
        return all(base in self.zero for base in value)

    def of(self, value: Bases) -> int:
        """The given bases that a formal sum depends on, one bit for each."""
        found = 0
        for base in value:
            found |= self.sources[base]
        return found


def vacuous(reference: Reference) -> Iterator[Vacuous]:
    """What the declared losses and gradients of the single-device plan leave without a meaning."""
    known = _known(reference)
    plan = reference.plan
    influence = 0
    for held in plan.losses:
        value = reference.values.get(held.tensor, ())
        influence |= known.of(value)
        name = plan.logicals[plan.tensors[held.tensor].logical].name
        if known.undefined & set(value):
            yield Vacuous(f"loss {name}", "it is never defined (nothing to compare)")
        elif known.is_zero(value):
            yield Vacuous(f"loss {name}", "it is zero whatever the values are (nothing to compare)")
    seeds = sum({1 << base for seed in plan.seeds for base in reference.values.get(seed, ())})
    for held in plan.gradients:
        logical = plan.tensors[held.weight].logical
        weight, value = plan.logicals[logical], reference.values.get(held.tensor, ())
        if weight.kind != WEIGHT or not value:
            continue
        if known.is_zero(value):
            yield Vacuous(f"weight {weight.name}", "its gradient is zero whatever the values are (nothing to compare)")
        elif seeds and not known.of(value) & seeds:
            yield Vacuous(f"weight {weight.name}", "its gradient does not come from the loss (nothing to compare)")
        elif plan.losses and not influence & (1 << reference.given.get(logical, len(reference.bases))):
            yield Vacuous(f"weight {weight.name}", "the loss does not depend on it, though it has a gradient")


def _known(reference: Reference) -> _Known:
    known = _Known(set(), set(), {})
    for index, base in enumerate(reference.bases):
        if base.node < 0:
            known.sources[index] = 1 << index
    for partner in reference.partners:
        sources = 0
        for value in partner.inputs:
            sources |= known.of(value)
        undefined = _undefined(known, partner)
        for position, output in enumerate(partner.outputs):
            if output < 0:
                continue
            known.sources[output] = sources
            if undefined:
                known.undefined.add(output)
            elif _zero(known, partner, position):
                known.zero.add(output)
    return known


def _undefined(known: _Known, partner: Partner) -> bool:
    """Whether an input is never defined, or a pole of the operator."""
    if any(known.undefined & set(value) for value in partner.inputs):
        return True
    position = POLES.get(partner.node.op, len(partner.inputs))
    return position < len(partner.inputs) and known.is_zero(partner.inputs[position])


def _zero(known: _Known, partner: Partner, position: int) -> bool:
    """Whether an output is zero: an input is in which the operator is linear, or the constant that it is times.

    The gradient of an operator that is linear in two inputs is linear in the one that it is not the gradient of.
    """
    op, grads = base_op(partner.node.op), partner.signature.grads
    attrs = dict(partner.node.attrs)
    if op == "mul" and attrs.get("other") == 0:
        return True
    if not partner.meaning.is_gradient:
        return any(known.is_zero(partner.inputs[k]) for k in partner.meaning.linear)
    if all(known.is_zero(value) for value in partner.inputs[:grads]):
        return True
    forward = partner.inputs[grads:]
    linear = RULES[op].linear_in(len(forward), attrs) if op in RULES else frozenset()
    both = linear == {0, 1} and len(forward) == 2
    return both and known.is_zero(forward[1 - position])
