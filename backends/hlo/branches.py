"""Branches: which one is taken, where that is known; else all are, and data chooses among what they make."""

from collections.abc import Sequence

import numpy as np

from verdict.backends.hlo.instruction import At, named
from verdict.backends.hlo.values import Found, Known, Leaf, Made, Refused
from verdict.backends.torch.trace import Value


def taken(chosen: Known, count: int) -> int:
    """The branch that is taken, of so many: the first one where a truth value is true, the last one where a number is
    none of theirs.
    """
    if chosen.dtype == "bool":
        return 0 if chosen.array else 1
    return int(chosen.array) if 0 <= int(chosen.array) < count else count - 1


def chosen_of(at: At, chosen: Made, made: Sequence[Found]) -> Found:
    """What data chooses of what all branches make. Raises Refused."""
    found = made[-1]
    for number in range(len(made) - 2, -1, -1):
        found = _either(at, _is(at, chosen, number), made[number], found)
    return found


def _is(at: At, chosen: Made, number: int) -> Leaf:
    """Whether a branch is chosen."""
    if chosen.dtype == "bool":
        return chosen
    own = Known(np.asarray(number, dtype=np.int64), chosen.dtype)
    return at.recording.emit("hlo.compare", (chosen, own), Value((), "bool"), named(at.each), {"direction": "EQ"})


def _either(at: At, mask: Leaf, one: Found, other: Found) -> Found:
    if isinstance(one, Known | Made) and isinstance(other, Known | Made):
        value = Value(one.shape, one.dtype)
        if one.shape != other.shape or one.dtype != other.dtype:
            raise Refused("its branches make arrays that are not alike")
        like = Value(one.shape, "bool")
        spread = at.recording.emit("hlo.broadcast", (mask,), like, named(at.each), {"size": one.shape, "dims": ()})
        return at.recording.emit("hlo.select", (spread, one, other), value, named(at.each), {})
    if not isinstance(one, tuple) or not isinstance(other, tuple) or len(one) != len(other):
        raise Refused("its branches make states that are not alike")
    pairs: list[tuple[Found, Found]] = list(zip(one, other, strict=True))  # type: ignore[arg-type]
    return tuple(_either(at, mask, first, second) for first, second in pairs)
