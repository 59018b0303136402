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
from verdict.ops.rule import Array, Atom, Attributes, Axes, Dim, Law, OpRule, Scale
from verdict.ops.shapes import axis, is_integer, make_axes, numbered
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


def sized(key: str) -> Callable[[Attributes, Scale], Attributes]:
    """How the attribute that is the shape of the output is reduced."""
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


def _repeat_axes(args: Arguments) -> Axes:
    """A dimension of size one repeats as it is expanded; of a larger one, what repeats is faster than how often."""
    shape, repeats = args["self"], args["repeats"]
    _repeated(args)
    lead = len(repeats) - len(shape)
    atoms, dims = numbered("d", shape)
    again, times = numbered("r", repeats)
    written = tuple((*time, *(dims[k - lead] if k >= lead else ())) for k, time in enumerate(times))
    return make_axes((*atoms, *again), (dims,), (written,))


def _fewer_repeats(attrs: Attributes, scale: Scale) -> Attributes:
    (shape,), (made,) = scale.inputs, scale.outputs
    old = (*(1 for _ in range(len(made) - len(shape))), *shape)
    repeats = zip(made, old, attrs["repeats"], strict=True)
    return {**attrs, "repeats": tuple(new // size if size else count for new, size, count in repeats)}


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


def _along(args: Arguments) -> Axes:
    """Dimension by dimension what it was, but computed along those that are named; along all where none is."""
    shape, dims = args["self"], args["dims"]
    named = {axis(args.name, dim, len(shape)) for dim in dims} if dims else set(range(len(shape)))
    atoms, own = numbered("d", shape)
    kept = (Atom(a.name, a.size, Law.WHOLE, a.size) if k in named else a for k, a in enumerate(atoms))
    return make_axes(tuple(kept), (own,), (own,))


def _roll(args: Arguments) -> Array:
    x, dims = args["self"], args["dims"]
    return np.asarray(
        np.roll(x, args["shifts"], dims) if dims else np.roll(x.reshape(-1), args["shifts"]).reshape(x.shape)
    )


def _pad_axes(args: Arguments) -> Axes:
    """Along what is padded it is computed; the other dimensions stay what they are."""
    shape, pad = args["self"], args["pad"]
    if len(pad) % 2 or len(pad) > 2 * len(shape):
        raise ShapeError(f"{args.name}: pad {pad} does not fit {shape}")
    widths = [(0, 0)] * (len(shape) - len(pad) // 2) + [(pad[k], pad[k + 1]) for k in reversed(range(0, len(pad), 2))]
    if any(size + low + high < 0 for size, (low, high) in zip(shape, widths, strict=True)):
        raise ShapeError(f"{args.name}: pad {pad} takes more from {shape} than there is")
    atoms, read = list[Atom](), list[Dim]()
    written = list[Dim]()
    for k, (size, (low, high)) in enumerate(zip(shape, widths, strict=True)):
        padded = (low, high) != (0, 0)
        names = (f"x{k}", f"y{k}") if padded else (f"d{k}",)
        sizes = (size, size + low + high)
        atoms.extend(
            Atom(name, length, Law.WHOLE, length) if padded else Atom(name, length)
            for name, length in zip(names, sizes, strict=False)
        )
        read.append((names[0],))
        written.append((names[-1],))
    return make_axes(atoms, (read,), (written,))


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
            sized("size"),
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
        sized("shape"),
    ),
    moving(
        "aten.expand",
        "self",
        {"size": REQUIRED, "implicit": False},
        _expand_axes,
        _expand,
        "y = x, repeated along dimensions of size one",
        sized("size"),
    ),
    moving(
        "aten.repeat",
        "self",
        {"repeats": REQUIRED},
        _repeat_axes,
        lambda args: np.tile(args["self"], args["repeats"]),
        "y = x, laid side by side",
        _fewer_repeats,
    ),
    moving("aten.copy", "self src", {"non_blocking": False}, _copied_axes, _copy, "y = src, at the shape of self"),
    moving("aten.flip", "self", {"dims": REQUIRED}, _along, _flipped, "y = x backwards along dims"),
    moving("aten.roll", "self", {"shifts": REQUIRED, "dims": ()}, _along, _roll, "y = x, shifted round"),
    operator(
        "aten.constant_pad_nd",
        "self",
        {"pad": REQUIRED, "value": 0},
        _pad_axes,
        _pad,
        "y = x between elements of one value",
    ),
    *(
        replace(moving(f"aten.{name}", "self", {}, same, first, "y = x"), copies=True)
        for name in ("clone", "detach", "alias", "lift_fresh", "lift_fresh_copy", "detach_copy")
    ),
)
