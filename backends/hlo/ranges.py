"""Between which integers the elements of a value lie, where that is known: from ranges that are stated of parameters.

jax writes `select(i < 0, i + n, i)` wherever an array is indexed, and compares positions with the sizes of arrays;
where the range of i says how that ends, nothing of it is left in the plan.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from verdict.ops.domain import of_type

Span = tuple[int, int]
"""The least and the greatest."""
Ranges = Mapping[str, Span]
"""What parameters of integers lie between, by name."""
NO_RANGES: Ranges = MappingProxyType({})
Ends = tuple[float, float]
"""The same of any numbers."""
MOST = 1 << 62
"""Integers beyond this are not followed: those of 64 bits wrap around there."""
MOVES = frozenset({"broadcast", "reshape", "transpose", "slice", "reverse", "dynamic_slice", "gather", "convert"})
"""Opcodes whose elements are those of their first operand."""
JOINS = frozenset({"concatenate", "pad", "update_slice"})
"""Opcodes whose elements are those of some of their operands."""


def span_of(op: str, spans: Sequence[Span | None], dtype: str) -> Span | None:
    """Between which integers the elements lie that an operator makes; None where that is not known."""
    opcode, kept = op.removeprefix("hlo."), of_type(dtype)
    if kept is None or dtype == "bool":
        return None
    needed = spans[:1] if opcode in MOVES else spans[1:] if opcode == "select" else spans
    known = [span for span in needed if span is not None]
    if not known or len(known) < len(needed):
        return None
    found = _computed(opcode, known)
    return found if found and all(kept.holds(end) and abs(end) < MOST for end in found) else None


def _computed(opcode: str, spans: Sequence[Span]) -> Span | None:
    """Over the integers, without an end."""
    if opcode in MOVES:
        return spans[0]
    if opcode in JOINS or opcode == "select":
        return min(low for low, _ in spans), max(high for _, high in spans)
    match opcode, spans:
        case "add", ((a, b), (c, d)):
            return a + c, b + d
        case "subtract", ((a, b), (c, d)):
            return a - d, b - c
        case "multiply", ((a, b), (c, d)):
            ends = a * c, a * d, b * c, b * d
            return min(ends), max(ends)
        case "divide", ((a, b), (c, d)) if c == d > 0:
            return int(abs(a) // c) * (1 if a > 0 else -1), int(abs(b) // c) * (1 if b > 0 else -1)
        case "remainder", ((a, b), (c, d)) if c == d > 0:
            return max(a, 1 - c) if a < 0 else 0, min(b, c - 1) if b > 0 else 0
        case "maximum", ((a, b), (c, d)):
            return max(a, c), max(b, d)
        case "minimum", ((a, b), (c, d)):
            return min(a, c), min(b, d)
        case "clamp", ((a, b), (c, d), (e, f)):
            return min(max(a, c), e), min(max(b, d), f)
    return None


def compared(direction: str, one: Ends | None, other: Ends | None) -> bool | None:
    """How the comparison of all elements of two values ends; None where it is not the same for all."""
    if one is None or other is None:
        return None
    (a, b), (c, d) = one, other
    ends = {
        "LT": (b < c, a >= d),
        "LE": (b <= c, a > d),
        "GT": (a > d, b <= c),
        "GE": (a >= d, b < c),
        "EQ": (a == b == c == d, b < c or d < a),
        "NE": (b < c or d < a, a == b == c == d),
    }
    always, never = ends[direction]
    return True if always else False if never else None
