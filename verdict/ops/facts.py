"""What engines ask of operators: facts that the rules state, of nodes and of their gradients alike."""

from collections.abc import Mapping, Sequence, Set
from typing import Any, TypeVar

from verdict.graph import GRAD, Node
from verdict.ops.rule import OpRule
from verdict.ops.types import cast

T = TypeVar("T")
ROOTS = frozenset({"sqrt", "pow", "linalg_vector_norm", "exp", "log", "logsumexp"})
"""Operators of one formula that make anything of numbers that may be anything, but for their sign."""
SMOOTH = ROOTS | {
    *("sub", "rsub", "square", "lerp", "addcmul", "addcdiv", "addmm", "baddbmm", "div", "reciprocal", "rsqrt"),
    *("tanh", "sigmoid", "silu", "gelu", "mish", "glu", "erf", "sin", "cos", "expm1", "log1p", "log_sigmoid_forward"),
    *("var", "var_mean", "std", "softmax", "_softmax", "_safe_softmax", "log_softmax", "_log_softmax"),
    *("rms_norm", "_fused_rms_norm", "layernorm", "native_layer_norm", "native_group_norm"),
    *("tanh_backward", "sigmoid_backward", "_softmax_backward_data", "_log_softmax_backward_data"),
    *("native_layer_norm_backward", "_fused_rms_norm_backward", "native_group_norm_backward"),
    *("apply_mask", "apply_rotary_emb", "embedding", "constant_pad_nd", "index_add", "scatter", "scatter_add"),
    *("cross_entropy", "nll_loss_forward", "nll_loss_backward", "mse_loss", "binary_cross_entropy_with_logits"),
    *("feedforward", "self_attention", "_scaled_dot_product_flash_attention_for_cpu"),
    *("_scaled_dot_product_flash_attention_for_cpu_backward", "adam", "adamw", "sgd", "dropout", "keyed_dropout"),
}
"""Operators of one formula wherever they are defined, gradients included."""
REACHING = ROOTS | {"relu", "abs", "apply_mask", "apply_rotary_emb"}
SCALED = frozenset({"native_layer_norm", "_fused_rms_norm", "layernorm", "rms_norm", "rmsnorm"})
"""Operators that times their results by a weight, where they have one."""


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

    def drops(self, op: str, attrs: Mapping[str, Any]) -> bool:
        """Whether a node drops some elements, not all, whether its random state is stated or not."""
        rule = self._rules.get(op)
        if rule is None or rule.keyed is None:
            return self.draws(op, attrs)
        return rule.keyed(attrs) not in {0, 1}

    def is_adding(self, op: str, arity: int, attrs: Mapping[str, Any]) -> bool:
        """Whether a node adds its inputs, or one of them to what it makes of the others."""
        rule = self._rules.get(op)
        return rule is not None and (rule.sums or rule.additive or rule.affine(arity, attrs))

    def is_sum(self, op: str) -> bool:
        """Whether a node adds its inputs, and does nothing else to them than to scale them."""
        rule = self._rules.get(op)
        return rule is not None and rule.sums

    def is_product(self, op: str, arity: int, attrs: Mapping[str, Any]) -> bool:
        """Whether a node multiplies several inputs by each other, and adds them up along axes at most."""
        rule = self._rules.get(op)
        if rule is None or arity < 2 or rule.sums or rule.adds:
            return False
        return rule.linear_in(arity, attrs) >= frozenset(range(arity))

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

    def smooth(self, op: str, node: Node, attrs: Mapping[str, Any]) -> bool:
        """Whether what a node makes is one formula, without cases; False where nobody says so."""
        return _name(op) in SMOOTH or self.is_polynomial(op, len(node.inputs), len(node.outputs), attrs)

    def reaching(self, op: str, node: Node, attrs: Mapping[str, Any], free: Set[int]) -> bool:
        """Whether a node may make anything, where its inputs at some positions may be anything."""
        rule = self.of(op)
        if rule is None:
            return False
        grads = len(node.inputs) - len(node.outputs)
        if op.endswith(GRAD):
            return any(position < grads for position in free)
        linear = rule.linear_in(len(node.inputs), attrs)
        carries = rule.moves or rule.adds or rule.copies or rule.sums or rule.types is cast or _name(op) in REACHING
        return bool(free) and (carries or bool(linear & free) or (_name(op) in SCALED and len(free) > 1))

    def views(self, op: str) -> bool:
        """Whether a node may make another view of the memory of its first input."""
        rule = self._rules.get(op)
        return rule is not None and rule.views


def _name(op: str) -> str:
    return op.removesuffix(GRAD).removeprefix("aten.").partition(".")[0]
