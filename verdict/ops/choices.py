"""Operators that choose, element by element, between what they read and numbers: masks; and those that add."""

from collections.abc import Mapping, Sequence, Set
from math import isfinite, isinf
from typing import Any

from verdict.ops import FACTS, RULES
from verdict.ops.names import CHOICES, COMPARING, CONDITIONS, FILLS, NEGATIONS, PADS, PRODUCTS, named
from verdict.ops.types import cast

MIXING = frozenset({"lerp"})
"""Operators that add multiples of what they read, of which their rules do not say so."""
NUMBERS = ("value", "self", "other")
"""Attributes that are a number to choose."""
FILLED = ("s", "fill_value", "value", "values")
"""Attributes that are the number with which everything is filled, or all of these numbers."""


FACTORS = {
    **dict.fromkeys(("mul", "div"), ("other",)),
    **dict.fromkeys(("add", "sub"), ("alpha",)),
    **dict.fromkeys(("addcmul", "addcdiv"), ("value",)),
}
"""Attributes that are a number by which a node multiplies, or divides, what it reads."""


def factors_in(op: str) -> tuple[str, ...]:
    """The attributes of a node that are a factor, or the number that it makes."""
    name = named(op)
    return FILLED if name in FILLS - CHOICES or name.endswith("constant") else FACTORS.get(name, ())


def chooses(
    op: str, attrs: Mapping[str, Any], arity: int, free: Set[int], neutral: Set[int], fixed: Set[int]
) -> bool:  # fmt: skip
    """Whether a node chooses between what may be anything, at the positions `free`, and what adds the same to a sum
    however often it is added: zeros or infinities, at the positions `neutral` or as attributes; and that by what does
    not depend on any such number, at the positions `fixed`, or by place: else what it lets through may have bounds.
    """
    name, branches = named(op), set(range(arity))
    if name in CHOICES and CONDITIONS[name] in fixed:
        branches -= {CONDITIONS[name]}
    elif name not in PADS:
        return False
    numbers = [attrs[key] for key in NUMBERS if attrs.get(key) is not None]
    return bool(branches & free) and branches <= free | neutral and all(map(is_neutral, numbers))


def lets_some_through(op: str, attrs: Mapping[str, Any], arity: int, fixed: Set[int]) -> bool:
    """Whether a node writes over what it reads wherever a mask says so that depends on real numbers: what it leaves may
    have bounds.
    """
    return named(op) not in CHOICES and not masks_at(op, attrs, arity) <= fixed


def masks_at(op: str, attrs: Mapping[str, Any], arity: int) -> frozenset[int]:
    """The positions at which a node reads what says where it chooses what."""
    name = named(op)
    if name in CHOICES:
        return frozenset({CONDITIONS[name]})
    return frozenset(range(1, arity - 1)) if name == "index_put" and attrs.get("masks") else frozenset()


def added_at(op: str, attrs: Mapping[str, Any], arity: int) -> frozenset[int]:
    """The positions at which a node reads what it adds, or multiples of it, to what else it reads or makes."""
    if FACTS.is_sum(op) or FACTS.is_additive(op) or named(op) in MIXING:
        return frozenset(range(arity))
    return frozenset({0} if FACTS.is_adding(op, arity, attrs) or FACTS.adds_products(op) else ())


def exponent(op: str, attrs: Mapping[str, Any]) -> int:
    """How often a node multiplies what it reads by itself, as whole powers do; once any other."""
    power = attrs.get("exponent", 2 if named(op) == "square" else 1)
    return max(1, int(power)) if isinstance(power, int | float) and isfinite(power) else 1


def multiplies_along(op: str) -> bool:
    """Whether a node multiplies the elements of an axis."""
    return named(op) in PRODUCTS


def fills_neutral(op: str, attrs: Mapping[str, Any]) -> bool:
    """Whether all that a node makes, reading nothing, is zero, or all is infinite and of one sign."""
    if named(op) not in FILLS - CHOICES | {"constant"}:
        return False
    found = next((attrs[key] for key in FILLED if attrs.get(key) is not None), None)
    numbers = list(found) if isinstance(found, Sequence) else [found]
    return len(set(numbers)) == 1 and is_neutral(numbers[0])


def is_neutral(number: object) -> bool:
    """Whether a number, added up, is the same however often it is added: 0, or infinite."""
    return isinstance(number, int | float) and (number == 0 or isinf(number))


def of_equal(op: str, attrs: Mapping[str, Any]) -> bool | None:
    """Whether a comparison holds of equal ones; None of what is no comparison."""
    word = _word(op, attrs)
    return word in ("ge", "le", "eq") if word in COMPARING else None


def tells_equal(op: str, attrs: Mapping[str, Any]) -> bool:
    """Whether a node tells which of two are equal."""
    return _word(op, attrs) in ("eq", "ne")


def orders(op: str, attrs: Mapping[str, Any]) -> bool:
    """Whether a node tells which of two is greater."""
    return _word(op, attrs) in ("ge", "gt", "le", "lt")


def is_settled(op: str, attrs: Mapping[str, Any], place: int) -> bool:
    """Whether a node that tells which of two is greater says the same of all that is not negative, at a position, and
    zero.
    """
    return _word(op, attrs) in (("ge", "lt") if place == 0 else ("le", "gt"))


def _word(op: str, attrs: Mapping[str, Any]) -> str:
    return str(attrs.get("direction", op.split(".")[1] if "." in op else op)).lower()


def turned(op: str, attrs: Mapping[str, Any]) -> bool | None:
    """Whether a node makes of a truth value, alone, its opposite, or what it is (False); None of any other node."""
    name, number = named(op), attrs.get("other")
    if name in NEGATIONS or (op.startswith("aten.eq.") and number == 0):
        return True
    same = op.startswith(("aten.ne.", "aten.gt.")) and number == 0
    rule = RULES.get(op)
    return False if same or (rule is not None and (rule.moves or rule.types is cast)) else None


def lets_through(op: str, attrs: Mapping[str, Any], arity: int, position: int, neutral: Set[int]) -> bool | None:
    """Whether a node lets through what else it reads where its input at a position is true, and makes what adds the
    same to a sum however often it is added where that is false; False where it is the other way round; None of any
    other node.

    neutral: the positions of such inputs.
    """
    name = named(op)
    if FACTS.is_product(op, arity, attrs):
        return True
    if name not in CHOICES or position != CONDITIONS[name]:
        return None
    places = iter(k for k in range(arity) if k != position)
    keys = ("self", "other") if name == "where" else ("", "value")
    first, second = (
        is_neutral(attrs[key]) if attrs.get(key) is not None else next(places, position) in neutral for key in keys
    )
    if first == second:
        return None
    return second if name == "where" else first
