"""Functions of one element: a float, an exact number or a solver term. verdict/ops/numbers.py maps them over arrays."""

import math
from collections.abc import Callable
from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import Any

MINUS_INFINITY = float("-inf")
NAN = float("nan")
MOST_BITS = 1 << 16
"""A power that is written longer than this is the float nearest to it."""


def is_number(value: Any) -> bool:
    """Whether an element is a number: no term."""
    return isinstance(value, Real)


def exp(value: Any) -> Any:
    """e to the value."""
    if not is_number(value):
        return value.exp()
    if value == 0:
        return 1
    if value == MINUS_INFINITY:
        return 0
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf if value > 0 else 0


def log(value: Any) -> Any:
    """The natural logarithm of the value."""
    if not is_number(value):
        return value.log()
    if value == 1:
        return 0
    if value == 0:
        return MINUS_INFINITY
    return math.log(value) if value > 0 else math.nan


def power(value: Any, exponent: Fraction) -> Any:
    """The value to a constant exponent."""
    if not is_number(value):
        return value.power(exponent)
    if exponent < 0 and value == 0:
        return math.nan
    if isinstance(value, Rational):
        found = root(Fraction(value), exponent.denominator)
        if found is not None and _bits(found) * abs(exponent.numerator) <= MOST_BITS:
            return found**exponent.numerator
    try:
        return math.pow(value, exponent)
    except ValueError:
        return math.nan
    except OverflowError:
        return math.inf if (value > 1) == (exponent > 0) else 0


def _bits(value: Fraction) -> int:
    """How long a rational is written, but for one whose powers are itself or its inverse."""
    return 0 if abs(value) in (0, 1) else max(value.numerator.bit_length(), value.denominator.bit_length())


def root(value: Fraction, degree: int) -> Fraction | None:
    """The non-negative root of `value` where it is rational and found; `value` itself for degree one."""
    if degree == 1:
        return value
    if value < 0:
        return None
    found = Fraction(_near_root(value.numerator, degree), _near_root(value.denominator, degree))
    return found if found**degree == value else None


def _near_root(value: int, degree: int) -> int:
    if degree == 2:
        return math.isqrt(value)
    return round(value ** (1 / degree)) if value.bit_length() < 1000 else 1


def known(value: Any, name: str, function: Callable[[float], float], at_zero: int) -> Any:
    """A function that has a rule on numbers and is unknown, `name`, on terms."""
    if not is_number(value):
        return value.opaque(name)
    return at_zero if value == 0 else function(value)


def step(value: Any) -> Any:
    """1 where the value is above 0, else 0."""
    return int(value > 0) if is_number(value) else value.opaque("step")


def maximum(x: Any, y: Any) -> Any:
    """The greater of two; NaN where one is."""
    if not is_number(x):
        return x.maximum(y)
    if not is_number(y):
        return y.maximum(x)
    return max(x, y) if x >= y or x < y else NAN


def indicator(id_: Any, value: int) -> Any:
    """1 where the id equals `value`, else 0."""
    return int(id_ == value) if is_number(id_) else id_.indicator(value)


def same(one: Any, other: Any) -> bool:
    """Whether two elements are known to be one: equal numbers, or terms that were made in the same way."""
    if is_number(one) or is_number(other):
        return is_number(one) and is_number(other) and bool(one == other)
    return bool(one.same(other))


def part(mask: Any, value: Any) -> Any:
    """mask * value, and 0 where the mask is 0, whatever the value is there: a float is minus infinity, or no number."""
    if is_number(mask):
        return mask * value if mask else 0
    return mask.part(value) if isinstance(value, float) or not is_number(value) else mask * value


def divide(x: Any, y: Any) -> Any:
    """x / y, exact on ints too."""
    return Fraction(int(x), int(y)) if isinstance(x, Integral) and isinstance(y, Integral) else x / y
