"""Divisions that divide by zero nowhere where all losses are numbers: a loss by its tokens, and its gradients.

Where a loss of the single-device plan is no number, nothing is compared (`losses-are-numbers`). So a divisor is not
zero if all of the quotient goes, by operators that make no number of what is none, into a loss; nor is it in other
divisions.
"""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import Any, NamedTuple

from verdict.graph import ABSENT, GRAD, Plan
from verdict.ops.facts import name_of
from verdict.ops.signs import COUNTING, divides, pole
from verdict.outcome import Assumption

NUMBERS = Assumption("losses-are-numbers", "where a loss of the single-device plan is no number, nothing is compared")
WHOLE = frozenset(
    {
        *("view", "_unsafe_view", "reshape", "expand", "permute", "transpose", "t", "unsqueeze", "squeeze", "flip"),
        *("clone", "alias", "detach", "detach_copy", "lift_fresh", "lift_fresh_copy", "contiguous", "identity"),
        *("float", "to", "_to_copy", "broadcast", "convert", "copy", "~cast"),
    }
)
"""Operators that hand on all of what they read first, and change no number but by a cast."""
THROUGH = frozenset(
    {
        *("add", "sub", "rsub", "subtract", "mul", "multiply", "div", "divide", "neg", "negate", "accumulate", "dot"),
        *("sum", "mean", "reduce_add", "exp", "log", "sqrt", "rsqrt", "square", "sigmoid", "tanh", "silu", "gelu"),
        *("matmul", "mm", "bmm", "mv", "addmm", "baddbmm", "linear", "mse_loss", "softmax", "_softmax", "logsumexp"),
        *("log_softmax", "_log_softmax", "native_layer_norm", "layernorm", "rms_norm", "_fused_rms_norm"),
        *("cat", "stack", "concatenate", "reciprocal", "relu", "~sum", "~mean", "~times", "~concatenate"),
    }
)
"""Operators of which some of the first output is no number where some element of some input is none."""

UNBOUNDED = THROUGH - {
    *("exp", "rsqrt", "reciprocal", "div", "divide", "sigmoid", "tanh", "silu", "gelu", "softmax", "_softmax", "relu"),
    *("logsumexp", "log_softmax", "_log_softmax"),
}
"""Those of which that is no finite number either where some element is infinite."""


class Called(NamedTuple):
    """A node. inputs, outputs: what tells values apart, ABSENT ones among them. grads: how many inputs, the first ones,
    are gradients of a `.grad` node.
    """

    op: str
    attrs: Mapping[str, Any]
    inputs: Sequence[Hashable]
    outputs: Sequence[Hashable]
    grads: int


def summed(values: Sequence[Hashable], total: Hashable) -> Called:
    """What adds some values."""
    return Called("add", {}, values, (total,), 0)


Rooted = Callable[[Sequence[Hashable]], tuple[Hashable, ...]]


def granted(
    calls: Sequence[Called], losses: Collection[Hashable], through: Collection[str] = THROUGH
) -> frozenset[int]:
    """The places of the divisions among `calls`, which are in their order, whose divisors are zero nowhere where all
    `losses` are numbers. through: the operators that make no number of what is none: `UNBOUNDED` where a number by zero
    is infinite, and not none.
    """
    root: dict[Hashable, Hashable] = {}
    for call in calls:
        if _named(call) in WHOLE and not call.op.endswith(GRAD) and call.inputs:
            of = root.get(call.inputs[0], call.inputs[0])
            root.update((value, of) for value in call.outputs if value != ABSENT)

    def rooted(values: Sequence[Hashable]) -> tuple[Hashable, ...]:
        return tuple(root.get(value, value) for value in values)

    sure = _needed(calls, losses, rooted, through)
    divisors, forward = set[Hashable](), set[tuple[str, tuple[Hashable, ...]]]()
    for place in sure:
        call = calls[place]
        divisors.update(_divisor(call, rooted(call.inputs)))
        divisors.update(rooted(call.outputs[1:]) if _named(call) in COUNTING else ())
        forward.add((call.op, rooted(call.inputs)))
    found = set(sure)
    for place, call in enumerate(calls):
        if divides(call.op, call.attrs):
            inputs = rooted(call.inputs)
            known = not divisors.isdisjoint(_divisor(call, inputs))
            if known or (call.op.removesuffix(GRAD), inputs[call.grads :]) in forward:
                found.add(place)
    return frozenset(found)


def assumed(single: Plan) -> tuple[Assumption, ...]:
    """What the divisions of a single-device plan that trains are taken to be."""
    nodes = (node for segment in single.segments for node in segment.nodes)
    divided = any(divides(node.op, dict(node.attrs)) and "other" not in dict(node.attrs) for node in nodes)
    return (NUMBERS,) if divided and single.losses else ()


def _needed(
    calls: Sequence[Called], losses: Collection[Hashable], rooted: Rooted, through: Collection[str]
) -> list[int]:
    """The places of divisions of which all that they make is a number where the losses are."""
    needed = set(rooted(tuple(losses)))
    found: list[int] = []
    for place in reversed(range(len(calls))):
        call = calls[place]
        if call.op.endswith(GRAD) or needed.isdisjoint(rooted(call.outputs[:1])):
            continue
        if divides(call.op, call.attrs):
            found.append(place)
        if _named(call) in through:
            needed.update(rooted([value for value in call.inputs if value != ABSENT]))
    return found


def _divisor(call: Called, inputs: Sequence[Hashable]) -> Sequence[Hashable]:
    """The value that must not be zero: of the gradient of a counted loss the last one, which is how many there are."""
    if _named(call) == "nll_loss_backward":
        return inputs[-1:]
    at = pole(call.op, call.attrs)
    return () if at is None else inputs[call.grads + at : call.grads + at + 1]


def _named(call: Called) -> str:
    return name_of(call.op).removeprefix("hlo.")
