"""Which values of a recording may be infinite or no number, by the constants in it.

A cut loop's inputs are real numbers: so must be what they stand for.
"""

from collections.abc import Iterable, Mapping
from math import isfinite

from verdict.backends.torch.trace import COMMUNICATION, Step

LEFT_OUT = {"hlo.maximum": "-inf", "hlo.minimum": "inf"}
"""What an operator of two values never makes where one of them is a real number."""
MOVES = frozenset({"hlo.broadcast", "hlo.reshape", "hlo.transpose", "hlo.slice", "hlo.convert"})
Words = frozenset[str]
ANY: Words = frozenset({"-inf", "inf", "nan"})


def infinite(steps: Iterable[Step]) -> Mapping[int, Words] | None:
    """What some values may be beside real numbers; those that are not named are these. None where such are sent."""
    found: dict[int, Words] = {}
    for step in steps:
        words = _made(step, [found.get(value, frozenset()) for value in step.inputs])
        if words and step.op in COMMUNICATION:
            return None
        found.update(dict.fromkeys(step.outputs, words) if words else {})
    return found


def _made(step: Step, read: list[Words]) -> Words:
    if step.op == "hlo.constant":
        values = dict(step.attrs)["values"]
        return frozenset(repr(value) for value in values if isinstance(value, float) and not isfinite(value))  # type: ignore[attr-defined]
    words = frozenset().union(*read)
    if not words or step.op in MOVES:
        return words
    if step.op in LEFT_OUT and len(read) == 2:
        return words - {LEFT_OUT[step.op]} if frozenset() in read else words
    return words if step.op == "hlo.select" else ANY
