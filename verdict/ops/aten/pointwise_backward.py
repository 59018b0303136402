"""The gradients of operators that work element by element, as autograd calls them.

silu_backward      dy (s + x s (1 - s)), s = sigmoid(x)     sigmoid_backward   dy y (1 - y)
gelu_backward      dy gelu'(x)                              tanh_backward      dy (1 - y^2)
threshold_backward dy where x > threshold, else 0, of relu with threshold 0
"""

from typing import Any

import numpy as np

from verdict.ops import logic, numbers
from verdict.ops.aten.elementwise import HALF, TANH_CUBE, TANH_SCALE, each
from verdict.ops.aten.form import REQUIRED, constant
from verdict.ops.elementwise import ERF, STEP, TANH, gelu_slope
from verdict.ops.rule import Array, OpRule


def _silu(dy: Array, x: Array) -> Any:
    y = numbers.sigmoid(x)
    return dy * (y + x * y * (1 - y))


def gelu_tanh_slope(x: Array) -> Array:
    """The derivative of the approximation of gelu by tanh."""
    half, scale = numbers.scalar(x, HALF), constant(x, TANH_SCALE)
    tanh = numbers.tanh(np.asarray(scale * (x + constant(x, TANH_CUBE) * (x * x * x))))
    inner = scale * (1 + constant(x, 3 * TANH_CUBE) * (x * x))
    return np.asarray(half * (1 + tanh) + half * x * (1 - tanh * tanh) * inner)


def _gelu(dy: Array, x: Array, approximate: str) -> Any:
    return dy * (gelu_slope(x) if approximate == "none" else gelu_tanh_slope(x))


def _threshold(dy: Array, x: Array, threshold: Any) -> Any:
    return logic.kept(numbers.step(np.asarray(x - constant(x, threshold))), dy)


RULES: tuple[OpRule, ...] = (
    each("aten.silu_backward", "grad_output self", "dx = dy (s + x s (1 - s)), s = sigmoid(x)", _silu, linear=(0,)),
    each(
        "aten.sigmoid_backward",
        "grad_output output",
        "dx = dy y (1 - y)",
        lambda dy, y: dy * (y * (1 - y)),
        linear=(0,),
    ),
    each("aten.tanh_backward", "grad_output output", "dx = dy (1 - y^2)", lambda dy, y: dy * (1 - y * y), linear=(0,)),
    each(
        "aten.gelu_backward",
        "grad_output self",
        "dx = dy gelu'(x)",
        _gelu,
        {"approximate": "none"},
        linear=(0,),
        assumptions=(ERF, TANH),
    ),
    each(
        "aten.threshold_backward",
        "grad_output self",
        "dx = dy where x > threshold, else 0",
        _threshold,
        {"threshold": REQUIRED},
        linear=(0,),
        assumptions=(STEP,),
    ),
)
