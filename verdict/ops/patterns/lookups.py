"""Lookups: the integers that say where name elements of the axis that is looked up in.

Row `padding_idx`, and a class `ignore_index` that is one of the classes, is an element apart from all others: it stays
one, between two cuts, and the first one stays the first.
"""

from collections.abc import Sequence
from typing import Any

from verdict.graph import Shape
from verdict.ops.pattern import Pattern, Patterns
from verdict.ops.patterns.common import at, named
from verdict.ops.rule import Atom, Attributes, Dim, Scale
from verdict.ops.shapes import make_axes

ROWS = 2
"""The fewest elements that are left to look up."""


def _apart(atom: str, element: int, size: int) -> dict[str, Any]:
    """What a pattern says of an element of an axis of `size` that is apart from all others; nothing of what is none."""
    if not 0 <= element < size:
        return {}
    return {"single": {atom: element}, "cuts": {atom: (element, element + 1)} if element else {}}


def _embedding(shapes: Sequence[Shape], attrs: Attributes) -> Pattern | None:
    (rows, features), ids = shapes
    places, dims = named("b", ids)
    row = Atom("v", rows, least=ROWS)
    axes = make_axes([*places, row, Atom("h", features)], ((("v",), ("h",)), dims), ((*dims, ("h",)),), keep=("v",))
    cuts = _apart("v", attrs.get("padding_idx", -1), rows).get("cuts", {})

    def reduce(given: Attributes, scale: Scale) -> Attributes:
        return {**given, "padding_idx": at(scale, "v", given["padding_idx"])} if cuts else given

    return Pattern(axes, along={1: "v"}, cuts=cuts, reduce=reduce)


def _embedding_backward(shapes: Sequence[Shape], attrs: Attributes) -> Pattern | None:
    dy, ids = shapes
    places, dims = named("b", ids)
    row = Atom("v", attrs["num_weights"], least=ROWS)
    axes = make_axes([*places, row, Atom("h", dy[-1])], ((*dims, ("h",)), dims), ((("v",), ("h",)),), keep=("v",))

    def reduce(given: Attributes, scale: Scale) -> Attributes:
        padding = at(scale, "v", given["padding_idx"])
        return {**given, "num_weights": scale.outputs[0][0], "padding_idx": padding}

    return Pattern(axes, along={1: "v"}, reduce=reduce, **_apart("v", attrs["padding_idx"], attrs["num_weights"]))


def _nll(first: int) -> Patterns:
    """first: the position of the scores; the targets follow, then weights of classes, then single numbers."""

    def pattern(shapes: Sequence[Shape], attrs: Attributes) -> Pattern | None:
        scores, target = shapes[first], shapes[first + 1]
        if len(scores) != 2:
            return None
        rows: tuple[Dim, ...] = (("n",),)
        each = rows if attrs["reduction"] == 0 else ()
        more: list[tuple[Dim, ...]] = [(("c",),) if shape else () for shape in shapes[first + 2 :]]
        inputs = [*([each] if first else []), (("n",), ("c",)), rows, *more]
        outputs = (((("n",), ("c",)),)) if first else (each, ())
        axes = make_axes((Atom("n", target[0]), Atom("c", scores[1], least=ROWS)), inputs, outputs, keep=("c",))
        apart = _apart("c", attrs["ignore_index"], scores[1])
        return Pattern(axes, along={first + 1: "c"}, reduce=reduce, **apart)

    def reduce(given: Attributes, scale: Scale) -> Attributes:
        return {**given, "ignore_index": at(scale, "c", given["ignore_index"])}

    return pattern


def _gather(shapes: Sequence[Shape], attrs: Attributes) -> Pattern | None:
    x, index = shapes
    along = attrs["dim"] % len(x)
    if any(k != along and size != index[k] for k, size in enumerate(x)):
        return None
    atoms, dims = named("d", index)
    table = Atom("x", x[along], least=ROWS)
    read = (*dims[:along], ("x",), *dims[along + 1 :])
    return Pattern(make_axes([*atoms, table], (read, dims), (dims,), keep=("x",)), along={1: "x"})


def _scattered(shapes: Sequence[Shape], attrs: Attributes) -> Pattern | None:
    """What is put, or added, at positions along one dimension; the source, where there is one, has their shape."""
    x, index, *source = shapes
    along = attrs["dim"] % len(x)
    if any(k != along and size != index[k] for k, size in enumerate(x)) or any(each != index for each in source):
        return None
    atoms, dims = named("d", index)
    row = Atom("x", x[along], least=ROWS)
    made = (*dims[:along], ("x",), *dims[along + 1 :])
    axes = make_axes([*atoms, row], (made, dims, *(dims for _ in source)), (made,), keep=("x",))
    return Pattern(axes, along={1: "x"})


def _selected(shapes: Sequence[Shape], attrs: Attributes) -> Pattern | None:
    x, index = shapes
    along = attrs["dim"] % len(x)
    if len(index) != 1:
        return None
    atoms, dims = named("d", x)
    atoms.append(Atom("i", index[0]))
    made = (*dims[:along], ("i",), *dims[along + 1 :])
    return Pattern(make_axes(atoms, (dims, (("i",),)), (made,), keep=(f"d{along}",)), along={1: f"d{along}"})


def _indexed(shapes: Sequence[Shape], attrs: Attributes) -> Pattern | None:
    """Tensors of positions for the first dimensions, all of one shape."""
    x, *indices = shapes
    if attrs.get("masks") or attrs.get("absent") or len(set(indices)) != 1:
        return None
    atoms, dims = named("d", x)
    places, spread = named("i", indices[0])
    made = (*spread, *dims[len(indices) :])
    keep = [f"d{k}" for k in range(len(indices))]
    axes = make_axes([*atoms, *places], (dims, *(spread for _ in indices)), (made,), keep=keep)
    return Pattern(axes, along={1 + k: f"d{k}" for k in range(len(indices))})


def _put(shapes: Sequence[Shape], attrs: Attributes) -> Pattern | None:
    """At a mask, or at tensors of positions for the first dimensions, all of one shape."""
    x, *indices, values = shapes
    if attrs.get("absent"):
        return None
    atoms, dims = named("d", x)
    if attrs.get("masks"):
        read: list[Sequence[Dim]] = [dims, dims[: len(indices[0])], [() for _ in values]]
        return Pattern(make_axes(atoms, read, (dims,)))
    if len(set(indices)) != 1:
        return None
    places, spread = named("i", indices[0])
    made = [*spread, *dims[len(indices) :]]
    full = (*indices[0], *x[len(indices) :])
    missing = len(full) - len(values)
    given = [() if size == 1 else made[missing + k] for k, size in enumerate(values)]
    keep = [f"d{k}" for k in range(len(indices))]
    axes = make_axes([*atoms, *places], (dims, *(spread for _ in indices), given), (dims,), keep=keep)
    return Pattern(axes, along={1 + k: f"d{k}" for k in range(len(indices))})


PATTERNS: dict[str, Patterns] = {
    "aten.embedding": _embedding,
    "aten.embedding_dense_backward": _embedding_backward,
    "aten.nll_loss_forward": _nll(0),
    "aten.nll_loss_backward": _nll(1),
    "aten.gather": _gather,
    **{f"aten.{name}": _scattered for name in ("scatter.src", "scatter.value", "scatter_add")},
    "aten.index_select": _selected,
    "aten.index.Tensor": _indexed,
    "aten.index_put": _put,
}
