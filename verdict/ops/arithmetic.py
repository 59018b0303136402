"""add, sub, mul, div of two tensors with full broadcasting, or of a tensor and a constant.

    add  z = x + alpha y    sub  z = x - alpha y    mul  z = x y    div  z = x / y

A constant second operand is the attribute `other`; with `reflected` it is the first: div with other=1 and
reflected is 1 / x. The gradient of an operand that was repeated is summed over the repetitions.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from verdict.errors import NoRuleError, ShapeError
from verdict.graph import Shape
from verdict.ops import numbers
from verdict.ops.rule import Array, Attributes, Axes, OpRule
from verdict.ops.shapes import arity, broadcast, is_number, known, make_axes, unbroadcast
from verdict.ops.types import floats, promoted

Combine = Callable[[Any, Any, Any], Any]
"""(x, y, alpha) to z."""
Pull = Callable[[Any, Any, Any, Any], Any]
"""(dz, x, y, alpha) to the gradient of one operand, at the shape of z."""


def _operands(inputs: Sequence[Array], attrs: Attributes) -> tuple[Any, Any]:
    if len(inputs) == 2:
        return inputs[0], inputs[1]
    constant = numbers.scalar(inputs[0], attrs["other"])
    return (constant, inputs[0]) if attrs.get("reflected", False) else (inputs[0], constant)


def _alpha(inputs: Sequence[Array], attrs: Attributes) -> Any:
    alpha = attrs.get("alpha", 1)
    return 1 if alpha == 1 else numbers.scalar(inputs[0], alpha)


def _check_constants(name: str, shapes: Sequence[Shape], attrs: Attributes) -> None:
    if not is_number(attrs.get("alpha", 1)):
        raise ShapeError(f"{name}: alpha is {attrs['alpha']}, it must be a number")
    if attrs.get("rounding_mode") is not None:
        raise NoRuleError(f"{name}: rounding_mode is {attrs['rounding_mode']}, only None has a rule")
    reflected = attrs.get("reflected", False)
    if not isinstance(reflected, bool):
        raise ShapeError(f"{name}: reflected is {reflected}, it must be True or False")
    if len(shapes) == 2 and ("other" in attrs or reflected):
        raise ShapeError(f"{name}: has two tensors and a constant operand too")
    if len(shapes) == 1 and not is_number(attrs.get("other")):
        raise ShapeError(f"{name}: has one tensor, so other must be a number, it is {attrs.get('other')}")
    if name == "div" and attrs.get("other") == 0 and not reflected:
        raise ShapeError("div: divides by the constant 0")


def _binary(
    name: str,
    formula: str,
    combine: Combine,
    pulls: tuple[Pull, Pull],
    *,
    attributes: tuple[str, ...],
    linear: frozenset[int] = frozenset(),
    additive: bool = False,
    zero: Callable[[Attributes], bool] = lambda attrs: False,
) -> OpRule:
    def axes(shapes: Sequence[Shape], attrs: Attributes) -> Axes:
        known(name, attrs, attributes)
        arity(name, shapes, 1, 2)
        _check_constants(name, shapes, attrs)
        atoms, dims = broadcast(name, "d", *shapes)
        return make_axes(atoms, dims, (tuple((atom.name,) for atom in atoms),))

    def forward(inputs: Sequence[Array], attrs: Attributes) -> tuple[Array, ...]:
        x, y = _operands(inputs, attrs)
        return (np.asarray(combine(x, y, _alpha(inputs, attrs))),)

    def gradient(
        inputs: Sequence[Array], grads: Sequence[Array], attrs: Attributes
    ) -> tuple[Array | None, ...]:
        x, y = _operands(inputs, attrs)
        wanted = pulls if len(inputs) == 2 else pulls[1:] if attrs.get("reflected", False) else pulls[:1]
        alpha = _alpha(inputs, attrs)
        return tuple(
            unbroadcast(np.asarray(pull(grads[0], x, y, alpha)), operand.shape)
            for pull, operand in zip(wanted, inputs, strict=True)
        )

    def affine(arity: int, attrs: Attributes) -> bool:
        return name == "div" and bool(attrs.get("reflected", False))

    return OpRule(
        name,
        axes,
        forward,
        gradient,
        linear=linear,
        additive=additive,
        affine=affine,
        sums=name == "add",
        zero=zero,
        attributes=attributes,
        formula=formula,
        source=f"torch.{name}",
        types=floats if name == "div" else promoted,
    )


def _times(factor: Any, array: Any) -> Any:
    return array if isinstance(factor, int) and factor == 1 else factor * array


RULES = (
    _binary(
        "add",
        "z = x + alpha y",
        lambda x, y, alpha: x + _times(alpha, y),
        (lambda g, x, y, alpha: g, lambda g, x, y, alpha: _times(alpha, g)),
        attributes=("other", "reflected", "alpha"),
        additive=True,
    ),
    _binary(
        "sub",
        "z = x - alpha y",
        lambda x, y, alpha: x - _times(alpha, y),
        (lambda g, x, y, alpha: g, lambda g, x, y, alpha: -_times(alpha, g)),
        attributes=("other", "reflected", "alpha"),
        additive=True,
    ),
    _binary(
        "mul",
        "z = x y",
        lambda x, y, alpha: x * y,
        (lambda g, x, y, alpha: g * y, lambda g, x, y, alpha: g * x),
        attributes=("other", "reflected"),
        linear=frozenset({0, 1}),
        zero=lambda attrs: attrs.get("other") == 0,
    ),
    _binary(
        "div",
        "z = x / y",
        lambda x, y, alpha: numbers.divide(x, y),
        (
            lambda g, x, y, alpha: numbers.divide(g, y),
            lambda g, x, y, alpha: numbers.divide(-(g * x), y * y),
        ),
        attributes=("other", "reflected", "rounding_mode"),
        linear=frozenset({0}),
    ),
)
