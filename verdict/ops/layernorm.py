"""layernorm: y = (x - m) (v + eps)^(-1/2) weight + bias over the last dimensions, `normalized_shape`

    m = sum of x / count        v = sum of (x - m)^2 / count

`count` is the number of normalised elements; it comes from shapes and keeps its full value at reduced ones.
With c = x - m, r = (v + eps)^(-1/2) and a = dy weight, the gradient is

    dc = a r - r^3 c (sum of a c) / count        dx = dc - (sum of dc) / count
    dweight = dy c r        dbias = dy, both summed over the leading axes
"""

from collections.abc import Sequence
from fractions import Fraction
from math import prod
from typing import NamedTuple

import numpy as np

from verdict.errors import ShapeError
from verdict.graph import Shape
from verdict.ops import numbers
from verdict.ops.rule import Array, Atom, Attributes, Axes, Law, OpRule, Scale
from verdict.ops.shapes import arity, is_integer, is_number, known, make_axes, numbered, unbroadcast
from verdict.ops.types import floats

ATTRIBUTES = ("normalized_shape", "eps", "count")
EPS = 1e-5
"""The eps of torch where the node names none."""


class _Moments(NamedTuple):
    centred: Array
    scale: Array
    divisor: int
    along: tuple[int, ...]


def _axes(shapes: Sequence[Shape], attrs: Attributes) -> Axes:
    known("layernorm", attrs, ATTRIBUTES)
    arity("layernorm", shapes, 3)
    x, weight, bias = shapes
    normalised = attrs.get("normalized_shape")
    if not isinstance(normalised, tuple) or not normalised:
        raise ShapeError(f"layernorm: normalized_shape is {normalised}, it must be a tuple of sizes")
    if x[-len(normalised) :] != normalised:
        raise ShapeError(f"layernorm: x of shape {x} does not end in normalized_shape {normalised}")
    if weight != normalised or bias != normalised:
        raise ShapeError(f"layernorm: weight {weight} and bias {bias} must have shape {normalised}")
    if not is_number(attrs.get("eps", EPS)) or attrs.get("eps", EPS) < 0:
        raise ShapeError(f"layernorm: eps is {attrs['eps']}, it must be a number not below 0")
    if not is_integer(attrs.get("count", 1)) or attrs.get("count", 1) < 1:
        raise ShapeError(f"layernorm: count is {attrs['count']}, it must be a number of elements")
    batch, dims = numbered("b", x[: -len(normalised)])
    along = tuple(Atom(f"n{place}", size, Law.WHOLE, 2) for place, size in enumerate(normalised))
    last = tuple((atom.name,) for atom in along)
    return make_axes((*batch, *along), ((*dims, *last), last, last), ((*dims, *last),))


def _moments(x: Array, attrs: Attributes) -> _Moments:
    last = len(attrs["normalized_shape"])
    along = tuple(range(x.ndim - last, x.ndim))
    count = int(attrs.get("count", prod(x.shape[-last:])))
    centred = np.asarray(x - numbers.divide(numbers.total(x, along), count))
    variance = numbers.divide(numbers.total(np.asarray(centred * centred), along), count)
    eps = numbers.scalar(x, attrs.get("eps", EPS))
    return _Moments(centred, numbers.power(np.asarray(variance + eps), Fraction(-1, 2)), count, along)


def _forward(inputs: Sequence[Array], attrs: Attributes) -> tuple[Array, ...]:
    x, weight, bias = inputs
    moments = _moments(x, attrs)
    return (np.asarray(moments.centred * moments.scale * weight + bias),)


def _gradient(inputs: Sequence[Array], grads: Sequence[Array], attrs: Attributes) -> tuple[Array | None, ...]:
    (x, weight, bias), (dy,) = inputs, grads
    centred, scale, count, along = _moments(x, attrs)
    weighted = np.asarray(dy * weight)
    spread = numbers.divide(numbers.total(np.asarray(weighted * centred), along), count)
    dcentred = np.asarray(weighted * scale - scale * scale * scale * centred * spread)
    dx = np.asarray(dcentred - numbers.divide(numbers.total(dcentred, along), count))
    dweight = np.asarray(dy * centred * scale)
    return dx, unbroadcast(dweight, weight.shape), unbroadcast(dy, bias.shape)


def _reduce(attrs: Attributes, scale: Scale) -> Attributes:
    shape = scale.inputs[1]
    count = prod(stop - start for name, (start, stop) in scale.bounds.items() if name.startswith("n"))
    return {"count": count, **attrs, "normalized_shape": shape}


RULES = (
    OpRule(
        "layernorm",
        _axes,
        _forward,
        _gradient,
        reduce=_reduce,
        local=frozenset({"normalized_shape"}),
        attributes=ATTRIBUTES,
        formula="y = (x - mean) / sqrt(variance + eps) weight + bias, over the last dimensions",
        source="torch.nn.functional.layer_norm",
        types=floats,
    ),
)
