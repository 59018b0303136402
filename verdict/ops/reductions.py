"""sum and mean over some dimensions, or over all of them.

    sum   y = sum over k of x[.., k, ..]               dx[.., k, ..] = dy
    mean  y = sum over k of x[.., k, ..] / count       dx[.., k, ..] = dy / count

`count` is the number of reduced elements unless the attribute says otherwise. It is a constant that comes
from shapes: at reduced shapes it keeps its full value, and the law SUM of a mean speaks of the divisor of
the whole. Reduction over everything without keepdim gives shape (1,).
"""

from collections.abc import Sequence
from math import prod

import numpy as np

from verdict.errors import ShapeError
from verdict.graph import Shape
from verdict.ops import numbers
from verdict.ops.rule import Array, Atom, Attributes, Axes, Dim, Law, OpRule, Scale
from verdict.ops.shapes import arity, is_integer, known, make_axes, reductions
from verdict.ops.types import counted, floats


def _rule_axes(name: str, attributes: tuple[str, ...], shapes: Sequence[Shape], attrs: Attributes) -> Axes:
    known(name, attrs, attributes)
    arity(name, shapes, 1)
    keepdim = attrs.get("keepdim", False)
    if not isinstance(keepdim, bool):
        raise ShapeError(f"{name}: keepdim is {keepdim}, it must be True or False")
    count = attrs.get("count", 1)
    if not is_integer(count) or count < 1:
        raise ShapeError(f"{name}: count is {count}, it must be a number of elements")
    (shape,) = shapes
    reduced = reductions(name, attrs, len(shape))
    atoms = tuple(
        Atom(f"k{place}", size, Law.SUM, 2) if place in reduced else Atom(f"b{place}", size)
        for place, size in enumerate(shape)
    )
    dims = tuple((atom.name,) for atom in atoms)
    kept: tuple[Dim, ...] = tuple(dim for place, dim in enumerate(dims) if place not in reduced)
    if keepdim:
        kept = tuple(() if place in reduced else dim for place, dim in enumerate(dims))
    return make_axes(atoms, (dims,), (kept or ((),),))


def _sum_axes(shapes: Sequence[Shape], attrs: Attributes) -> Axes:
    return _rule_axes("sum", ("dim", "keepdim"), shapes, attrs)


def _mean_axes(shapes: Sequence[Shape], attrs: Attributes) -> Axes:
    return _rule_axes("mean", ("dim", "keepdim", "count"), shapes, attrs)


def _sum(inputs: Sequence[Array], attrs: Attributes) -> tuple[Array, ...]:
    (x,) = inputs
    reduced = reductions("sum", attrs, x.ndim)
    y = numbers.total(x, reduced)
    if attrs.get("keepdim", False):
        return (y,)
    shape = tuple(size for place, size in enumerate(x.shape) if place not in reduced)
    return (y.reshape(shape or (1,)),)


def _sum_gradient(
    inputs: Sequence[Array], grads: Sequence[Array], attrs: Attributes
) -> tuple[Array | None, ...]:
    (x,), (dy,) = inputs, grads
    reduced = reductions("sum", attrs, x.ndim)
    shape = tuple(1 if place in reduced else size for place, size in enumerate(x.shape))
    return (np.broadcast_to(dy.reshape(shape), x.shape).copy(),)


def _count(x: Array, attrs: Attributes) -> int:
    if "count" in attrs:
        return int(attrs["count"])
    return prod(x.shape[place] for place in reductions("mean", attrs, x.ndim))


def _mean(inputs: Sequence[Array], attrs: Attributes) -> tuple[Array, ...]:
    return (numbers.divide(_sum(inputs, attrs)[0], _count(inputs[0], attrs)),)


def _mean_gradient(
    inputs: Sequence[Array], grads: Sequence[Array], attrs: Attributes
) -> tuple[Array | None, ...]:
    share = numbers.divide(grads[0], _count(inputs[0], attrs))
    return _sum_gradient(inputs, (share,), attrs)


def _mean_reduce(attrs: Attributes, scale: Scale) -> Attributes:
    if "count" in attrs:
        return attrs
    count = prod(stop - start for name, (start, stop) in scale.bounds.items() if name.startswith("k"))
    return {**attrs, "count": count}


RULES = (
    OpRule(
        "sum",
        _sum_axes,
        _sum,
        _sum_gradient,
        linear=frozenset({0}),
        attributes=("dim", "keepdim"),
        formula="y = sum of x over dim",
        source="torch.sum",
        types=counted,
    ),
    OpRule(
        "mean",
        _mean_axes,
        _mean,
        _mean_gradient,
        reduce=_mean_reduce,
        linear=frozenset({0}),
        average_of="sum",
        attributes=("dim", "keepdim", "count"),
        formula="y = sum of x over dim / count",
        source="torch.mean",
        types=floats,
    ),
)
