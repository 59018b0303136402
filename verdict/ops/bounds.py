"""amax along dimensions, clamp between constants, and the greater and the smaller of two tensors.

    amax     y = the greatest x[.., k, ..]    dx[.., k, ..] = dy [x = y] / how many are the greatest
    clamp    y = min(max(x, min), max)        dx = dy [min <= x <= max]
    maximum  z = the greater of x and y       dx = dz where x > y, dz / 2 where x = y, 0 where x < y
    minimum  z = the smaller of x and y       dx = dz where x < y, dz / 2 where x = y, 0 where x > y

On terms [x > y] is the step of x - y, one unknown function.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from verdict.errors import ShapeError
from verdict.graph import Shape
from verdict.ops import logic, numbers
from verdict.ops.elementwise import STEP
from verdict.ops.rule import Array, Atom, Attributes, Axes, Dim, Law, OpRule
from verdict.ops.shapes import arity, broadcast, is_number, known, make_axes, numbered, reductions, unbroadcast
from verdict.ops.types import like_first, promoted


def _minimum(x: Array, y: object) -> Array:
    return np.asarray(-numbers.maximum(np.asarray(-x), -np.asarray(y)))


def _above(x: Array, y: object) -> Array:
    """[x > y]."""
    return numbers.step(np.asarray(x - y))


def _amax_axes(shapes: Sequence[Shape], attrs: Attributes) -> Axes:
    known("amax", attrs, ("dim", "keepdim"))
    arity("amax", shapes, 1)
    keepdim = attrs.get("keepdim", False)
    if not isinstance(keepdim, bool):
        raise ShapeError(f"amax: keepdim is {keepdim}, it must be True or False")
    reduced = reductions("amax", attrs, len(shapes[0]))
    if any(not shapes[0][place] for place in reduced):
        raise ShapeError(f"amax: nothing is the greatest of no elements, and x has the shape {shapes[0]}")
    atoms = tuple(
        Atom(f"k{place}", size, Law.WHOLE, 2) if place in reduced else Atom(f"b{place}", size)
        for place, size in enumerate(shapes[0])
    )
    dims = tuple((atom.name,) for atom in atoms)
    kept: tuple[Dim, ...] = tuple(dim for place, dim in enumerate(dims) if place not in reduced)
    if keepdim:
        kept = tuple(() if place in reduced else dim for place, dim in enumerate(dims))
    return make_axes(atoms, (dims,), (kept or ((),),))


def _greatest(x: Array, attrs: Attributes) -> Array:
    """The greatest elements, the dimensions staying with size one."""
    y = x
    for place in reductions("amax", attrs, x.ndim):
        y = numbers.amax(y, place)
    return y


def _amax(inputs: Sequence[Array], attrs: Attributes) -> tuple[Array, ...]:
    y = _greatest(inputs[0], attrs)
    if attrs.get("keepdim", False):
        return (y,)
    reduced = reductions("amax", attrs, y.ndim)
    return (y.reshape(tuple(size for place, size in enumerate(y.shape) if place not in reduced) or (1,)),)


def _amax_gradient(inputs: Sequence[Array], grads: Sequence[Array], attrs: Attributes) -> tuple[Array | None, ...]:
    y = _greatest(inputs[0], attrs)
    equal = np.asarray(1 - _above(y, inputs[0]))
    count = numbers.total(equal, reductions("amax", attrs, equal.ndim))
    return (np.asarray(numbers.divide(equal, count) * grads[0].reshape(y.shape)),)


def _clamp_axes(shapes: Sequence[Shape], attrs: Attributes) -> Axes:
    known("clamp", attrs, ("min", "max"))
    arity("clamp", shapes, 1)
    bounds = [attrs.get(name) for name in ("min", "max") if attrs.get(name) is not None]
    if not bounds or not all(is_number(bound) for bound in bounds):
        raise ShapeError(f"clamp: min is {attrs.get('min')} and max {attrs.get('max')}, one must be a number")
    atoms, dims = numbered("d", shapes[0])
    return make_axes(atoms, (dims,), (dims,))


def _clamp(inputs: Sequence[Array], attrs: Attributes) -> tuple[Array, ...]:
    (y,) = inputs
    if attrs.get("min") is not None:
        y = numbers.maximum(y, numbers.scalar(y, attrs["min"]))
    if attrs.get("max") is not None:
        y = _minimum(y, numbers.scalar(y, attrs["max"]))
    return (y,)


def _clamp_gradient(inputs: Sequence[Array], grads: Sequence[Array], attrs: Attributes) -> tuple[Array | None, ...]:
    (x,), dx = inputs, grads[0]
    if attrs.get("min") is not None:
        dx = logic.kept(np.asarray(1 - numbers.step(np.asarray(numbers.scalar(x, attrs["min"]) - x))), dx)
    if attrs.get("max") is not None:
        dx = logic.kept(np.asarray(1 - _above(x, numbers.scalar(x, attrs["max"]))), dx)
    return (dx,)


def _of_two(name: str, formula: str, greater: bool) -> OpRule:
    def axes(shapes: Sequence[Shape], attrs: Attributes) -> Axes:
        known(name, attrs, ())
        arity(name, shapes, 2)
        atoms, dims = broadcast(name, "d", *shapes)
        return make_axes(atoms, dims, (tuple((atom.name,) for atom in atoms),))

    def forward(inputs: Sequence[Array], attrs: Attributes) -> tuple[Array, ...]:
        x, y = inputs
        return (numbers.maximum(x, y) if greater else _minimum(x, y),)

    def gradient(inputs: Sequence[Array], grads: Sequence[Array], attrs: Attributes) -> tuple[Array | None, ...]:
        x, y = inputs if greater else inputs[::-1]
        more, less = _above(x, y), _above(y, x)
        tie, half = np.asarray(1 - more - less), np.asarray(grads[0] * numbers.scalar(grads[0], Fraction(1, 2)))
        won = [np.asarray(logic.kept(wins, grads[0]) + logic.kept(tie, half)) for wins in (more, less)]
        return tuple(unbroadcast(each, operand.shape) for each, operand in zip(won, inputs, strict=True))

    return OpRule(
        name,
        axes,
        forward,
        gradient,
        assumptions=(STEP,),
        formula=formula,
        source=f"torch.{name}",
        types=promoted,
    )


RULES = (
    OpRule(
        "amax",
        _amax_axes,
        _amax,
        _amax_gradient,
        assumptions=(STEP,),
        attributes=("dim", "keepdim"),
        formula="y = the greatest element of x over dim",
        source="torch.amax",
        types=like_first,
    ),
    OpRule(
        "clamp",
        _clamp_axes,
        _clamp,
        _clamp_gradient,
        assumptions=(STEP,),
        attributes=("min", "max"),
        formula="y = min(max(x, min), max)",
        source="torch.clamp; at a bound as torch up to 2.13 derives it (from 2.14 on the gradient is 0 there)",
        types=promoted,
    ),
    _of_two("maximum", "z = the greater of x and y", greater=True),
    _of_two("minimum", "z = the smaller of x and y", greater=False),
)
