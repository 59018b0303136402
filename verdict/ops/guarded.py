"""Divisions by what may be zero of which no quotient is read where it is: torch puts zeros there in a norm's gradient.

What stands there is the same number whatever the quotient is, or is not.
"""

from collections import defaultdict
from collections.abc import Hashable, Sequence

from verdict.ops.granted import Called
from verdict.ops.names import COMPARING, name_of
from verdict.ops.signs import divides, pole

TRUE = frozenset({"eq", "le", "ge"})
"""Comparisons with zero that are true of zero."""
CHOOSES = {("masked_fill", 0): (1, True), ("where", 2): (0, True), ("where", 1): (0, False)}
"""By operator and position of what it reads: the position of a condition, and how that is where it reads it not."""


def guarded(calls: Sequence[Called]) -> frozenset[int]:
    """The places of the divisions among `calls` whose quotients are read by nothing but choices of something else
    wherever the divisor is zero.
    """
    readers: dict[Hashable, list[tuple[Called, int]]] = defaultdict(list)
    at_zero: dict[Hashable, tuple[Hashable, bool]] = {}
    for call in calls:
        for position, value in enumerate(call.inputs):
            readers[value].append((call, position))
        if name_of(call.op) in COMPARING and call.attrs.get("other") == 0 and len(call.inputs) == 1:
            at_zero[call.outputs[0]] = call.inputs[0], name_of(call.op) in TRUE
    found = set[int]()
    for place, call in enumerate(calls):
        at, read = pole(call.op, call.attrs), readers[call.outputs[0]]
        if at is None or call.grads or at >= len(call.inputs) or not divides(call.op, call.attrs):
            continue
        if read and all(_hides(reader, position, call.inputs[at], at_zero) for reader, position in read):
            found.add(place)
    return frozenset(found)


def _hides(
    reader: Called, position: int, divisor: Hashable, at_zero: dict[Hashable, tuple[Hashable, bool]]
) -> bool:  # fmt: skip
    """Whether a node takes something else than what it reads at a position wherever a divisor is zero."""
    condition, hides = CHOOSES.get((name_of(reader.op), position), (None, False))
    if condition is None or reader.grads:
        return False
    return at_zero.get(reader.inputs[condition]) == (divisor, hides)
