"""What operators make of numbers of which the least and the greatest are known, element by element.

A mask or a comparison whose answer is the same for all numbers between the bounds is known, and what counts answers.
"""

from collections.abc import Sequence

import numpy as np

from verdict.errors import VerdictError
from verdict.graph import GRAD
from verdict.ops import FACTS, RULES
from verdict.ops.names import CONDITIONS, name_of
from verdict.ops.rule import Array, Attributes

RISING = frozenset({"_to_copy", "clone", "sum", "maximum", "minimum"})
"""Operators that make no less of greater numbers, of which they make no truth values. `add` is one where it adds no
negative multiple."""
FIXED = CONDITIONS | {"gt": 1, "ge": 1, "lt": 1, "le": 1}
"""Operators that do so where the input at this position, if there is one, is known."""
FALLING = frozenset({"lt", "le"})
"""Those that make no more of them."""
UNSET = "empty"
"""What operators begin with that make memory in which nothing is known to be."""
EQUAL = {"eq": 1, "ne": 0}
"""What operators make of equal numbers."""


def between(op: str, attrs: Attributes, lows: Sequence[Array], highs: Sequence[Array]) -> tuple[Array, Array] | None:
    """The least and the greatest of each element that a node makes of numbers between these; None where that is not
    known. Of several outputs it is not.
    """
    rule, name = RULES.get(op), name_of(op)
    if rule is None or op.endswith(GRAD) or name.startswith(UNSET):
        return None
    if name in EQUAL:
        return _equal(EQUAL[name], attrs, lows, highs)
    at = FIXED.get(name, len(lows))
    known = all(np.array_equal(low, high) for low, high in zip(lows[at : at + 1], highs[at : at + 1], strict=True))
    rises = rule.moves or name in RISING or (name == "add" and attrs.get("alpha", 1) > 0)
    rises = (rises and attrs.get("dtype") != "bool") or name in FIXED or not (lows or FACTS.random(op))
    if not rises or not known:
        return None
    try:
        made = [rule.forward(each, attrs) for each in ((highs, lows) if name in FALLING else (lows, highs))]
    except VerdictError:
        return None
    ends = [outputs[0] for outputs in made if len(outputs) == 1 and outputs[0] is not None]
    return (np.asarray(ends[0]), np.asarray(ends[1])) if len(ends) == 2 else None


def _equal(equal: int, attrs: Attributes, lows: Sequence[Array], highs: Sequence[Array]) -> tuple[Array, Array] | None:
    """What says whether numbers are equal, and makes `equal` of those that are."""
    other = (np.asarray(attrs["other"]),) if "other" in attrs else ()
    if len(lows) + len(other) != 2:
        return None
    (a, b), (c, d) = zip((*lows, *other), (*highs, *other), strict=True)
    same, apart = (a == b) & (c == d) & (a == c), (b < c) | (d < a)
    yes, no = same.astype(float), 1.0 - apart.astype(float)
    return (yes, no) if equal else (1.0 - no, 1.0 - yes)
