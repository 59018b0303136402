"""How a plan multiplies by a number: what stands in it, for whoever writes nodes."""

from fractions import Fraction

Calls = tuple[tuple[str, tuple[tuple[str, int], ...]], ...]
"""Operators of one input, one after the other, with their attributes."""


def multiplied_by(factor: Fraction) -> Calls:
    """The operators that multiply by a factor, exactly: by its numerator, then through its denominator."""
    parts = (("mul", factor.numerator), ("div", factor.denominator))
    return tuple((op, (("other", number),)) for op, number in parts if number != 1)
