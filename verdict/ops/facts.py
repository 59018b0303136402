"""What engines ask of operators: facts that the rules state, of nodes and of their gradients alike."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from verdict.graph import GRAD
from verdict.ops.rule import OpRule

T = TypeVar("T")


class Facts:
    """The facts of a table of rules."""

    def __init__(self, rules: Mapping[str, OpRule]) -> None:
        self._rules = rules

    def of(self, op: str) -> OpRule | None:
        """The rule of an operator, or of the one that it is the gradient of; None where there is none."""
        return self._rules.get(op.removesuffix(GRAD))

    def addends(self, op: str, inputs: Sequence[T], outputs: int) -> Sequence[T] | None:
        """The inputs of which every output of a node is the sum, one of a copy; None of a node that computes.

        The gradient of copies is the sum of their gradients.
        """
        rule = self.of(op)
        if rule is None:
            return None
        if op.endswith(GRAD):
            return inputs[: len(inputs) - outputs] if rule.copies else None
        return inputs[:1] if rule.copies else inputs if rule.adds else None

    def copies(self, op: str, inputs: int, outputs: int) -> bool:
        """Whether a node hands on its first input, and nothing else."""
        found = self.addends(op, range(inputs), outputs)
        return found is not None and len(found) == 1

    def random(self, op: str) -> bool:
        """Whether a node draws random numbers, or uses those that were drawn."""
        rule = self.of(op)
        return rule is not None and rule.drops is not None

    def draws(self, op: str, attrs: Mapping[str, Any]) -> bool:
        """Whether a node with these attributes draws random numbers that matter: it drops some elements, not all."""
        rule = self._rules.get(op)
        return rule is not None and rule.drops is not None and rule.drops(attrs) not in {0, 1}

    def is_adding(self, op: str, arity: int, attrs: Mapping[str, Any]) -> bool:
        """Whether a node adds its inputs, or one of them to what it makes of the others."""
        rule = self._rules.get(op)
        return rule is not None and (rule.sums or rule.additive or rule.affine(arity, attrs))

    def is_sum(self, op: str) -> bool:
        """Whether a node adds its inputs, and does nothing else to them than to scale them."""
        rule = self._rules.get(op)
        return rule is not None and rule.sums

    def averages(self, one: str, other: str) -> bool:
        """Whether one of two operators, or of two gradients, is the average where the other is the sum."""
        if one.endswith(GRAD) != other.endswith(GRAD):
            return False
        first, second = self.of(one), self.of(other)
        if first is None or second is None:
            return False
        return first.average_of == second.name or second.average_of == first.name

    def zero(self, op: str, attrs: Mapping[str, Any]) -> bool:
        """Whether all that a node makes is zero wherever it is defined."""
        rule = self.of(op)
        return rule is not None and rule.zero(attrs)

    def adds_to(self, op: str, attrs: Mapping[str, Any]) -> bool:
        """Whether a node adds values to the places of a tensor that its other inputs name, instead of putting them."""
        return self.of(op) is not None and bool(attrs.get("accumulate"))

    def counted(self, op: str) -> frozenset[int]:
        """The outputs of a node that count elements."""
        rule = self._rules.get(op)
        return frozenset() if rule is None else rule.counted

    def extreme(self, op: str) -> bool:
        """Whether what a node makes of some values does not depend on how often each occurs."""
        rule = self._rules.get(op)
        return rule is not None and rule.extreme

    def is_polynomial(self, op: str, inputs: int, outputs: int, attrs: Mapping[str, Any]) -> bool:
        """Whether a node makes polynomials of its inputs, as far as the rules say.

        It moves or adds them, or is linear in each of them alone. So is its gradient.
        """
        rule = self.of(op)
        if rule is None or rule.drops is not None:
            return False
        arity = outputs if op.endswith(GRAD) else inputs
        linear = rule.linear_in(arity, attrs) | rule.shape_only
        return rule.moves or rule.adds or rule.copies or rule.sums or linear >= frozenset(range(arity))

    def views(self, op: str) -> bool:
        """Whether a node may make another view of the memory of its first input."""
        rule = self._rules.get(op)
        return rule is not None and rule.views
