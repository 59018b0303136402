"""What engines ask of operators: facts that the rules state, of nodes and of their gradients alike."""

from collections.abc import Mapping, Sequence, Set
from fractions import Fraction
from math import inf, isfinite
from typing import Any, TypeVar

from verdict.graph import GRAD, Node
from verdict.ops.kinds import is_infinite
from verdict.ops.names import (
    AT_ZERO,
    BACKWARD,
    FALLING,
    FINITE,
    GREATER,
    HOMOGENEOUS,
    LOOKUP_GRADIENTS,
    LOOKUPS,
    MASKED,
    MOST_FACTOR,
    PADS,
    REACHING,
    SCALED,
    SMOOTH,
    STEPS,
    has_cases,
    name_of,
    named,
)
from verdict.ops.rule import OpRule
from verdict.ops.types import cast

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

    def computes(self, op: str) -> bool:
        """Whether a node makes other numbers than those that it reads."""
        rule = self.of(op)
        return rule is not None and not rule.copies and not rule.moves

    def random(self, op: str) -> bool:
        """Whether a node draws random numbers, or uses those that were drawn."""
        rule = self.of(op)
        return rule is not None and rule.drops is not None

    def draws(self, op: str, attrs: Mapping[str, Any]) -> bool:
        """Whether a node with these attributes draws random numbers that matter: it drops some elements, not all."""
        rule = self._rules.get(op)
        return rule is not None and rule.drops is not None and rule.drops(attrs) not in {0, 1}

    def drops(self, op: str, attrs: Mapping[str, Any]) -> bool:
        """Whether a node drops some elements, not all, whether its random state is stated or not."""
        rule = self._rules.get(op)
        if rule is None or rule.keyed is None:
            return self.draws(op, attrs)
        return rule.keyed(attrs) not in {0, 1}

    def looks_up(self, op: str) -> bool:
        """Whether a node makes rows of the table that it reads first, those of the numbers that it reads then."""
        return op in LOOKUPS

    def is_gradient_of_lookup(self, op: str) -> bool:
        """Whether a node makes the gradient of such a table, of that of the rows and of their numbers."""
        return op in LOOKUP_GRADIENTS

    def made(self, op: str) -> bool:
        """Whether attributes alone say how large an output of a node is, or what it holds."""
        rule = self._rules.get(op)
        return rule is not None and rule.made

    def is_adding(self, op: str, arity: int, attrs: Mapping[str, Any]) -> bool:
        """Whether a node adds its inputs, or one of them to what it makes of the others."""
        rule = self._rules.get(op)
        return rule is not None and (rule.sums or rule.additive or (arity > 1 and rule.affine(arity, attrs)))

    def is_additive(self, op: str) -> bool:
        """Whether a node is linear in all that it reads together; then its gradient is one of gradients alone."""
        rule = self.of(op)
        return rule is not None and rule.additive

    def is_sum(self, op: str) -> bool:
        """Whether a node adds its inputs, and does nothing else to them than to scale them."""
        rule = self._rules.get(op)
        return rule is not None and rule.sums

    def is_plain_sum(self, op: str, attrs: Mapping[str, Any] | Sequence[Any]) -> bool:
        """Whether a node adds its inputs, none of them scaled, and no number to them."""
        return self.is_sum(op) and not attrs

    def is_product(self, op: str, arity: int, attrs: Mapping[str, Any]) -> bool:
        """Whether a node multiplies several inputs by each other, and adds them up along axes at most."""
        rule = self._rules.get(op)
        if rule is None or arity < 2 or rule.sums or rule.adds:
            return False
        return rule.linear_in(arity, attrs) >= frozenset(range(arity))

    def is_divisor(self, op: str, arity: int, position: int, attrs: Mapping[str, Any]) -> bool:
        """Whether a node is linear in some inputs and not in this one, as in a divisor: a sum of losses has none."""
        rule = self._rules.get(op)
        divides = rule is not None and attrs.get("reduction", "mean") in (1, "mean")
        linear = rule.linear_in(arity, attrs) if rule is not None and divides else frozenset[int]()
        return bool(linear) and position not in linear

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

    def divides_by_count(self, op: str, attrs: Mapping[str, Any]) -> bool:
        """Whether a node divides by how many elements it counts, at any shapes."""
        return bool(self.counted(op)) and attrs.get("reduction") == 1

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

    def smooth(self, op: str, node: Node, attrs: Mapping[str, Any], positions: Set[int]) -> bool:
        """Whether what a node makes of its inputs at some positions is one formula, without cases, whatever the others
        are; False where nobody says so.
        """
        formula = named(op) in SMOOTH and not has_cases(named(op), attrs)
        return formula or self.is_polynomial_in(op, node, attrs, positions)

    def is_polynomial_in(self, op: str, node: Node, attrs: Mapping[str, Any], positions: Set[int]) -> bool:
        """Whether a node makes polynomials of its inputs at some positions, of which the others are coefficients."""
        rule, inputs, outputs = self.of(op), len(node.inputs), len(node.outputs)
        if rule is None or rule.drops is not None:
            return False
        if BACKWARD in op:
            return positions <= {0}
        grads = inputs - outputs if op.endswith(GRAD) else 0
        linear = rule.linear_in(outputs if op.endswith(GRAD) else inputs, attrs)
        alone = all(position < grads or position - grads in linear for position in positions)
        return alone or self.is_polynomial(op, inputs, outputs, attrs)

    def reaching(self, op: str, node: Node, attrs: Mapping[str, Any], free: Set[int]) -> bool:
        """Whether a node may make anything, where its inputs at some positions may be anything."""
        rule = self.of(op)
        if rule is None:
            return False
        grads = len(node.inputs) - len(node.outputs)
        if op.endswith(GRAD):
            return any(position < grads for position in free)
        if BACKWARD in op:
            return 0 in free
        linear = rule.linear_in(len(node.inputs), attrs)
        adds = rule.adds or rule.sums or rule.additive
        carries = rule.moves or adds or rule.copies or rule.types is cast or named(op) in REACHING
        scaled = named(op) in SCALED and len(free) > 1
        steps = named(op) in STEPS and len(free) >= len(node.inputs) - 1
        return bool(free) and (carries or bool(linear & free) or scaled or steps)

    def cases_at_zero(self, op: str, attrs: Mapping[str, Any]) -> bool:
        """Whether all cases of a node are at zero: it is of one formula for positive numbers, and for negative ones."""
        name = named(op)
        return name in AT_ZERO and (name != "pow" or attrs.get("exponent") is not None)

    def rounds(self, op: str, attrs: Mapping[str, Any]) -> bool:
        """Whether a node rounds what its formula makes: a quotient of integers."""
        return has_cases(named(op), {**attrs, "exponent": 1})

    def homogeneous(self, op: str, node: Node, attrs: Mapping[str, Any], positions: Set[int]) -> bool:
        """Whether multiples of the inputs at some positions change nothing of a node's result but its size."""
        rule, name = self.of(op), named(op)
        if rule is None:
            return False
        if op.endswith(GRAD):
            return all(position < len(node.inputs) - len(node.outputs) for position in positions)
        if BACKWARD in op:
            return positions <= {0}
        if name == "pow":
            return attrs.get("exponent") is not None
        scales = name in HOMOGENEOUS and not self.rounds(op, attrs)
        return scales or rule.moves or rule.copies or positions <= rule.linear_in(len(node.inputs), attrs)

    def makes_infinite(self, op: str, attrs: Mapping[str, Any]) -> bool:
        """Whether a node may make an infinite number of finite ones: of an attribute, or by what it is."""
        rule = self._rules.get(op)
        told = named(op) not in FINITE and any(is_infinite(*pair) for pair in attrs.items())
        return (rule is not None and rule.infinite) or told

    def finite(self, op: str, positions: Set[int], grads: int, rises: bool) -> bool:
        """Whether what a node makes is a finite number, or none, where its inputs at some positions are infinite
        (rises: may be plus infinity). grads: how many of its inputs are gradients.
        """
        name = named(op)
        below = not grads and not rises
        masked = below and (positions == {MASKED.get(name)} or (name == GREATER and len(positions) == 1))
        return masked or (name in FINITE and min(positions) >= grads)

    def covers(self, op: str) -> bool:
        """Whether a node makes the other one of minus infinity and a number, element by element."""
        return named(op) == GREATER

    def rises(self, op: str, attrs: Mapping[str, Any]) -> bool:
        """Whether a node may make plus infinity where it reads, as numbers beyond all others, minus infinity alone."""
        rule = self._rules.get(op)
        keeps = name_of(op) in FALLING or self.is_plain_sum(op, attrs)
        return not (keeps or (rule is not None and rule.moves)) or inf in attrs.values()

    def adds_products(self, op: str) -> bool:
        """Whether a node adds to its first input a multiple of the product, or the quotient, of the others."""
        return name_of(op) in {"addcmul", "addcdiv"}

    def moves(self, op: str, inputs: int) -> bool:
        """Whether a node does nothing but to move elements of what it reads, and to put one number beside them."""
        rule = self._rules.get(op)
        return rule is not None and inputs > 0 and (rule.moves or name_of(op) in PADS)

    def makes_zeros(self, op: str, inputs: int, attrs: Mapping[str, Any]) -> bool:
        """Whether a node makes zeros, whatever it reads, of which the shape alone counts."""
        rule = self._rules.get(op)
        return rule is not None and rule.zero(attrs) and rule.shape_only >= frozenset(range(inputs))

    def factor(self, op: str, arity: int, attrs: Mapping[str, Any]) -> Fraction | None:
        """The number by which a node multiplies all that it reads, where that is written with few digits; None where it
        does anything else.
        """
        name, other = name_of(op), attrs.get("other")
        if arity != 1 or op.endswith(GRAD) or name not in ("mul", "div", "neg"):
            return None
        if name == "neg":
            return None if attrs else Fraction(-1)
        if attrs.keys() != {"other"} or isinstance(other, bool) or not isinstance(other, int | float):
            return None
        if not other or not isfinite(other):
            return None
        number = Fraction(other)
        simple = max(abs(number.numerator), number.denominator) <= MOST_FACTOR
        return None if not simple else number if name == "mul" else 1 / number

    def keeps_zeros(self, op: str, arity: int, attrs: Mapping[str, Any]) -> bool:
        """Whether a node makes zeros of zeros, at any shapes."""
        rule = self._rules.get(op)
        infinite = any(isinstance(value, float) and not isfinite(value) for value in attrs.values())
        return rule is not None and not infinite and rule.linear_in(arity, attrs) >= frozenset(range(arity))

    def views(self, op: str) -> bool:
        """Whether a node may make another view of the memory of its first input."""
        rule = self._rules.get(op)
        return rule is not None and rule.views
