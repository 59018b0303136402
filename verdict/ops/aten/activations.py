"""Activations that are defined by cases, and their gradients. [c] is 1 where c holds, else 0.

hardtanh      min(max(x, low), high)          dx = dy [low < x][x < high]
leaky_relu    x [x > 0] + slope x [x <= 0]    dx = dy ([x > 0] + slope [x <= 0])
elu           x [x > 0] + a (e^x - 1) [x <= 0], with scales; the gradient from x or from y
softplus      log(1 + e^x) (of x beta, over beta), or x where x beta > threshold; see SMOOTH
mish          x tanh(log(1 + e^x))            hardsigmoid  min(max(x/6 + 1/2, 0), 1)
log_sigmoid   -log(1 + e^-x)
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from verdict.graph import Shape
from verdict.ops import logic, numbers
from verdict.ops.aten.elementwise import each, minimum
from verdict.ops.aten.form import REQUIRED, Arguments, constant, operator
from verdict.ops.elementwise import STEP, TANH
from verdict.ops.rule import Array, OpRule
from verdict.outcome import Assumption

SMOOTH = Assumption(
    "softplus-smooth",
    "softplus with a threshold of 20 or more is log(1 + e^x) for large x too, where torch takes x instead (they differ "
    "by e^-20)",
)
LEAST_THRESHOLD, LEAST_BETA = 20, 1 / 16
"""From where on softplus is taken to be smooth."""


def _bounded(x: Array, low: Any, high: Any) -> Array:
    top = np.full(1, constant(x, high), dtype=object if numbers.of_objects(x) else None)
    return minimum(numbers.maximum(x, constant(x, low)), top)


def above(x: Array, bound: Any) -> Array:
    """[x > bound]."""
    return numbers.step(np.asarray(x - constant(x, bound)))


def under(x: Array, bound: Any) -> Array:
    """[x < bound]."""
    return numbers.step(np.asarray(constant(x, bound) - x))


def _hardtanh(dy: Array, x: Array, low: Any, high: Any) -> Any:
    return logic.kept(np.asarray(above(x, low) * under(x, high)), dy)


def _slope(x: Array, slope: Any) -> Array:
    positive = numbers.step(x)
    return np.asarray(positive + constant(x, slope) * (1 - positive))


def _leaky(x: Array, slope: Any) -> Any:
    return x * _slope(x, slope)


def _leaky_backward(dy: Array, x: Array, slope: Any, self_is_result: bool) -> Any:
    return dy * _slope(x, slope)


def _elu(x: Array, alpha: Any, scale: Any, input_scale: Any) -> Any:
    positive = numbers.step(x)
    below = constant(x, alpha) * (numbers.exp(np.asarray(constant(x, input_scale) * minimum(x, x * 0))) - 1)
    return constant(x, scale) * (x * positive + below * (1 - positive))


def _elu_backward(dy: Array, x: Array, alpha: Any, scale: Any, input_scale: Any, is_result: bool) -> Any:
    positive = numbers.step(x)
    if is_result:
        below = constant(x, input_scale) * (x + constant(x, alpha) * constant(x, scale))
    else:
        power = numbers.exp(np.asarray(constant(x, input_scale) * minimum(x, x * 0)))
        below = constant(x, input_scale) * constant(x, alpha) * constant(x, scale) * power
    return dy * (constant(x, scale) * positive + below * (1 - positive))


def softplus(x: Array) -> Array:
    """log(1 + e^x)."""
    if numbers.of_objects(x):
        return numbers.log(np.asarray(1 + numbers.exp(x)))
    return np.asarray(np.logaddexp(0.0, x))


def _softplus(x: Array, beta: Any, threshold: Any) -> Array:
    scaled = np.asarray(constant(x, beta) * x)
    smooth = numbers.divide(softplus(scaled), constant(x, beta))
    if _is_smooth(beta, threshold):
        return smooth
    beyond = above(scaled, threshold)
    return np.asarray(beyond * x + (1 - beyond) * smooth)


def _softplus_backward(dy: Array, x: Array, beta: Any, threshold: Any) -> Any:
    scaled = np.asarray(constant(x, beta) * x)
    slope = numbers.sigmoid(scaled)
    if _is_smooth(beta, threshold):
        return dy * slope
    beyond = above(scaled, threshold)
    return dy * (beyond + (1 - beyond) * slope)


def _is_smooth(beta: Any, threshold: Any) -> bool:
    """Whether what softplus takes beyond its threshold is the same but for e^-20 or so."""
    return bool(threshold >= LEAST_THRESHOLD and beta >= LEAST_BETA)


def _mish_backward(dy: Array, x: Array) -> Any:
    tanh = numbers.tanh(softplus(x))
    return dy * (tanh + x * numbers.sigmoid(x) * (1 - tanh * tanh))


def _log_sigmoid_shapes(args: Arguments) -> tuple[Shape, Shape]:
    return args["self"], args["self"]


def _log_sigmoid(args: Arguments) -> tuple[Array, Array]:
    """The value, and e^-|x|, which torch keeps for the gradient."""
    x = args["self"]
    magnitude = numbers.maximum(x, np.asarray(-x))
    return np.asarray(-softplus(np.asarray(-x))), numbers.exp(np.asarray(-magnitude))


def _log_sigmoid_backward(dy: Array, x: Array, buffer: Array) -> Any:
    negative = numbers.step(np.asarray(-x))
    share = numbers.divide(buffer, np.asarray(1 + buffer))
    return dy * (negative * (1 - share) + (1 - negative) * share)


def _sided(name: str, formula: str, function: Any, attributes: Mapping[str, Any]) -> OpRule:
    return each(f"aten.{name}", "grad_output self", formula, function, attributes, (0,), (STEP,))


BOUNDS = {"min_val": -1, "max_val": 1}
ELU = {"alpha": 1, "scale": 1, "input_scale": 1}
ELU_BACKWARD = dict.fromkeys((*ELU, "is_result"), REQUIRED)
SOFTPLUS = {"beta": 1, "threshold": 20}

RULES: tuple[OpRule, ...] = (
    each("aten.hardtanh", "self", "y = min(max(x, min_val), max_val)", _bounded, BOUNDS),
    _sided("hardtanh_backward", "dx = dy where min_val < x < max_val", _hardtanh, dict.fromkeys(BOUNDS, REQUIRED)),
    each(
        "aten.leaky_relu", "self", "y = x, times negative_slope below 0", _leaky, {"negative_slope": 0.01}, (), (STEP,)
    ),
    _sided(
        "leaky_relu_backward",
        "dx = dy, times negative_slope where x <= 0",
        _leaky_backward,
        {"negative_slope": REQUIRED, "self_is_result": REQUIRED},
    ),
    each("aten.elu", "self", "y = x above 0, else alpha (e^x - 1)", _elu, ELU, (), (STEP,)),
    each(
        "aten.elu_backward",
        "grad_output self_or_result",
        "dx = dy elu'(x), from x or from y",
        _elu_backward,
        ELU_BACKWARD,
        (0,),
        (STEP,),
    ),
    each(
        "aten.softplus",
        "self",
        "y = log(1 + e^(beta x)) / beta, or x where beta x > threshold",
        _softplus,
        SOFTPLUS,
        (),
        (SMOOTH, STEP),
    ),
    each(
        "aten.softplus_backward",
        "grad_output self",
        "dx = dy sigmoid(beta x), or dy where beta x > threshold",
        _softplus_backward,
        dict.fromkeys(SOFTPLUS, REQUIRED),
        (0,),
        (SMOOTH, STEP),
    ),
    each("aten.mish", "self", "y = x tanh(log(1 + e^x))", lambda x: x * numbers.tanh(softplus(x)), None, (), (TANH,)),
    each("aten.mish_backward", "grad_output self", "dx = dy mish'(x)", _mish_backward, None, (0,), (TANH,)),
    operator(
        "aten.log_sigmoid_forward",
        "self",
        {},
        _log_sigmoid_shapes,
        _log_sigmoid,
        "y = -log(1 + e^-x), and e^-|x|",
    ),
    each(
        "aten.log_sigmoid_backward",
        "grad_output self buffer",
        "dx = dy sigmoid(-x), from e^-|x|",
        _log_sigmoid_backward,
        None,
        (0,),
    ),
)
