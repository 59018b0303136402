"""Views as pure steps: how a view is made from its base, and how a base changes when its view is written to."""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple

Shape = tuple[int, ...]
Emit = Callable[[str, tuple[int, ...], Shape, Mapping[str, Hashable]], int]
"""Records an operator with one output of that shape; the number of the output. Its dtype is that of the base."""


class View(NamedTuple):
    """One step from a base to a view of it.

    undo(emit, old, new): the base's new value, from its old one (made only when asked for) and the view's new value;
        None where writing through such a view has no meaning.
    """

    op: str
    attrs: Mapping[str, Hashable]
    shape: Shape
    undo: Callable[[Emit, Callable[[], int], int], int] | None


RESHAPES = frozenset(
    {"view", "_unsafe_view", "_reshape_alias", "unsqueeze", "squeeze", "alias", "detach", "unflatten", "flatten"}
)


def retyped(op: str, overload: str) -> bool:
    """Whether a view shows memory as numbers of another type, or as conjugated ones."""
    return op in ("view_as_complex", "view_as_real", "_conj") or (op == "view" and overload == "dtype")


def view_of(op: str, overload: str, given: Mapping[str, Any], base: Shape, shape: Shape) -> View | None:
    """The step that a call of `op` with the arguments `given` on a base is; None if it is no known view."""
    if op in RESHAPES and overload != "dtype":
        return _reshape(op, overload, given, base, shape)
    if op in ("t", "transpose", "permute"):
        return _permutation(op, overload, given, base, shape)
    if op == "expand" and math.prod(shape) == math.prod(base):
        return _reshape(op, overload, given, base, shape)
    if op == "expand":
        return View("aten.expand", {"size": shape}, shape, None)
    if op == "slice":
        start, stop, step = _bounds(given["start"], given["end"], given["step"], base[given["dim"]])
        return sliced(given["dim"] % len(base), start, stop, step, base)
    if op == "select":
        return selected(given["dim"] % len(base), given["index"], base)
    if op == "diagonal":
        attrs = {name: given[name] for name in ("offset", "dim1", "dim2")}
        return View("aten.diagonal", attrs, shape, _scatter("aten.diagonal_scatter", attrs, base))
    return None


def _reshape(op: str, overload: str, given: Mapping[str, Any], base: Shape, shape: Shape) -> View:
    if op == "unsqueeze":
        name, attrs = "aten.unsqueeze", {"dim": given["dim"]}
    elif op == "squeeze" and overload in ("dim", "dims"):
        name, attrs = f"aten.squeeze.{overload}", {"dim": _frozen(given["dim"])}
    else:
        name, attrs = "aten.view", {"size": shape}
    return View(name, attrs, shape, lambda emit, old, new: emit("aten.view", (new,), base, {"size": base}))


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list | tuple) else value


def reshaped(base: Shape, shape: Shape) -> View:
    """The same elements in row-major order, in another shape."""
    return _reshape("view", "", {}, base, shape)


def _permutation(op: str, overload: str, given: Mapping[str, Any], base: Shape, shape: Shape) -> View:
    if op == "t":
        return View("aten.t", {}, shape, lambda emit, old, new: emit("aten.t", (new,), base, {}))
    if op == "transpose":
        attrs = {"dim0": given["dim0"], "dim1": given["dim1"]}
        name = f"aten.transpose.{overload}"
        return View(name, attrs, shape, lambda emit, old, new: emit(name, (new,), base, attrs))
    return permuted(tuple(dim % len(base) for dim in given["dims"]), base)


def permuted(order: Sequence[int], base: Shape) -> View:
    """The dimensions of the base in another order."""
    back = tuple(sorted(range(len(order)), key=lambda dim: order[dim]))
    return View(
        "aten.permute",
        {"dims": tuple(order)},
        tuple(base[dim] for dim in order),
        lambda emit, old, new: emit("aten.permute", (new,), base, {"dims": back}),
    )


def sliced(dim: int, start: int, stop: int, step: int, base: Shape) -> View:
    """Elements start, start + step, ... before stop along `dim`."""
    attrs: dict[str, Hashable] = {"start": start, "end": stop}
    if dim:
        attrs["dim"] = dim
    if step != 1:
        attrs["step"] = step
    count = max(0, -(-(stop - start) // step))
    shape = (*base[:dim], count, *base[dim + 1 :])
    return View("aten.slice.Tensor", attrs, shape, _scatter("aten.slice_scatter", attrs, base))


def selected(dim: int, index: int, base: Shape) -> View:
    """Element `index` along `dim`, which vanishes."""
    attrs = {"dim": dim, "index": index % base[dim]}
    return View("aten.select.int", attrs, (*base[:dim], *base[dim + 1 :]), _scatter("aten.select_scatter", attrs, base))


def strided(size: Shape, stride: Shape, offset: int, base: Shape) -> View:
    """as_strided of a base whose elements lie in row-major order."""
    attrs: dict[str, Hashable] = {"size": size, "stride": stride, "storage_offset": offset}
    return View("aten.as_strided", attrs, size, _scatter("aten.as_strided_scatter", attrs, base))


def _scatter(op: str, attrs: Mapping[str, Hashable], base: Shape) -> Callable[[Emit, Callable[[], int], int], int]:
    return lambda emit, old, new: emit(op, (old(), new), base, attrs)


def _bounds(start: int | None, stop: int | None, step: int, size: int) -> tuple[int, int, int]:
    """The bounds of a slice as torch reads them, within the dimension."""
    return slice(start, stop, step).indices(size)
