"""What whole-plan reduction knows of operators: the pattern of sizes, and the flow of coordinates, by name.

An operator that is not in PATTERNS has the pattern of its rule's index axes; one that is not in FLOWS and whose rule
does more than to move elements keeps the values of every coordinate that it reads.
"""

from verdict.graph import GRAD
from verdict.ops.patterns import contractions, lookups, made, opcodes, parts
from verdict.ops.patterns.flows import FLOWS

RECORDED = frozenset().union(parts.PATTERNS, made.PATTERNS, lookups.PATTERNS, contractions.PATTERNS)
"""Operators of programs that torch runs."""

PATTERNS = {
    **opcodes.PATTERNS,
    **parts.WRITTEN,
    **{f"{name}{GRAD}": pattern for name, pattern in parts.WRITTEN.items()},
    **parts.PATTERNS,
    **made.PATTERNS,
    **lookups.PATTERNS,
    **contractions.PATTERNS,
}

KEEPING = frozenset(lookups.PATTERNS) | opcodes.LOOKUPS.keys()
"""Lookups: where none of their patterns holds, what integers name elements of keeps its size."""

PLACES = {"aten.max.dim": 1, "aten.min.dim": 1}
"""Operators whose pattern holds where they do not make this output: which place it is that holds the greatest."""

__all__ = ["FLOWS", "KEEPING", "PATTERNS", "PLACES", "RECORDED"]
