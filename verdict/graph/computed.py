"""Constants that a program computes in floats, and what they are but for rounding: 1 - 0.999 is 0.0010000000000000009.

Optimizers are full of them. Where one side writes lr * (m / (1 - b1)) and the other one (lr / (1 - b1)) * m, both are
right to a rounding, and over the real numbers they are not one function.
"""

import math
from collections.abc import Callable, Hashable
from dataclasses import replace
from decimal import Context, Decimal
from functools import lru_cache

from verdict.graph.plan import Node, Plan
from verdict.outcome import Assumption

ALL_DIGITS = 15
"""A float that is written with so many digits was computed, and not written by a person."""
FEW_DIGITS, SQUARE_DIGITS = 9, 7
"""The digits of a decimal that such a float, or the square of one, is taken for: of a million random floats some
thousand are near to one, and of their squares some ten.
"""
DRIFT = 1e-12
"""How far such a float may be from what it is, relative to it: 1 - b is right to 1e-16 / (1 - b)."""
NAME = "computed-constants"


def as_meant(plan: Plan, constants: frozenset[float]) -> Plan:
    """The plan with these constants, as `computed_in` finds them, as what they are but for rounding; an assumption says
    which.
    """

    def changed(value: Hashable) -> Hashable:
        return meant(value) or value if isinstance(value, float) and value in constants else value

    segments = tuple(
        segment._replace(nodes=tuple(_with(node, changed) for node in segment.nodes)) for segment in plan.segments
    )
    each = ", ".join(f"{value!r} is {meant(value)!r}" for value in sorted(constants))
    assumption = Assumption(NAME, f"constants that were computed in floats are what they are but for rounding: {each}")
    return replace(plan, segments=segments, assumptions=(*plan.assumptions, assumption))


def computed_in(plan: Plan) -> frozenset[float]:
    """The floats in attributes of nodes that are a short decimal, its root or the inverse of that but for rounding."""
    found: set[float] = set()
    for segment in plan.segments:
        for node in segment.nodes:
            for _, value in node.attrs:
                each = value if isinstance(value, tuple) and len(value) == 1 else (value,)
                found.update(number for number in each if isinstance(number, float))
    return frozenset(value for value in found if meant(value) is not None)


def _with(node: Node, changed: Callable[[Hashable], Hashable]) -> Node:
    attrs = tuple(
        (name, tuple(map(changed, value)) if isinstance(value, tuple) and len(value) == 1 else changed(value))
        for name, value in node.attrs
    )
    return node if attrs == node.attrs else node._replace(attrs=attrs)


@lru_cache(maxsize=4096)
def meant(value: float) -> float | None:
    """What a float is but for rounding, where it is something else; None where it is what it is. A whole number is not
    taken for what a float is: 1 - 1e-15 is there to be no 1.
    """
    if not math.isfinite(value) or len(Decimal(repr(value)).normalize(Context()).as_tuple().digits) < ALL_DIGITS:
        return None
    size = abs(value)
    square, inverse = (_near(each, SQUARE_DIGITS) for each in (size * size, 1 / size / size))
    near = _near(size, FEW_DIGITS), square and math.sqrt(square), inverse and 1 / math.sqrt(inverse)
    found = next((each for each in near if each and not each.is_integer()), None)
    return None if found is None or found == size else math.copysign(found, value)


def _near(value: float, digits: int) -> float | None:
    near = float(f"{value:.{digits - 1}e}")
    return near if abs(near - value) <= DRIFT * value else None
