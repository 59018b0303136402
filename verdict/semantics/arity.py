"""A node seen through its operator's rule: which inputs are gradients, and the index axes at given shapes."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from verdict.comparison import Fault, Faulty
from verdict.errors import NoRuleError, ShapeError
from verdict.graph import ABSENT, GRAD, Node, Shape
from verdict.ops import KEEPING, PATTERNS, PLACES, RULES, Axes, Law, OpRule, Pattern, without_rule
from verdict.ops.domain import BITS
from verdict.ops.types import kind, to_cast


class Reading(NamedTuple):
    """The rule of a node; how many of its leading inputs are gradients; the tensors of the forward inputs."""

    rule: OpRule
    grads: int
    forward: tuple[int, ...]

    @property
    def is_gradient(self) -> bool:
        """Whether the node is the gradient of the rule's operator."""
        return self.grads > 0


def reading(node: Node, where: str) -> Reading:
    """How the rule of `node` reads it. Faulty where there is no rule, or an input is missing."""
    rule = RULES.get(node.op.removesuffix(GRAD))
    if rule is None:
        raise Faulty(Fault(without_rule(node.op), where, ours=True))
    gradient = node.op.endswith(GRAD)
    grads = len(node.inputs) - len(node.outputs) if gradient else 0
    if gradient and grads < 1:
        raise Faulty(Fault("a gradient node reads no gradient", where))
    forward = node.inputs[grads:]
    if rule.adds:
        forward = tuple(tensor for tensor in forward if tensor != ABSENT)
    if ABSENT in forward or (rule.adds and not forward):
        raise Faulty(Fault("an input is missing", where))
    return Reading(rule, grads, forward)


def cast_of(node: Node, read: Reading, dtypes: Sequence[str], output: int, where: str) -> str:
    """The type of integers to which an output of a node must still be cast; empty where it need not be.

    dtypes: of all tensors. Raises Faulty where that is not known of the operator.
    """
    made = kind(dtypes[output]) if output != ABSENT and not read.is_gradient else ""
    kinds = [kind(dtypes[tensor]) for tensor in read.forward]
    due = to_cast(read.rule.types, read.rule.moves, kinds, dict(node.attrs), made)
    if due is None:
        what = " and ".join(sorted(set(kinds))) or "nothing"
        raise Faulty(Fault(f"it is said to make {made} of {what}, and how is not known", where, ours=True))
    return made if due else ""


def cast_of_sum(op: str, members: int, dtype: str) -> str:
    """The type of integers in which a collective of so many members adds up, where it may wrap around; empty if not."""
    adds = members > 1 and op in ("all_reduce", "reduce", "reduce_scatter")
    return kind(dtype) if adds and kind(dtype) in BITS else ""


def axes_of(node: Node, read: Reading, shapes: Sequence[Shape], where: str) -> Axes:
    """The index axes of a node at its full shapes, each tensor's as the plan states it, all of which must fit."""
    try:
        axes = read.rule.axes([shapes[tensor] for tensor in read.forward], dict(node.attrs))
    except ShapeError as error:
        raise Faulty(Fault(error.problem, where, ours=isinstance(error, NoRuleError))) from None
    made = axes.output_shapes
    stated = (*node.inputs[: read.grads], *node.outputs) if read.is_gradient else node.outputs
    right = (*made, *(shapes[tensor] for tensor in read.forward)) if read.is_gradient else made
    if len(stated) != len(right):
        raise Faulty(Fault(f"it has {len(stated)} outputs or gradients, its operator {len(right)}", where))
    for tensor, shape in zip(stated, right, strict=True):
        if tensor != ABSENT and shapes[tensor] != shape:
            raise Faulty(Fault(f"shape {list(shapes[tensor])} where the operator makes {list(shape)}", where))
    return axes


def _kept(axes: Axes) -> Axes:
    """Index axes of which those that are read as a whole keep their sizes."""
    atoms = tuple(replace(atom, least=atom.size) if atom.law is Law.WHOLE else atom for atom in axes.atoms)
    return replace(axes, atoms=atoms)


def pattern_of(node: Node, read: Reading, axes: Axes, shapes: Sequence[Shape], where: str) -> Pattern:
    """How the sizes of a node depend on each other: what is known of its operator, else its index axes."""
    attrs = dict(node.attrs)
    placed = node.op in PLACES and node.outputs[PLACES[node.op]] != ABSENT
    known = PATTERNS.get(node.op) if not placed else None
    found = known([shapes[tensor] for tensor in read.forward], attrs) if known is not None else None
    if found is None:
        axes = _kept(axes) if node.op in KEEPING else axes
        names = {atom.name for atom in axes.atoms}
        along = {read.grads + k: name for k, name in read.rule.indices.items() if name in names}
        return Pattern(axes, cuts=read.rule.cuts(attrs), along=along, reduce=read.rule.reduce)
    sides = ((found.axes.inputs, axes.inputs), (found.axes.outputs, axes.outputs))
    for mine, theirs in sides:
        if [found.axes.shape(dims) for dims in mine] != [axes.shape(dims) for dims in theirs]:
            raise Faulty(Fault(f"its pattern {mine} does not fit {theirs}", where, ours=True))
    return found
