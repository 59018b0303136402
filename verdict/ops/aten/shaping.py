"""Operators that rearrange, repeat or drop elements: other dimensions of the same elements.

The arrays of a rule are values, not storage, so a view is a copy of what it shows. `expand` and `copy` repeat
along dimensions of size one.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from verdict.errors import ShapeError
from verdict.graph import Shape
from verdict.ops.aten.form import REQUIRED, Arguments, constant, operator
from verdict.ops.rule import Array, Atom, Attributes, Axes, Law, OpRule, Scale
from verdict.ops.shapes import is_integer, make_axes, numbered
from verdict.ops.view import factor


def moving(
    name: str,
    tensors: str,
    attributes: Mapping[str, Any],
    shapes: Callable[[Arguments], Any],
    forward: Callable[[Arguments], Any],
    formula: str,
    reduce: Callable[[Attributes, Scale], Attributes] | None = None,
) -> OpRule:
    """The rule of an operator that only moves elements, linear in all of one input."""
    linear = (0,) if len(tensors.split()) == 1 and not tensors.endswith("*") else ()
    return operator(name, tensors, attributes, shapes, forward, formula, moves=True, linear=linear, reduce=reduce)


def same(args: Arguments) -> Axes:
    """Dimension by dimension what the first tensor is."""
    atoms, dims = numbered("d", args.given[0])
    return make_axes(atoms, (dims,), (dims,))


def first(args: Arguments) -> Array:
    """The first tensor."""
    return np.asarray(args.given[0])


def _resized(args: Arguments, size: Any) -> Shape:
    shape = args["self"]
    if not isinstance(size, tuple) or not all(is_integer(length) for length in size) or size.count(-1) > 1:
        raise args.misfit(f"size is {size}, it must be integers, at most one of them -1")
    elements, given = prod(shape), prod(length for length in size if length != -1)
    if given < (-1 in size) or (elements % given if given else elements) or (-1 not in size and elements != given):
        raise args.misfit(f"{shape} has {elements} elements, which do not fit into size {size}")
    return tuple(elements // given if length == -1 else int(length) for length in size)


def _view_axes(key: str) -> Callable[[Arguments], Axes]:
    return lambda args: factor(args["self"], _resized(args, args[key]))


def _reshape(key: str) -> Callable[[Arguments], Array]:
    return lambda args: args["self"].reshape(args[key])


def _sized(key: str) -> Callable[[Attributes, Scale], Attributes]:
    return lambda attrs, scale: {**attrs, key: scale.outputs[0]}


def _expanded(args: Arguments) -> Shape:
    shape, size = args["self"], args["size"]
    lead = len(size) - len(shape)
    if lead < 0:
        raise args.misfit(f"{shape} has more dimensions than size {size}")
    old = (*(1 for _ in range(lead)), *shape)
    for place, (found, wanted) in enumerate(zip(old, size, strict=True)):
        if wanted != found and not (wanted == -1 and place >= lead) and (found != 1 or wanted < 0):
            raise args.misfit(f"{shape} cannot be expanded to size {size}")
    return tuple(found if wanted == -1 else int(wanted) for found, wanted in zip(old, size, strict=True))


def _expand_axes(args: Arguments) -> Axes:
    shape, target = args["self"], _expanded(args)
    atoms, dims = numbered("d", target)
    lead = len(target) - len(shape)
    read = tuple(() if size == 1 else dims[lead + place] for place, size in enumerate(shape))
    return make_axes(atoms, (read,), (dims,))


def _expand(args: Arguments) -> Array:
    x, size = args["self"], args["size"]
    lead = len(size) - x.ndim
    target = tuple(x.shape[k - lead] if wanted == -1 else wanted for k, wanted in enumerate(size))
    return np.broadcast_to(x, target)


def _repeated(args: Arguments) -> Shape:
    shape, repeats = args["self"], args["repeats"]
    if len(repeats) < len(shape) or any(count < 1 for count in repeats):
        raise args.misfit(f"repeats {repeats} do not fit {shape}")
    lead = len(repeats) - len(shape)
    return tuple(count * (1 if place < lead else shape[place - lead]) for place, count in enumerate(repeats))


def _copied_axes(args: Arguments) -> Axes:
    target, source = args.given
    lead = len(target) - len(source)
    if lead < 0 or any(size not in {1, target[lead + place]} for place, size in enumerate(source)):
        raise args.misfit(f"{source} does not fit into {target}")
    atoms, dims = numbered("d", target)
    read = tuple(() if size == 1 else dims[lead + place] for place, size in enumerate(source))
    return make_axes(tuple(Atom(a.name, a.size, Law.EACH) for a in atoms), (dims, read), (dims,))


def _copy(args: Arguments) -> Array:
    return np.broadcast_to(args["src"], args["self"].shape)


def _flipped(args: Arguments) -> Array:
    return np.flip(args["self"], args["dims"]) if args["dims"] else args["self"]


def _roll(args: Arguments) -> Array:
    x, dims = args["self"], args["dims"]
    return np.asarray(
        np.roll(x, args["shifts"], dims) if dims else np.roll(x.reshape(-1), args["shifts"]).reshape(x.shape)
    )


def _pad_shape(args: Arguments) -> Shape:
    shape, pad = args["self"], args["pad"]
    if len(pad) % 2 or len(pad) > 2 * len(shape):
        raise ShapeError(f"{args.name}: pad {pad} does not fit {shape}")
    widths = [(0, 0)] * (len(shape) - len(pad) // 2) + [(pad[k], pad[k + 1]) for k in reversed(range(0, len(pad), 2))]
    return tuple(size + low + high for size, (low, high) in zip(shape, widths, strict=True))


def _pad(args: Arguments) -> Array:
    pad = args["pad"]
    x: Array = args["self"]
    for place in range(len(pad) // 2):
        along, low, high = x.ndim - 1 - place, pad[2 * place], pad[2 * place + 1]
        x = x[(slice(None),) * along + (slice(max(-low, 0), x.shape[along] - max(-high, 0)),)]
        for width, front in ((low, True), (high, False)):
            if width > 0:
                shape = (*x.shape[:along], width, *x.shape[along + 1 :])
                block = np.full(shape, constant(x, args["value"]), dtype=x.dtype)
                x = np.concatenate((block, x) if front else (x, block), axis=along)
    return x


SIZE = {"size": REQUIRED}

RULES: tuple[OpRule, ...] = (
    *(
        moving(
            f"aten.{name}",
            "self",
            SIZE,
            _view_axes("size"),
            _reshape("size"),
            "y = x in row-major order",
            _sized("size"),
        )
        for name in ("view", "_unsafe_view")
    ),
    moving(
        "aten.reshape",
        "self",
        {"shape": REQUIRED},
        _view_axes("shape"),
        _reshape("shape"),
        "y = x in row-major order",
        _sized("shape"),
    ),
    moving(
        "aten.expand",
        "self",
        {"size": REQUIRED, "implicit": False},
        _expand_axes,
        _expand,
        "y = x, repeated along dimensions of size one",
        _sized("size"),
    ),
    moving(
        "aten.repeat",
        "self",
        {"repeats": REQUIRED},
        _repeated,
        lambda args: np.tile(args["self"], args["repeats"]),
        "y = x, laid side by side",
    ),
    moving("aten.copy", "self src", {"non_blocking": False}, _copied_axes, _copy, "y = src, at the shape of self"),
    moving("aten.flip", "self", {"dims": REQUIRED}, lambda args: args["self"], _flipped, "y = x backwards along dims"),
    moving(
        "aten.roll", "self", {"shifts": REQUIRED, "dims": ()}, lambda args: args["self"], _roll, "y = x, shifted round"
    ),
    operator(
        "aten.constant_pad_nd",
        "self",
        {"pad": REQUIRED, "value": 0},
        _pad_shape,
        _pad,
        "y = x between elements of one value",
    ),
    *(
        replace(moving(f"aten.{name}", "self", {}, same, first, "y = x"), copies=True)
        for name in ("clone", "detach", "alias", "lift_fresh", "lift_fresh_copy", "detach_copy")
    ),
)
