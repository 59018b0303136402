"""Operators that work element by element, with broadcasting. A member is one line of RULES.

    add  x + alpha y      sub  x - alpha y      rsub  y - alpha x      mul  x y      div  x / y
    addcmul  self + value a b     addcdiv  self + value a / b     lerp  self + weight (end - self)

A number in the place of a tensor is the attribute of that name. silu, gelu, relu and the others are what the
rules of the same names in verdict/ops say, so that recorded and generated plans meet in the same terms.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from verdict.ops import elements, integers, logic, numbers
from verdict.ops.aten.form import REQUIRED, ROUNDED, Arguments, constant, dtype_kind, exactly, operator
from verdict.ops.elementwise import ERF, STEP, TANH, gelu
from verdict.ops.rule import Array, Axes, OpRule
from verdict.ops.shapes import broadcast, make_axes
from verdict.ops.types import Types, floats, powers, promoted, rounded, squared
from verdict.outcome import Assumption

HALF = Fraction(1, 2)
TANH_SCALE = math.sqrt(2) * (2 / math.sqrt(math.pi)) * 0.5
TANH_CUBE = 0.044715


def spread(args: Arguments) -> Axes:
    """The axes of an operator that works element by element."""
    atoms, dims = broadcast(args.name, "d", *args.given)
    return make_axes(atoms, dims, (tuple((atom.name,) for atom in atoms),))


def each(
    name: str,
    tensors: str,
    formula: str,
    function: Callable[..., Any],
    attributes: Mapping[str, Any] | None = None,
    linear: tuple[int, ...] = (),
    assumptions: tuple[Assumption, ...] = (),
    types: Types = promoted,
) -> OpRule:
    """An operator from a function of arrays: of the tensors (a number in place of one), then of the attributes."""
    optional = [word[:-1] for word in tensors.split() if word.endswith("?")]
    named = tuple(word.rstrip("?") for word in tensors.split())
    further = tuple(key for key in attributes or {} if key not in optional)

    def forward(args: Arguments) -> Array:
        first, *others = args.given
        operands = [_operand(args, key, first) for key in named]
        alike = all(x.shape == first.shape for x in others)
        shape = first.shape if alike else np.broadcast_shapes(*(x.shape for x in args.given))
        return np.asarray(function(*operands, *(args[key] for key in further)), dtype=None).reshape(shape)

    def shapes(args: Arguments) -> Axes:
        for key in named:
            if args[key] is None:
                raise args.misfit(f"{key} is neither a tensor nor a number")
        return spread(args)

    return operator(
        name,
        tensors,
        {**dict.fromkeys(optional), **(attributes or {})},
        shapes,
        lambda args: of_kind(forward(args), args.given[0]),
        formula,
        linear=linear,
        assumptions=assumptions,
        types=types,
    )


def of_kind(y: Array, like: Array) -> Array:
    """A result in the kind of the arrays that it was made of."""
    return y.astype(object) if numbers.of_objects(like) else y


def _operand(args: Arguments, key: str, first: Array) -> Any:
    value = args[key]
    if isinstance(value, np.ndarray):
        return value.reshape(1) if value.ndim == 0 else value
    return np.asarray([constant(first, value)], dtype=object if numbers.of_objects(first) else None)


def times(factor: Any, x: Array) -> Array:
    """factor * x for a number of an attribute."""
    return x if factor == 1 else np.asarray(constant(x, factor) * x)


def power(x: Array, exponent: Any) -> Array:
    """x to a constant exponent."""
    return numbers.power(x, numbers.rational(exponent))


def exponential(base: Array, exponent: Array) -> Array:
    """base to the exponent. A positive number to a term is an exponential; what else is to a term is unknown."""
    if not numbers.of_objects(exponent):
        return np.power(np.asarray(base, np.float64), np.asarray(exponent, np.float64))
    return numbers.each(_number_power, base, exponent)


def _number_power(base: Any, exponent: Any) -> Any:
    base, exponent = logic.settled(base), logic.settled(exponent)
    if not elements.is_number(exponent):
        if elements.is_number(base) and base > 0:
            return (exponent * exactly(numbers.log(np.array([base], dtype=object))[0])).exp()
        return exponent.opaque("power", base)
    return numbers.power(np.array([base], dtype=object), numbers.rational(exponent))[0]


def gelu_tanh(x: Array) -> Array:
    """x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))."""
    inner = constant(x, TANH_SCALE) * (x + constant(x, TANH_CUBE) * (x * x * x))
    return np.asarray(numbers.scalar(x, HALF) * x * (1 + numbers.tanh(np.asarray(inner))))


def _gelu(x: Array, approximate: str) -> Array:
    return gelu(x) if approximate == "none" else gelu_tanh(x)


def minimum(x: Array, y: Array) -> Array:
    """The smaller of each two elements."""
    return np.asarray(-numbers.maximum(np.asarray(-x), np.asarray(-y)))


def _clamp(x: Array, low: Any, high: Any) -> Array:
    y = x if low is None else numbers.maximum(x, constant(x, low))
    return y if high is None else minimum(y, np.asarray([constant(x, high)], dtype=y.dtype))


def _divided(x: Array, y: Array, rounding_mode: str | None = None) -> Array:
    if rounding_mode is None:
        return numbers.divide(x, y)
    return integers.divided(x, y, rounding_mode)


def _xlogy(x: Array, y: Array) -> Array:
    if not (numbers.of_objects(x) or numbers.of_objects(y)):
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where((x == 0) & ~np.isnan(y), 0.0, x * np.log(y))
    return numbers.each(_xlogy_of, x, y)


def _xlogy_of(x: Any, y: Any) -> Any:
    x = logic.settled(x)
    if elements.is_number(x):
        return exactly(x) * elements.log(y) if x else 0 * y
    nowhere = elements.is_number(y) and not y > 0
    logged = x.number(exactly(y)).log() if nowhere else exactly(elements.log(y))
    return elements.part(logic.settled(1 - x.indicator(0)), x * logged)


def sign(x: Array) -> Array:
    """1 above zero, -1 below."""
    return np.asarray(numbers.step(x) - numbers.step(np.asarray(-x)))


ALPHA = {"alpha": 1}
OTHER = {"other": REQUIRED}
MODE = {"rounding_mode": REQUIRED}
CUT = (integers.ROUNDED,)
VALUE = {"value": 1}


def _add(x: Array, y: Array, alpha: Any, dtype: Any) -> Any:
    if dtype_kind(dtype) == "bool":
        return logic.truth(np.asarray(x + times(alpha, y)))
    return x + times(alpha, y)


def _sub(x: Array, y: Array, alpha: Any = 1) -> Any:
    return x - times(alpha, y)


def _rsub(x: Array, y: Array, alpha: Any = 1) -> Any:
    return y - times(alpha, x)


def _pair(
    name: str,
    formula: str,
    function: Callable[..., Any],
    linear: tuple[int, ...] = (),
    assumptions: tuple[Assumption, ...] = (),
    types: Types = promoted,
) -> tuple[OpRule, ...]:
    """An operator of two tensors, and its overload with a number."""
    return (
        each(f"aten.{name}.Tensor", "self other?", formula, function, None, linear, assumptions, types),
        each(
            f"aten.{name}.Scalar",
            "self other?",
            formula,
            function,
            None,
            (0,) if 0 in linear else (),
            assumptions,
            types,
        ),
    )


def _scaled(
    name: str, formula: str, function: Callable[..., Any], attributes: Mapping[str, Any] = ALPHA
) -> tuple[OpRule, ...]:
    overloads = ("Tensor", "Scalar")
    rules = (each(f"aten.{name}.{word}", "self other?", formula, function, attributes) for word in overloads)
    return tuple(replace(rule, additive=True, sums=name == "add") for rule in rules)


def _by_zero(attrs: Mapping[str, Any]) -> bool:
    return bool(attrs.get("other") == 0)


RULES = (
    each("aten.neg", "self", "y = -x", lambda x: -x, linear=(0,)),
    each("aten.exp", "self", "y = e^x", numbers.exp, assumptions=(ROUNDED,), types=floats),
    each("aten.expm1", "self", "y = e^x - 1", lambda x: numbers.exp(x) - 1, assumptions=(ROUNDED,), types=floats),
    each("aten.log", "self", "y = log x", numbers.log, assumptions=(ROUNDED,), types=floats),
    each("aten.log1p", "self", "y = log(1 + x)", lambda x: numbers.log(1 + x), assumptions=(ROUNDED,), types=floats),
    each("aten.sin", "self", "y = sin x", numbers.sin, assumptions=(ROUNDED,), types=floats),
    each("aten.cos", "self", "y = cos x", numbers.cos, assumptions=(ROUNDED,), types=floats),
    each("aten.sqrt", "self", "y = x^(1/2)", numbers.sqrt, assumptions=(ROUNDED,), types=floats),
    each(
        "aten.rsqrt", "self", "y = x^(-1/2)", lambda x: numbers.power(x, -HALF), assumptions=(ROUNDED,), types=floats
    ),
    each("aten.reciprocal", "self", "y = 1 / x", lambda x: numbers.divide(1, x), types=floats),
    each("aten.square", "self", "y = x^2", lambda x: x * x, types=squared),
    each("aten.abs", "self", "y = max(x, -x)", lambda x: numbers.maximum(x, -x)),
    each("aten.sign", "self", "y = [x > 0] - [x < 0]", sign, assumptions=(STEP,)),
    each("aten.sgn", "self", "y = [x > 0] - [x < 0]", sign, assumptions=(STEP,)),
    each("aten.sigmoid", "self", "y = 1 / (1 + e^-x)", numbers.sigmoid, types=floats),
    each("aten.tanh", "self", "y = tanh x", numbers.tanh, assumptions=(TANH,), types=floats),
    each("aten.erf", "self", "y = erf x", numbers.erf, assumptions=(ERF,), types=floats),
    each("aten.silu", "self", "y = x sigmoid(x)", lambda x: x * numbers.sigmoid(x), types=floats),
    each("aten.relu", "self", "y = max(x, 0)", lambda x: numbers.maximum(x, 0)),
    each(
        "aten.gelu",
        "self",
        "y = x/2 (1 + erf(x / sqrt 2)), or its approximation by tanh",
        _gelu,
        {"approximate": "none"},
        assumptions=(ERF, TANH),
        types=floats,
    ),
    *_scaled("add", "z = x + alpha y; of truth values [x or y]", _add, {**ALPHA, "dtype": None}),
    *_scaled("sub", "z = x - alpha y", _sub),
    *_scaled("rsub", "z = y - alpha x", _rsub),
    *(replace(rule, zero=_by_zero) for rule in _pair("mul", "z = x y", lambda x, y: x * y, (0, 1))),
    *_pair("div", "z = x / y", _divided, (0,), (), floats),
    each("aten.div.Tensor_mode", "self other?", "z = x / y, rounded if asked", _divided, MODE, (), CUT, rounded),
    each("aten.div.Scalar_mode", "self other?", "z = x / y, rounded if asked", _divided, MODE, (), CUT, rounded),
    each("aten.floor_divide", "self other?", "z = floor(x / y)", integers.divided, None, (), CUT),
    *_pair("remainder", "z = x - y floor(x / y)", integers.remainder, (), CUT),
    each("aten.pow.Tensor_Scalar", "self", "y = x^exponent", power, {"exponent": REQUIRED}, assumptions=(ROUNDED,)),
    *(
        each(f"aten.pow.{name}", given, "y = self^exponent", exponential, assumptions=(ROUNDED,), types=powers)
        for name, given in (("Scalar", "self? exponent"), ("Tensor_Tensor", "self exponent"))
    ),
    each("aten.maximum", "self other", "z = max(x, y)", numbers.maximum),
    each("aten.minimum", "self other", "z = min(x, y)", minimum),
    each("aten.clamp", "self", "y = min(max(x, min), max)", _clamp, {"min": None, "max": None}),
    each("aten.clamp_min", "self", "y = max(x, min)", lambda x, low: _clamp(x, low, None), {"min": REQUIRED}),
    each("aten.clamp_min.Tensor", "self min", "y = max(x, min)", numbers.maximum),
    each("aten.clamp_max.Tensor", "self max", "y = min(x, max)", minimum),
    each("aten.xlogy.Tensor", "self other", "z = x log y, 0 where x is 0", _xlogy, types=floats),
    each("aten.clamp_max", "self", "y = min(x, max)", lambda x, high: _clamp(x, None, high), {"max": REQUIRED}),
    each("aten.addcmul", "self tensor1 tensor2", "y = self + value a b", lambda x, a, b, v: x + times(v, a * b), VALUE),
    each(
        "aten.addcdiv",
        "self tensor1 tensor2",
        "y = self + value a / b",
        lambda x, a, b, v: x + times(v, numbers.divide(a, b)),
        VALUE,
    ),
    each("aten.lerp.Scalar", "self end weight?", "y = self + weight (end - self)", lambda x, e, w: x + w * (e - x)),
    each("aten.lerp.Tensor", "self end weight", "y = self + weight (end - self)", lambda x, e, w: x + w * (e - x)),
)
