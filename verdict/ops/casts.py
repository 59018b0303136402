"""Operators that hand on their input: casts, copies of it, and the local sum of gradients.

float, to, identity, contiguous    y = x
multiref                           y_1 = ... = y_n = x          dx = dy_1 + ... + dy_n
accumulate                         y = x_1 + ... + x_n          dx_i = dy
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import numpy as np

from verdict.errors import ShapeError
from verdict.graph import COPY, SUM, Shape
from verdict.ops.rule import Array, Attributes, Axes, OpRule
from verdict.ops.shapes import arity, floating, is_integer, known, make_axes, numbered
from verdict.ops.types import cast, is_whole, kind, like_first, promoted
from verdict.outcome import Assumption

FRESH_COPY = "contiguous"
"""The operator that makes a copy in memory of its own, for whoever writes nodes."""
CAST = Assumption("casts-are-identity", "a cast between floating-point types changes no value")


def casting(rule: OpRule) -> OpRule:
    """A rule whose outputs have the type that `dtype` names: linear, as it changes no value, but into whole numbers and
    truth values.
    """
    return replace(
        rule, linear=frozenset({0}), affine=lambda arity, attrs: is_whole(kind(attrs.get("dtype"))), types=cast
    )


def _added(arrays: Sequence[Array]) -> Array:
    return np.asarray(reduce(np.add, arrays))


def _copy(
    name: str, attributes: tuple[str, ...] = (), assumptions: tuple[Assumption, ...] = (), *, views: bool = False
) -> OpRule:
    def axes(shapes: Sequence[Shape], attrs: Attributes) -> Axes:
        known(name, attrs, attributes)
        arity(name, shapes, 1)
        floating(name, attrs.get("dtype"))
        atoms, dims = numbered("d", shapes[0])
        return make_axes(atoms, (dims,), (dims,))

    def forward(inputs: Sequence[Array], attrs: Attributes) -> tuple[Array, ...]:
        return (inputs[0],)

    def gradient(
        inputs: Sequence[Array], grads: Sequence[Array], attrs: Attributes
    ) -> tuple[Array | None, ...]:
        return (grads[0],)

    return OpRule(
        name,
        axes,
        forward,
        gradient,
        linear=frozenset({0}),
        moves=True,
        copies=not assumptions,
        views=views,
        attributes=attributes,
        assumptions=assumptions,
        formula="y = x",
        source=f"torch.Tensor.{name}" if name != COPY else "torch.nn.Identity",
        types=cast,
    )


def _multiref_axes(shapes: Sequence[Shape], attrs: Attributes) -> Axes:
    known("multiref", attrs, ("times",))
    arity("multiref", shapes, 1)
    times = attrs.get("times")
    if not is_integer(times) or int(times or 0) < 1:
        raise ShapeError(f"multiref: times is {times}, it must be a number of copies")
    atoms, dims = numbered("d", shapes[0])
    return make_axes(atoms, (dims,), (dims,) * int(times or 0))


def _multiref(inputs: Sequence[Array], attrs: Attributes) -> tuple[Array, ...]:
    return (inputs[0],) * int(attrs["times"])


def _multiref_gradient(
    inputs: Sequence[Array], grads: Sequence[Array], attrs: Attributes
) -> tuple[Array | None, ...]:
    return (_added(grads),)


def _accumulate_axes(shapes: Sequence[Shape], attrs: Attributes) -> Axes:
    known("accumulate", attrs, ())
    arity("accumulate", shapes, max(len(shapes), 1))
    if len(set(shapes)) > 1:
        raise ShapeError(f"accumulate: adds tensors of one shape, found {' and '.join(map(str, shapes))}")
    atoms, dims = numbered("d", shapes[0])
    return make_axes(atoms, (dims,) * len(shapes), (dims,))


def _accumulate(inputs: Sequence[Array], attrs: Attributes) -> tuple[Array, ...]:
    return (_added(inputs),)


def _accumulate_gradient(
    inputs: Sequence[Array], grads: Sequence[Array], attrs: Attributes
) -> tuple[Array | None, ...]:
    return tuple(grads[0] for _ in inputs)


RULES = (
    _copy("float", ("dtype",), (CAST,)),
    _copy("to", ("dtype",), (CAST,)),
    _copy(COPY, views=True),
    _copy(FRESH_COPY),
    OpRule(
        "multiref",
        _multiref_axes,
        _multiref,
        _multiref_gradient,
        linear=frozenset({0}),
        moves=True,
        copies=True,
        views=True,
        attributes=("times",),
        formula="y_1 = ... = y_n = x",
        source="nnscaler.runtime.function.multiref",
        types=like_first,
    ),
    OpRule(
        SUM,
        _accumulate_axes,
        _accumulate,
        _accumulate_gradient,
        adds=True,
        sums=True,
        formula="y = x_1 + ... + x_n",
        source="torch.autograd (a tensor's gradients add up)",
        types=promoted,
    ),
)
