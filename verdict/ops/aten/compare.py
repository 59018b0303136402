"""Comparisons, truth values and choices by them. A truth value is the number 1 or 0.

Comparisons of numbers are exact, so masks made of positions are constants. Of ids, which are indices, they are sums
of indicators; of real terms they are made of the unknown function step(x) = [x > 0].
"""

import operator as python
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from verdict.ops import integers, logic
from verdict.ops.aten.elementwise import each
from verdict.ops.aten.form import Arguments, dtype_kind, operator
from verdict.ops.aten.shaping import same
from verdict.ops.casts import CAST, casting
from verdict.ops.elementwise import STEP
from verdict.ops.integers import BITWISE, ROUNDED
from verdict.ops.rule import Array, Axes, OpRule
from verdict.ops.types import like_first, like_others, truth

EQUAL_SIGNS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "=", "ne": "is not"}
COMPARE: dict[str, Callable[[Array, Array], Array]] = {
    "lt": logic.less,
    "le": logic.at_most,
    "gt": lambda x, y: logic.less(y, x),
    "ge": lambda x, y: logic.at_most(y, x),
    "eq": logic.equal,
    "ne": lambda x, y: logic.inverted(logic.equal(x, y)),
}


def both(x: Array, y: Array) -> Array:
    """[x and y are not 0]."""
    return np.asarray(logic.truth(x) * logic.truth(y))


def either(x: Array, y: Array) -> Array:
    """[x or y is not 0]."""
    one, two = logic.truth(x), logic.truth(y)
    return np.asarray(one + two - one * two)


def one_of(x: Array, y: Array) -> Array:
    """[one of x and y, not both, is not 0]."""
    one, two = logic.truth(x), logic.truth(y)
    return np.asarray(one + two - 2 * one * two)


def _bits(name: str, function: Callable[[int, int], int]) -> Callable[[Array, Array], Array]:
    return lambda x, y: logic.pointwise(f"bitwise {name}", lambda a, b: function(int(a), int(b)), x, y)


def _masked(x: Array, mask: Array, value: Array) -> Array:
    return logic.where(mask, value, x)


def _flipped(x: Array, dtype: Any) -> Array:
    if dtype_kind(dtype) == "bool":
        return logic.inverted(x)
    return np.asarray(-1 - x)


def _cast_axes(args: Arguments) -> Axes:
    if dtype_kind(args["dtype"]) == "complex":
        raise args.unruled(f"a cast to {args['dtype']} has no rule")
    return same(args)


def _cast(args: Arguments) -> Array:
    x, kind = args["self"], dtype_kind(args["dtype"])
    if kind == "bool":
        return logic.truth(x)
    return integers.cast(x, str(args["dtype"])) if kind == "int" else integers.held(np.asarray(x), str(args["dtype"]))


def _bitwise(word: str, sign: str, function: Callable[[int, int], int]) -> tuple[OpRule, ...]:
    names = (f"bitwise_{word}.Tensor", f"bitwise_{word}.Scalar", f"__{word}__.Tensor", f"__{word}__.Scalar")
    formula = f"z = x {sign} y, bit by bit; of truth values too"
    joined = _bits(word, function)
    return tuple(each(f"aten.{name}", "self other?", formula, joined, None, (), (BITWISE,)) for name in names)


RULES: tuple[OpRule, ...] = (
    *(
        each(
            f"aten.{word}.{overload}",
            "self other?",
            f"z = [x {sign} y]",
            COMPARE[word],
            assumptions=(STEP,),
            types=truth,
        )
        for word, sign in EQUAL_SIGNS.items()
        for overload in ("Tensor", "Scalar")
    ),
    each("aten.logical_and", "self other", "z = [x and y are not 0]", both, assumptions=(STEP,), types=truth),
    each("aten.logical_or", "self other", "z = [x or y is not 0]", either, assumptions=(STEP,), types=truth),
    each("aten.logical_xor", "self other", "z = [one of x and y is not 0]", one_of, assumptions=(STEP,), types=truth),
    each(
        "aten.logical_not",
        "self",
        "y = [x is 0]",
        lambda x: logic.inverted(logic.truth(x)),
        assumptions=(STEP,),
        types=truth,
    ),
    *_bitwise("and", "and", python.and_),
    *_bitwise("or", "or", python.or_),
    *_bitwise("xor", "xor", python.xor),
    each("aten.bitwise_not", "self", "y = not x, bit by bit; 1 - x where dtype is bool", _flipped, {"dtype": None}),
    replace(
        each(
            "aten.where.self",
            "condition self? other?",
            "y = self where condition, else other",
            logic.where,
            types=like_others,
        ),
        together=(1, 2),
    ),
    each(
        "aten.where.ScalarOther",
        "condition self other?",
        "y = self where condition, else other",
        logic.where,
        types=like_others,
    ),
    each(
        "aten.where.ScalarSelf",
        "condition self? other",
        "y = self where condition, else other",
        logic.where,
        types=like_others,
    ),
    each(
        "aten.where.Scalar",
        "condition self? other?",
        "y = self where condition, else other",
        logic.where,
        types=like_others,
    ),
    each("aten.masked_fill.Scalar", "self mask value?", "y = value where mask, else self", _masked, types=like_first),
    each("aten.masked_fill.Tensor", "self mask value?", "y = value where mask, else self", _masked, types=like_first),
    casting(
        operator(
            "aten._to_copy",
            "self",
            {"dtype": None},
            _cast_axes,
            _cast,
            "y = x; whole numbers or truth values where dtype says so",
            assumptions=(CAST, ROUNDED),
        )
    ),
)
