"""Functions of one tensor, element by element: y = f(x), dx = f'(x) dy. A member is one line of RULES.

sqrt, rsqrt and pow are powers; silu(x) = x sigmoid(x) with sigmoid(x) = 1 / (1 + exp(-x));
gelu(x) = x/2 (1 + erf(x / sqrt 2)), the exact one of torch, with torch's double-precision constants;
relu's gradient at 0 is 0, as in torch.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from verdict.errors import NoRuleError, ShapeError
from verdict.graph import Shape
from verdict.ops import logic, numbers
from verdict.ops.rule import Array, Attributes, Axes, OpRule
from verdict.ops.shapes import arity, is_number, known, make_axes, numbered
from verdict.ops.types import Types, floats, promoted
from verdict.outcome import Assumption

Function = Callable[[Array], Array]

ERF = Assumption("erf-uninterpreted", "erf is one unknown function, the same on both sides")
TANH = Assumption("tanh-uninterpreted", "tanh is one unknown function, the same on both sides")
STEP = Assumption("step-uninterpreted", "relu's derivative is one unknown function, the same on both sides")

HALF = Fraction(1, 2)
ROOT_HALF = math.sqrt(0.5)
NORMAL_DENSITY_AT_ZERO = 1 / math.sqrt(2 * math.pi)


def _unary(
    name: str,
    formula: str,
    function: Function,
    derivative: Function,
    *assumptions: Assumption,
    linear: frozenset[int] = frozenset(),
    attributes: tuple[str, ...] = (),
    room: str = "torch",
    types: Types = floats,
    chooses: bool = False,
) -> OpRule:
    """chooses: whether the derivative is 0 or 1, and what it is 0 of is no part of the gradient, whatever that is."""

    def axes(shapes: Sequence[Shape], attrs: Attributes) -> Axes:
        known(name, attrs, attributes)
        arity(name, shapes, 1)
        if attrs.get("approximate", "none") != "none":
            raise NoRuleError(f"{name}: approximate is {attrs['approximate']}, only 'none' has a rule")
        atoms, dims = numbered("d", shapes[0])
        return make_axes(atoms, (dims,), (dims,))

    def forward(inputs: Sequence[Array], attrs: Attributes) -> tuple[Array, ...]:
        return (function(inputs[0]),)

    def gradient(inputs: Sequence[Array], grads: Sequence[Array], attrs: Attributes) -> tuple[Array | None, ...]:
        slope = derivative(inputs[0])
        return (logic.kept(slope, grads[0]) if chooses else grads[0] * slope,)

    return OpRule(
        name,
        axes,
        forward,
        gradient,
        linear=linear,
        assumptions=assumptions,
        attributes=attributes,
        formula=formula,
        source=f"{room}.{name}",
        types=types,
    )


def _full(x: Array, value: int) -> Array:
    return np.asarray(numbers.zeros(x, x.shape) + value)


def _slope(x: Array, exponent: Fraction) -> Array:
    """The derivative of x to the `exponent`."""
    if exponent in {0, 1}:
        return _full(x, int(exponent))
    return np.asarray(numbers.scalar(x, exponent) * numbers.power(x, exponent - 1))


def _sign(x: Array) -> Array:
    """1, 0 or -1."""
    return np.asarray(numbers.step(x) - numbers.step(np.asarray(-x)))


def _sigmoid_slope(x: Array) -> Array:
    y = numbers.sigmoid(x)
    return np.asarray(y * (1 - y))


def _silu(x: Array) -> Array:
    return np.asarray(x * numbers.sigmoid(x))


def _silu_slope(x: Array) -> Array:
    y = numbers.sigmoid(x)
    return np.asarray(y + x * y * (1 - y))


def _tanh_slope(x: Array) -> Array:
    y = numbers.tanh(x)
    return np.asarray(1 - y * y)


def _normal(x: Array) -> Array:
    """The share of a standard normal distribution that lies below x."""
    half = numbers.scalar(x, HALF)
    return np.asarray(half * (1 + numbers.erf(np.asarray(x * numbers.scalar(x, ROOT_HALF)))))


def gelu(x: Array) -> Array:
    """x/2 (1 + erf(x / sqrt 2))."""
    return np.asarray(x * _normal(x))


def gelu_slope(x: Array) -> Array:
    """The derivative of gelu."""
    density = numbers.exp(np.asarray(x * x * numbers.scalar(x, -HALF)))
    return np.asarray(_normal(x) + x * density * numbers.scalar(x, NORMAL_DENSITY_AT_ZERO))


def _pow_axes(shapes: Sequence[Shape], attrs: Attributes) -> Axes:
    known("pow", attrs, ("exponent",))
    arity("pow", shapes, 1)
    if not is_number(attrs.get("exponent")):
        raise ShapeError(f"pow: exponent is {attrs.get('exponent')}, it must be a number")
    atoms, dims = numbered("d", shapes[0])
    return make_axes(atoms, (dims,), (dims,))


def _pow(inputs: Sequence[Array], attrs: Attributes) -> tuple[Array, ...]:
    return (numbers.power(inputs[0], numbers.rational(attrs["exponent"])),)


def _pow_gradient(inputs: Sequence[Array], grads: Sequence[Array], attrs: Attributes) -> tuple[Array | None, ...]:
    return (grads[0] * _slope(inputs[0], numbers.rational(attrs["exponent"])),)


RULES = (
    _unary("neg", "y = -x", lambda x: np.asarray(-x), lambda x: _full(x, -1), linear=frozenset({0}), types=promoted),
    _unary("exp", "y = e^x", numbers.exp, numbers.exp),
    _unary("log", "y = the natural logarithm of x", numbers.log, lambda x: numbers.divide(1, x)),
    _unary("abs", "y = max(x, -x)", lambda x: numbers.maximum(x, np.asarray(-x)), _sign, STEP, types=promoted),
    _unary("sqrt", "y = x^(1/2)", numbers.sqrt, lambda x: _slope(x, HALF)),
    _unary("rsqrt", "y = x^(-1/2)", lambda x: numbers.power(x, -HALF), lambda x: _slope(x, -HALF)),
    _unary("sigmoid", "y = 1 / (1 + e^-x)", numbers.sigmoid, _sigmoid_slope),
    _unary("tanh", "y = tanh x", numbers.tanh, _tanh_slope, TANH),
    _unary("silu", "y = x sigmoid(x)", _silu, _silu_slope, room="torch.nn.functional"),
    _unary("relu", "y = max(x, 0)", lambda x: numbers.maximum(x, 0), numbers.step, STEP, types=promoted, chooses=True),
    _unary(
        "gelu",
        "y = x/2 (1 + erf(x / sqrt 2))",
        gelu,
        gelu_slope,
        ERF,
        attributes=("approximate",),
        room="torch.nn.functional",
    ),
    OpRule(
        "pow",
        _pow_axes,
        _pow,
        _pow_gradient,
        attributes=("exponent",),
        formula="y = x^exponent",
        source="torch.pow",
        types=promoted,
    ),
)
