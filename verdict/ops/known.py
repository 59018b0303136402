"""What is known of values as they are computed: that they are zero, of which sign, and that they are finite numbers.

All of it holds of real numbers, and is asked of nodes in the order in which they run, on whatever devices.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from verdict.graph import GRAD
from verdict.ops import FACTS
from verdict.ops.rule import OpRule
from verdict.ops.signs import NOT_NEGATIVE, compares, keeps_places, may_fail, sign

PROBES = (1.0, 3.0)
"""Two numbers, by which a node that is their multiple, and a number that is added, is known."""


class Known(NamedTuple):
    """What is known of a value.

    zero: that all its elements are. sign: as `signs` has it. fixed: that it is computed from nothing. infinite, rises,
    chosen: whether it may have infinite elements, plus infinity among them, and whether data says which they are.
    doubtful: whether some elements may be no numbers at all.
    """

    zero: bool = False
    sign: int = 0
    fixed: bool = False
    infinite: bool = False
    rises: bool = False
    chosen: bool = False
    doubtful: bool = False

    @property
    def finite(self) -> bool:
        """Whether all elements are finite numbers."""
        return not self.infinite and not self.doubtful


ZERO = Known(zero=True, sign=NOT_NEGATIVE)
UNKNOWN = Known(infinite=True, rises=True, chosen=True, doubtful=True)


class Call(NamedTuple):
    """A node that computes: its inputs, the gradients first, with what is known of each, None for one that is absent;
    which of them are floats; what tells them apart; and how many outputs it has.
    """

    op: str
    attrs: Mapping[str, Any]
    inputs: tuple[Known | None, ...]
    floats: tuple[bool, ...]
    values: tuple[Hashable, ...]
    outputs: int

    @property
    def grads(self) -> int:
        """How many of the inputs are gradients."""
        return len(self.inputs) - self.outputs if self.op.endswith(GRAD) else 0

    @property
    def zeros(self) -> tuple[bool, ...]:
        """Which inputs are zero; an absent gradient is."""
        return tuple(k < self.grads if one is None else one.zero for k, one in enumerate(self.inputs))


def made(call: Call) -> tuple[Known, ...]:
    """What is known of each output of a node."""
    rule = FACTS.of(call.op)
    if rule is None:
        return (UNKNOWN,) * call.outputs
    op, attrs, grads = call.op, call.attrs, call.grads
    read = dict(_read(call, rule))
    fixed = all(one.fixed for one in read.values()) and not FACTS.random(op)
    positions = {k for k, one in read.items() if one.infinite}
    rises = any(read[k].rises for k in positions)
    makes = FACTS.makes_infinite(op, attrs)
    by_data = any(not call.floats[k] and not one.fixed for k, one in read.items())
    chosen = by_data or any(read[k].chosen for k in positions)
    infinite = makes or (bool(positions) and not FACTS.finite(op, positions, grads, rises))
    hidden = bool(positions) and not infinite and chosen and not compares(op)
    signs = [0 if one is None else one.sign for one in call.inputs]
    doubtful = hidden or any(one.doubtful for one in read.values()) or may_fail(op, attrs, signs, grads)
    found = Known(
        fixed=fixed,
        infinite=infinite,
        rises=infinite and (rises or FACTS.rises(op, attrs)),
        chosen=infinite and (chosen or (not fixed and not keeps_places(op, makes))),
        doubtful=doubtful,
    )
    zeros = vanishing(call) if found.finite else (False,) * call.outputs
    return tuple(
        ZERO._replace(fixed=fixed) if zero
        else found._replace(sign=sign(op, attrs, signs, call.values, not positions, place))
        for place, zero in enumerate(zeros)
    )  # fmt: skip


def vanishing(call: Call) -> tuple[bool, ...]:
    """Which outputs of a node are zero since inputs are, where all that it reads, and makes, is finite.

    An operator that is linear in an input is zero where that is, and so is the gradient of another input of it.
    """
    rule, zeros, grads = FACTS.of(call.op), call.zeros, call.grads
    if rule is None:
        return (False,) * call.outputs
    forward = zeros[grads:]
    linear = rule.linear_in(len(forward), call.attrs)
    if grads:
        nothing = all(zeros[:grads])
        return tuple(nothing or any(forward[j] for j in linear - {k}) for k in range(call.outputs))
    added = rule.sums and all(forward) and _makes(call, rule, [0.0] * len(forward), 0) == 0
    return (added or any(forward[k] for k in linear),) * call.outputs


def handed_on(call: Call) -> dict[int, int]:
    """Which outputs of a node are one of its inputs as it is, by their positions: copies, and sums of what is zero
    but for one. Whether they have the same shape is for who asks.
    """
    addends = FACTS.addends(call.op, range(len(call.inputs)), call.outputs)
    zeros, rule, grads = call.zeros, FACTS.of(call.op), call.grads
    if addends is not None:
        live = [k for k in addends if not zeros[k]]
        return dict.fromkeys(range(call.outputs), live[0]) if len(live) == 1 else {}
    if rule is None or not rule.sums:
        return {}
    if grads:
        return {k: 0 for k in range(call.outputs) if grads == 1 and _is_kept(call, rule, 0, k)}
    live = [k for k, zero in enumerate(zeros) if not zero]
    return {0: live[0]} if len(live) == 1 and _is_kept(call, rule, live[0], 0) else {}


def _read(call: Call, rule: OpRule) -> Iterator[tuple[int, Known]]:
    """The inputs of which more than the shape counts."""
    arity = len(call.inputs) - call.grads
    whole = rule.additive or rule.copies or rule.adds or (arity == 1 and bool(rule.linear_in(arity, call.attrs)))
    moved = call.grads and whole
    unread = range(call.grads, len(call.inputs)) if moved else rule.unread(bool(call.grads))
    for place, one in enumerate(call.inputs):
        if one is not None and place not in unread:
            yield place, one


def _is_kept(call: Call, rule: OpRule, place: int, output: int) -> bool:
    """Whether a sum, or its gradient, makes of an input the same number, the other inputs being zero."""
    zeros = [0.0] * len(call.inputs)
    given = ((probe, [*zeros[:place], probe, *zeros[place + 1 :]]) for probe in PROBES)
    return all(_makes(call, rule, numbers, output) == probe for probe, numbers in given)


def _makes(call: Call, rule: OpRule, inputs: Sequence[float], output: int) -> float | None:
    """What a node makes of single numbers; None where that is none."""
    given, grads = [np.full((1,), number) for number in inputs], call.grads
    found = rule.gradient(given[grads:], given[:grads], call.attrs) if grads else rule.forward(given, call.attrs)
    one = found[output]
    return None if one is None or one.shape != (1,) else float(one[0])
