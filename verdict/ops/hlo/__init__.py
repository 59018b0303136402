"""The rules of HLO opcodes, as XLA's modules have them: `hlo.<opcode>`, `-` written `_` (form.py).

The numbers are those of the functions that own and ATen operators are made of. What sets HLO apart is said where it
is: shapes must be equal (nothing is broadcast), starts of dynamic slices are clamped, gather clamps, scatter drops.
"""

from verdict.ops.hlo import bits, contraction, elementwise, indexing, moves, ordering, parts, reductions, windows

RULES = (
    *elementwise.RULES,
    *bits.RULES,
    *moves.RULES,
    *parts.RULES,
    *contraction.RULES,
    *reductions.RULES,
    *windows.RULES,
    *indexing.RULES,
    *ordering.RULES,
)

__all__ = ["RULES"]
