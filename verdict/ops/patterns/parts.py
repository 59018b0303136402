"""Parts of tensors and tensors made of parts: along the dimension that is cut, part and whole have one scale.

x [.., 4096, ..] -> slice 64:128 -> y [.., 64, ..]      64 and 128 stay cuts of x, y shrinks as x does
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise

from verdict.graph import Shape
from verdict.ops.pattern import Pattern, Patterns
from verdict.ops.patterns.common import HALVES, at, named
from verdict.ops.rule import Atom, Attributes, Scale
from verdict.ops.shapes import make_axes


def _bounds(attrs: Attributes, size: int) -> tuple[int, int] | None:
    """Start and stop of a slice or narrow without steps."""
    if "length" in attrs:
        start = attrs["start"] % size if attrs["start"] < 0 else attrs["start"]
        return start, start + attrs["length"]
    if attrs.get("step", 1) != 1:
        return None
    start, stop, _ = slice(attrs.get("start"), attrs.get("end"), 1).indices(size)
    return start, max(start, stop)


def _placed(attrs: Attributes, scale: Scale, bounds: tuple[int, int]) -> Attributes:
    start, stop = (at(scale, "x", place) for place in bounds)
    return {**attrs, "start": start, **({"length": stop - start} if "length" in attrs else {"end": stop})}


def _part(whole: int | None, part: int | None, made: int) -> Patterns:
    """whole, part: which input is the tensor that is cut, and which the part; None for the output. made: 0 if the
    output is the whole, 1 if it is the part.
    """

    def pattern(shapes: Sequence[Shape], attrs: Attributes) -> Pattern | None:
        shape = tuple(attrs["input_sizes"]) if whole is None else shapes[whole]
        along = attrs.get("dim", 0) % len(shape)
        bounds = _bounds(attrs, shape[along])
        if bounds is None or bounds[0] == bounds[1]:
            return None
        atoms, dims = named("d", shape)
        atoms[along] = Atom("x", shape[along], least=HALVES)
        length = Atom("y", bounds[1] - bounds[0], least=HALVES)
        large = (*dims[:along], ("x",), *dims[along + 1 :])
        small = (*dims[:along], ("y",), *dims[along + 1 :])
        inputs = [small if position == part else large for position in range(len(shapes))]
        axes = make_axes([*atoms, length], inputs, (small if made else large,))
        return Pattern(axes, (("x", "y"),), {"x": bounds}, reduce=lambda given, scale: _reduced(given, scale, bounds))

    def _reduced(attrs: Attributes, scale: Scale, bounds: tuple[int, int]) -> Attributes:
        placed = _placed(attrs, scale, bounds)
        return {**placed, "input_sizes": scale.outputs[0]} if "input_sizes" in attrs else placed

    return pattern


def _selected(shapes: Sequence[Shape], attrs: Attributes) -> Pattern | None:
    """The element that is taken of a dimension stays one, between two cuts."""
    shape = tuple(attrs.get("input_sizes", shapes[0]))
    along = attrs["dim"] % len(shape)
    index = attrs["index"] % max(shape[along], 1)
    atoms, dims = named("d", shape)
    rest = (*dims[:along], *dims[along + 1 :])
    is_backward = "input_sizes" in attrs
    inputs = (rest,) if is_backward else (dims, rest)[: len(shapes)]
    axes = make_axes(atoms, inputs, (dims if is_backward or len(shapes) == 2 else rest,))

    def reduce(given: Attributes, scale: Scale) -> Attributes:
        made = {"input_sizes": scale.outputs[0]} if is_backward else {}
        return {**given, **made, "index": at(scale, f"d{along}", index)}

    return Pattern(axes, cuts={f"d{along}": (index, index + 1)}, reduce=reduce)


def _unbound(shapes: Sequence[Shape], attrs: Attributes) -> Pattern | None:
    along = attrs.get("dim", 0) % len(shapes[0])
    atoms, dims = named("d", shapes[0], (along,))
    rest = (*dims[:along], *dims[along + 1 :])
    return Pattern(make_axes(atoms, (dims,), (rest,) * shapes[0][along]))


def _joined_axes(
    shape: Shape, along: int, lengths: Sequence[int]
) -> tuple[list[Atom], list[tuple[tuple[str, ...], ...]]]:
    """Atoms of the whole ("x") and of its pieces along one dimension, and the dimensions of both, the whole first."""
    atoms, dims = named("d", shape)
    atoms[along] = Atom("x", shape[along], least=HALVES)
    atoms += [Atom(f"y{k}", length, least=HALVES) for k, length in enumerate(lengths)]
    names = ("x", *(f"y{k}" for k in range(len(lengths))))
    return atoms, [(*dims[:along], (name,), *dims[along + 1 :]) for name in names]


def _ties(lengths: Sequence[int]) -> tuple[tuple[str, str], ...]:
    return tuple((f"y{k}", "x") for k, length in enumerate(lengths) if length > 1)


def _cuts(lengths: Sequence[int]) -> dict[str, tuple[int, ...]]:
    return {"x": (0, *accumulate(lengths))}


def joined(shapes: Sequence[Shape], attrs: Attributes) -> Pattern | None:
    """Tensors beside each other along one dimension."""
    if any(shape == (0,) for shape in shapes):
        return None
    along = attrs.get("dim", 0) % len(shapes[0])
    lengths = [shape[along] for shape in shapes]
    atoms, (whole, *pieces) = _joined_axes((*shapes[0][:along], sum(lengths), *shapes[0][along + 1 :]), along, lengths)
    return Pattern(make_axes(atoms, pieces, (whole,)), _ties(lengths), _cuts(lengths))


def _split(key: str) -> Patterns:
    def pattern(shapes: Sequence[Shape], attrs: Attributes) -> Pattern | None:
        along, given = attrs.get("dim", 0) % len(shapes[0]), attrs[key]
        size = shapes[0][along]
        lengths = given if isinstance(given, tuple) else [min(given, size - at) for at in range(0, size, given)]
        atoms, (whole, *pieces) = _joined_axes(shapes[0], along, lengths)
        return Pattern(make_axes(atoms, (whole,), pieces), _ties(lengths), _cuts(lengths), reduce=_shorter(lengths))

    def _shorter(lengths: Sequence[int]) -> Callable[[Attributes, Scale], Attributes]:
        def reduce(attrs: Attributes, scale: Scale) -> Attributes:
            places = [at(scale, "x", place) for place in (0, *accumulate(lengths))]
            made = tuple(stop - start for start, stop in pairwise(places))
            return {**attrs, key: made if isinstance(attrs[key], tuple) else made[0]}

        return reduce

    return pattern


def _padded(shapes: Sequence[Shape], attrs: Attributes) -> Pattern | None:
    """Zeros before and behind: what is padded is a part of what is made; with negative widths it is the whole."""
    shape, widths = shapes[0], _widths(attrs, len(shapes[0]))
    if attrs.get("value", 0) != 0 or any(min(width) < 0 < max(width) for width in widths):
        return None
    atoms, dims = named("d", shape)
    made, ties, cuts = list(dims), list[tuple[str, str]](), dict[str, tuple[int, ...]]()
    for k, (low, high) in enumerate(widths):
        size, other = shape[k], low + shape[k] + high
        if not (low or high):
            continue
        if not size or other < 1:
            return None
        atoms[k] = replace(atoms[k], least=HALVES)
        atoms.append(Atom(f"y{k}", other, least=HALVES))
        made[k] = (f"y{k}",)
        ties += [(f"d{k}", f"y{k}")] * (min(size, other) > 1)
        cuts[f"d{k}" if size > other else f"y{k}"] = abs(low), max(size, other) - abs(high)

    def reduce(given: Attributes, scale: Scale) -> Attributes:
        changed = list(widths)
        for k, (low, high) in enumerate(widths):
            if low or high:
                inner, whole = sorted((shape[k], low + shape[k] + high))
                of, sign = (f"y{k}", 1) if whole > shape[k] else (f"d{k}", -1)
                start, stop, end = (at(scale, of, to) for to in (abs(low), abs(low) + inner, whole))
                changed[k] = sign * start, sign * (end - stop)
        return _with_widths(given, changed)

    return Pattern(make_axes(atoms, (dims,), (tuple(made),)), tuple(ties), cuts, reduce=reduce)


def _widths(attrs: Attributes, rank: int) -> list[tuple[int, int]]:
    """How much is added before and behind each dimension."""
    if "pad" not in attrs:
        return [(attrs["before"], attrs["after"]) if k == attrs["dim"] % rank else (0, 0) for k in range(rank)]
    pad = attrs["pad"]
    given = [(pad[k], pad[k + 1]) for k in reversed(range(0, len(pad), 2))]
    return [(0, 0)] * (rank - len(given)) + given


def _with_widths(attrs: Attributes, widths: Sequence[tuple[int, int]]) -> Attributes:
    if "pad" not in attrs:
        before, after = widths[attrs["dim"] % len(widths)]
        return {**attrs, "before": before, "after": after}
    last = widths[len(widths) - len(attrs["pad"]) // 2 :]
    return {**attrs, "pad": tuple(width for both in reversed(last) for width in both)}


def _stacked(shapes: Sequence[Shape], attrs: Attributes) -> Pattern | None:
    rank = len(shapes[0]) + 1
    along = attrs.get("dim", 0) % rank
    atoms, dims = named("d", (*shapes[0][:along], len(shapes), *shapes[0][along:]), (along,))
    return Pattern(make_axes(atoms, ((*dims[:along], *dims[along + 1 :]),) * len(shapes), (dims,)))


WRITTEN: dict[str, Patterns] = {"narrow": _part(0, None, 1), "pad": _padded}
"""Operators of plans that are not recorded."""

PATTERNS: dict[str, Patterns] = {
    "aten.constant_pad_nd": _padded,
    "aten.slice.Tensor": _part(0, None, 1),
    "aten.narrow": _part(0, None, 1),
    "aten.slice_backward": _part(None, 0, 0),
    "aten.slice_scatter": _part(0, 1, 0),
    "aten.select.int": _selected,
    "aten.select_backward": _selected,
    "aten.select_scatter": _selected,
    "aten.unbind.int": _unbound,
    "aten.cat": joined,
    "aten.stack": _stacked,
    "aten.split.Tensor": _split("split_size"),
    "aten.split_with_sizes": _split("split_sizes"),
    "aten.split_with_sizes_copy": _split("split_sizes"),
}
