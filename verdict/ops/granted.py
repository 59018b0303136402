"""Divisions that divide by zero nowhere where all losses are numbers: a loss by its tokens, and its gradients.

Where a loss of the single-device plan is no number, nothing is compared (`losses-are-numbers`). So a divisor is not
zero if all of the quotient goes, by operators that make no number of what is none, into a loss (or of each row some, in
`normed`); nor is it in other divisions.
"""

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from verdict.graph import ABSENT, GRAD, Plan
from verdict.ops.names import COMPARING, NEGATIONS, name_of, named
from verdict.ops.normed import Between, norms
from verdict.ops.signs import COUNTING, divides, pole
from verdict.ops.types import FLOAT, kind
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
        *("add", "sub", "rsub", "subtract", "mul", "multiply", "neg", "negate", "accumulate", "dot", "square", "log"),
        *("sum", "mean", "reduce_add", "sqrt", "matmul", "mm", "bmm", "mv", "addmm", "baddbmm", "linear", "mse_loss"),
        *("native_layer_norm", "layernorm", "rms_norm", "_fused_rms_norm", "cat", "stack", "concatenate"),
        *("~sum", "~mean", "~times", "~concatenate"),
    }
)
"""Operators of which some of the first output is no finite number where some element of some input is none."""
OF_FIRST = frozenset({"div", "divide"})
"""Operators of which that holds for the first input: what is divided by infinity is zero."""

SUMMING = frozenset({"sum", "reduce_add", "~sum"})
"""Operators that add up what they read."""
JOINING = NEGATIONS | {"and", "or", "bitwise_and", "bitwise_or", "logical_and", "logical_or"}
"""Operators that make truth values of truth values."""
UNWEIGHTED = 2
"""How many inputs a counted loss has whose classes have no weights."""


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


class Granted(NamedTuple):
    """divisions: the places of those that divide by zero nowhere. counts: the values that count something, and are then
    not zero.
    """

    divisions: frozenset[int]
    counts: frozenset[Hashable] = frozenset()


Rooted = Callable[[Sequence[Hashable]], tuple[Hashable, ...]]


def granted(
    calls: Sequence[Called], losses: Collection[Hashable], between: Between | None, said: Collection[int] = ()
) -> Granted:
    """The divisions among `calls`, which are in their order, whose divisors are zero nowhere where all `losses` are
    finite numbers. between: the integers that are given, by value, which are between two numbers; None where norms are
    not asked about. said: the places of divisions that are known to be such.
    """
    root: dict[Hashable, Hashable] = {}
    for call in calls:
        if _named(call) in WHOLE and not call.op.endswith(GRAD) and call.inputs and _makes_reals(call):
            of = root.get(call.inputs[0], call.inputs[0])
            root.update((value, of) for value in call.outputs if value != ABSENT)

    def rooted(values: Sequence[Hashable]) -> tuple[Hashable, ...]:
        return tuple(root.get(value, value) for value in values)

    sure, needed = _needed(calls, losses, rooted)
    sure += said
    divisors, forward = set[Hashable](), set[tuple[str, tuple[Hashable, ...]]]()
    squares = set[Hashable]()
    for place, square in norms(calls, needed, between) if between is not None else ():
        sure.append(place)
        squares.update(rooted([square]))
    for place in sure:
        call = calls[place]
        divisors.update(_divisor(call, rooted(call.inputs)))
        divisors.update(rooted(call.outputs[1:]) if _named(call) in COUNTING else ())
        forward.add((call.op, rooted(call.inputs)))
    found = set(sure)
    for place, call in enumerate(calls):
        if pole(call.op, call.attrs) == 0 and not squares.isdisjoint(rooted(call.inputs[call.grads : call.grads + 1])):
            found.add(place)
        elif divides(call.op, call.attrs):
            inputs = rooted(call.inputs)
            known = not divisors.isdisjoint(_divisor(call, inputs))
            if known or (call.op.removesuffix(GRAD), inputs[call.grads :]) in forward:
                found.add(place)
    return Granted(frozenset(found), frozenset(_counts(calls, rooted)) & divisors)


def _counts(calls: Sequence[Called], rooted: Rooted) -> Iterator[Hashable]:
    """How many truth values are true, and how many elements a loss counts, none of which has a weight. numbers: truth
    values that were made integers, of which the opposites are no truth values.
    """
    truths, numbers = set[Hashable](), set[Hashable]()
    for call in calls:
        read, name = rooted(call.inputs), named(call.op)
        are_truths = bool(read) and truths.issuperset(read)
        if name in COMPARING or (name in JOINING and are_truths and "other" not in call.attrs):
            truths.update(call.outputs)
        elif _named(call) in WHOLE and bool(read) and read[0] in truths | numbers:
            (numbers if "dtype" in call.attrs or read[0] in numbers else truths).update(call.outputs)
        elif _named(call) in SUMMING and bool(read) and read[0] in truths | numbers:
            yield from call.outputs
        elif _named(call) == "nll_loss_forward" and len(read) == UNWEIGHTED:
            yield from call.outputs[1:]


def assumed(single: Plan) -> tuple[Assumption, ...]:
    """What the divisions of a single-device plan that trains are taken to be."""
    nodes = (node for segment in single.segments for node in segment.nodes)
    divided = any(_may_divide_by_zero(node.op, dict(node.attrs)) for node in nodes)
    return (NUMBERS,) if divided and single.losses else ()


def _may_divide_by_zero(op: str, attrs: Mapping[str, Any]) -> bool:
    return divides(op, attrs) and (pole(op, attrs) is not None or name_of(op) in COUNTING)


def _needed(
    calls: Sequence[Called], losses: Collection[Hashable], rooted: Rooted
) -> tuple[list[int], Collection[Hashable]]:
    """The places of divisions of which all that they make is a number where the losses are, and the values of which
    all elements are.
    """
    needed = set(rooted(tuple(losses)))
    found: list[int] = []
    for place in reversed(range(len(calls))):
        call = calls[place]
        if call.op.endswith(GRAD) or needed.isdisjoint(rooted(call.outputs[:1])):
            continue
        if divides(call.op, call.attrs):
            found.append(place)
        needed.update(rooted([value for value in call.inputs[: _through(call)] if value != ABSENT]))
    return found, needed


def _through(call: Called) -> int:
    """Of how many of the inputs, the first ones, an infinite element leaves something that is no finite number."""
    if not _makes_reals(call):
        return 0
    if _named(call) in OF_FIRST:
        return 0 if call.attrs.get("reflected") else 1
    return len(call.inputs) if _named(call) in THROUGH else 0


def _divisor(call: Called, inputs: Sequence[Hashable]) -> Sequence[Hashable]:
    """The value that must not be zero: of the gradient of a counted loss the last one, which is how many there are."""
    if _named(call) == "nll_loss_backward":
        return inputs[-1:]
    at = pole(call.op, call.attrs)
    return () if at is None else inputs[call.grads + at : call.grads + at + 1]


def _makes_reals(call: Called) -> bool:
    """Whether a call does not cast to integers or truth values, of which any number may come."""
    return kind(str(call.attrs.get("dtype") or FLOAT)) == FLOAT


def _named(call: Called) -> str:
    return name_of(call.op).removeprefix("hlo.")
