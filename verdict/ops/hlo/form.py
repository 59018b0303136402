"""The form of an HLO operator's rule: that of recorded operators, with HLO's own strictness about shapes."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from verdict.graph import Shape
from verdict.ops.aten.elementwise import of_kind
from verdict.ops.aten.form import Arguments, Forward, Shapes, operator
from verdict.ops.rule import Array, Axes, OpRule
from verdict.ops.shapes import make_axes, numbered
from verdict.ops.types import Types, promoted
from verdict.outcome import Assumption

SOURCE = "https://openxla.org/xla/operation_semantics"


def hlo(
    name: str, tensors: str, attributes: Mapping[str, Any], shapes: Shapes, forward: Forward, formula: str, **facts: Any
) -> OpRule:
    """The rule of one opcode; facts: those of `operator`."""
    return replace(operator(f"hlo.{name}", tensors, attributes, shapes, forward, formula, **facts), source=SOURCE)


def moving(
    name: str, attributes: Mapping[str, Any], shapes: Shapes, forward: Forward, formula: str, **facts: Any
) -> OpRule:
    """The rule of an opcode that only moves the elements of one tensor."""
    return hlo(name, "self", attributes, shapes, forward, formula, moves=True, linear=(0,), **facts)


def each(
    name: str,
    tensors: str,
    formula: str,
    function: Callable[..., Any],
    linear: tuple[int, ...] = (),
    assumptions: tuple[Assumption, ...] = (),
    types: Types = promoted,
    attributes: Mapping[str, Any] | None = None,
) -> OpRule:
    """The rule of an opcode that works element by element on tensors of one shape; of those in `scalars` one element
    stands for all.
    """
    named = tuple(word.rstrip("?") for word in tensors.split())

    def forward(args: Arguments) -> Array:
        given = args.given
        shape = max((x.shape for x in given), key=len)
        made = function(*(_solid(x) for x in given), *(args[key] for key in attributes or {}))
        return of_kind(np.broadcast_to(np.asarray(made), shape or (1,)).reshape(shape), given[0])

    def shapes(args: Arguments) -> Axes:
        return _equal(args, named)

    return hlo(
        name, tensors, attributes or {}, shapes, forward, formula, linear=linear, assumptions=assumptions, types=types
    )


SCALARS = {"hlo.select": (0,), "hlo.clamp": (0, 2)}
"""The inputs that may be a scalar beside tensors."""


def _solid(x: Array) -> Array:
    return x if x.ndim else x.reshape(1)


def _equal(args: Arguments, named: tuple[str, ...]) -> Axes:
    given: tuple[Shape, ...] = args.given
    may = SCALARS.get(args.name, ())
    shape = max(given, key=len)
    for place, (key, found) in enumerate(zip(named, given, strict=True)):
        if found != shape and not (found == () and place in may):
            raise args.misfit(f"{key} has the shape {found} beside one of shape {shape}: they must be equal")
    atoms, dims = numbered("d", shape)
    return make_axes(atoms, tuple(dims if found == shape else () for found in given), (dims,))
