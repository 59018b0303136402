"""The logarithm of the gamma function, its derivatives, and the inverse of the error function.

    lgamma  y = log |gamma(x)|     digamma  its derivative     erfinv  the number of which x is erf
    polygamma  digamma, derived n times

On terms they are unknown functions, which have no value where gamma has a pole, and no inverse where |x| is 1 or more.
"""

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import mpmath
import numpy as np

from verdict.ops import elements, numbers
from verdict.ops.aten.elementwise import each
from verdict.ops.aten.form import REQUIRED
from verdict.ops.rule import Array, OpRule
from verdict.ops.types import floats
from verdict.outcome import Assumption

GAMMA = Assumption(
    "gamma-uninterpreted", "lgamma, its derivatives and erfinv are unknown functions, the same on both sides"
)
POLE = "not a pole of gamma"
"""An unknown function that is zero where gamma has no value."""


def _elementwise(function: Callable[[Any], Any], x: Array) -> Array:
    made = numbers.each(function, x)
    return made if numbers.of_objects(x) else made.astype(np.float64)


def _derivative(order: int, value: Any) -> Any:
    """log |gamma| derived `order` times."""
    if not elements.is_number(value):
        return value.opaque(f"lgamma derived {order} times") + 0 / value.opaque(POLE)
    if value <= 0 and value == int(value):
        return math.inf if order == 0 else math.nan
    return float(mpmath.fp.psi(order - 1, float(value))) if order else math.lgamma(value)


def _inverse(value: Any) -> Any:
    """The number of which the error function is `value`."""
    if not elements.is_number(value):
        return value.opaque("erfinv") + 0 * ((1 - value) * (1 + value)).log()
    if not -1 < value < 1:
        return math.copysign(math.inf, value) if abs(value) == 1 else math.nan
    return NormalDist().inv_cdf((1 + float(value)) / 2) / math.sqrt(2) if value else 0


def _rule(name: str, formula: str, function: Callable[..., Any]) -> OpRule:
    return each(f"aten.{name}", "self", formula, function, assumptions=(GAMMA,), types=floats)


RULES: tuple[OpRule, ...] = (
    _rule("lgamma", "y = log |gamma(x)|", lambda x: _elementwise(lambda value: _derivative(0, value), x)),
    _rule("digamma", "y = the derivative of lgamma", lambda x: _elementwise(lambda value: _derivative(1, value), x)),
    each(
        "aten.polygamma",
        "self",
        "y = digamma, derived n times",
        lambda x, n: _elementwise(lambda value: _derivative(n + 1, value), x),
        {"n": REQUIRED},
        assumptions=(GAMMA,),
        types=floats,
    ),
    _rule("erfinv", "y = the number of which x is erf", lambda x: _elementwise(_inverse, x)),
)
