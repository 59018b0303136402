"""Opcodes that work element by element. A truth value is the number 1 or 0; arithmetic is that of the real numbers.

    compare   [x < y] and the others, by `direction`      select   x where the truth value is 1, else y
    clamp     min(max(x, low), high)                      convert  x as another type; floats beyond integers saturate

Of integers, only what is known to be the same for all widths has a rule: division rounds towards zero, and what wraps
around is brought into its type by whoever runs the plan (verdict/ops/types.py).
"""

from dataclasses import replace
from functools import partial
from math import isfinite, nan
from typing import Any

import numpy as np

from verdict.ops import integers, logic, numbers
from verdict.ops.aten.compare import COMPARE, EQUAL_SIGNS, both, either, one_of
from verdict.ops.aten.elementwise import HALF, exponential, minimum, sign
from verdict.ops.aten.form import Arguments, dtype_kind
from verdict.ops.aten.shaping import same
from verdict.ops.casts import CAST, casting
from verdict.ops.domain import Integers, of_type
from verdict.ops.elements import is_number
from verdict.ops.elementwise import ERF, STEP, TANH
from verdict.ops.hlo.form import each, hlo
from verdict.ops.integers import ROUNDED
from verdict.ops.rule import Array, Axes
from verdict.ops.types import floats, like_others, powers, truth


def _divided(x: Array, y: Array, rounding: str | None) -> Array:
    return numbers.divide(x, y) if rounding is None else integers.divided(x, y, rounding)


def _left(x: Any, y: Any) -> Any:
    """What is left of x, with its sign; no number where there is no quotient."""
    return abs(x) % abs(y) * (1 if x > 0 else -1) if y else nan


def _compared(x: Array, y: Array, direction: str) -> Array:
    return COMPARE[direction.lower()](x, y)


def _finite(x: Array) -> Array:
    """[x - x = 0]: 1 of a term, which is a real number; not simplified where it may be none."""
    if not numbers.of_objects(x):
        return np.asarray(np.isfinite(x), np.int64)
    return numbers.each(lambda v: int(isfinite(v)) if is_number(v) else logic.settled((v - v).indicator(0)), x)


def _clamped(low: Array, x: Array, high: Array) -> Array:
    return minimum(numbers.maximum(x, low), high)


def _cast_axes(args: Arguments) -> Axes:
    if dtype_kind(args["dtype"]) in {"", "complex"}:
        raise args.unruled(f"a conversion to {args['dtype']} has no rule")
    return same(args)


def _converted(args: Arguments) -> Array:
    x, kind = args["self"], dtype_kind(args["dtype"])
    if kind == "bool":
        return logic.truth(x)
    if kind == "int" and args["saturate"]:
        return _saturated(integers.rounded("trunc", x), of_type(str(args["dtype"])))
    return integers.cast(x, str(args["dtype"])) if kind == "int" else integers.held(np.asarray(x), str(args["dtype"]))


def _saturated(x: Array, known: Integers | None) -> Array:
    """Whole numbers, brought to the ends of a type where they are outside."""
    low, high = known.hull if known is not None else (None, None)
    y = x if low is None else numbers.maximum(x, low)
    return y if high is None else minimum(y, np.asarray([high], dtype=y.dtype).reshape((1,) * y.ndim))


def _unary(name: str, formula: str, function: Any, *assumptions: Any) -> Any:
    return each(name, "self", formula, function, (), assumptions, floats)


RULES = (
    replace(each("add", "self other", "z = x + y", lambda x, y: x + y), sums=True, additive=True),
    replace(each("subtract", "self other", "z = x - y", lambda x, y: x - y), additive=True),
    each("multiply", "self other", "z = x y", lambda x, y: x * y, (0, 1)),
    each(
        "divide",
        "self other",
        "z = x / y; of integers rounded towards zero, where `rounding` is trunc",
        _divided,
        (0,),
        (ROUNDED,),
        attributes={"rounding": None},
    ),
    each(
        "remainder",
        "self other",
        "z = x - y [x / y rounded towards zero], of integers",
        lambda x, y: logic.pointwise("remainder", _left, x, y) if numbers.of_objects(x) else np.fmod(x, y),
        (),
        (ROUNDED,),
    ),
    each("maximum", "self other", "z = max(x, y)", numbers.maximum),
    each("minimum", "self other", "z = min(x, y)", minimum),
    each("power", "self other", "z = x^y", exponential, (), (ROUNDED,), powers),
    each("negate", "self", "y = -x", lambda x: -x, (0,)),
    each("abs", "self", "y = max(x, -x)", lambda x: numbers.maximum(x, -x)),
    each("sign", "self", "y = [x > 0] - [x < 0]", sign, (), (STEP,)),
    _unary("exponential", "y = e^x", numbers.exp, ROUNDED),
    _unary("exponential_minus_one", "y = e^x - 1", lambda x: numbers.exp(x) - 1, ROUNDED),
    _unary("log", "y = log x", numbers.log, ROUNDED),
    _unary("log_plus_one", "y = log(1 + x)", lambda x: numbers.log(1 + x), ROUNDED),
    _unary("logistic", "y = 1 / (1 + e^-x)", numbers.sigmoid),
    _unary("tanh", "y = tanh x", numbers.tanh, TANH),
    _unary("erf", "y = erf x", numbers.erf, ERF),
    _unary("sine", "y = sin x", numbers.sin, ROUNDED),
    _unary("cosine", "y = cos x", numbers.cos, ROUNDED),
    _unary("sqrt", "y = x^(1/2)", numbers.sqrt, ROUNDED),
    _unary("rsqrt", "y = x^(-1/2)", lambda x: numbers.power(x, -HALF), ROUNDED),
    *(
        each(name, "self", formula, partial(integers.rounded, how), (), (ROUNDED,))
        for name, how, formula in (
            ("floor", "floor", "y = the greatest integer up to x"),
            ("ceil", "ceil", "y = the least integer from x on"),
            ("round_nearest_even", "round", "y = the nearest integer, of two the even one"),
        )
    ),
    each(
        "compare",
        "self other",
        f"z = [x < y], or {', '.join(EQUAL_SIGNS.values())} as `direction` says",
        _compared,
        (),
        (STEP,),
        truth,
        {"direction": "EQ"},
    ),
    each("and", "self other", "z = [x and y are not 0], of truth values", both, (), (STEP,), truth),
    each("or", "self other", "z = [x or y is not 0], of truth values", either, (), (STEP,), truth),
    each("xor", "self other", "z = [one of x and y is not 0], of truth values", one_of, (), (STEP,), truth),
    each("not", "self", "y = [x is 0], of truth values", lambda x: logic.inverted(logic.truth(x)), (), (STEP,), truth),
    each("is_finite", "self", "y = [x is a real number]", _finite, (), (STEP,), truth),
    each("select", "mask self other", "z = x where mask, else y", logic.where, types=like_others),
    each("clamp", "low self high", "y = min(max(x, low), high)", _clamped),
    casting(
        hlo(
            "convert",
            "self",
            {"dtype": None, "saturate": False},
            _cast_axes,
            _converted,
            "y = x; as integers without fractions, wrapped around or, with saturate, brought to the ends; "
            "as truth values",
            assumptions=(CAST, ROUNDED),
        )
    ),
)
