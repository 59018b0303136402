"""Logarithms and powers to other bases, and the logarithm of a sum of two powers."""

import math

import numpy as np

from verdict.ops import numbers
from verdict.ops.aten.elementwise import each
from verdict.ops.aten.form import ROUNDED, constant
from verdict.ops.rule import Array, OpRule
from verdict.ops.types import floats


def _to_base(base: int, x: Array) -> Array:
    return numbers.divide(numbers.log(x), constant(x, math.log(base)))


def _exp2(x: Array) -> Array:
    return numbers.exp(np.asarray(constant(x, math.log(2)) * x))


def _logaddexp(x: Array, y: Array) -> Array:
    if not (numbers.of_objects(x) or numbers.of_objects(y)):
        return np.asarray(np.logaddexp(x, y))
    return numbers.log(np.asarray(numbers.exp(x) + numbers.exp(y)))


RULES: tuple[OpRule, ...] = (
    each("aten.log2", "self", "y = log x / log 2", lambda x: _to_base(2, x), assumptions=(ROUNDED,), types=floats),
    each("aten.log10", "self", "y = log x / log 10", lambda x: _to_base(10, x), assumptions=(ROUNDED,), types=floats),
    each("aten.exp2", "self", "y = e^(x log 2)", _exp2, assumptions=(ROUNDED,), types=floats),
    each("aten.logaddexp", "self other", "z = log(e^x + e^y)", _logaddexp, types=floats),
)
