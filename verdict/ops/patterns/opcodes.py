"""Opcodes of XLA that take parts and put them beside each other, look up rows and make positions.

Along what is cut, part and whole shrink together; what positions are clamped to, or dropped beyond, are the ends of
the axis.
"""

from collections.abc import Sequence
from dataclasses import replace

from verdict.graph import Shape
from verdict.ops.hlo import RULES
from verdict.ops.pattern import Pattern, Patterns
from verdict.ops.patterns.common import HALVES, at, named
from verdict.ops.patterns.lookups import ROWS
from verdict.ops.patterns.made import counted
from verdict.ops.patterns.parts import joined
from verdict.ops.rule import Atom, Attributes, Scale
from verdict.ops.shapes import make_axes

Bounds = Sequence[tuple[int, int]]
"""Of each dimension of a whole, where its part begins and ends."""
RULE = {rule.name: rule for rule in RULES}


def _part(shape: Shape, bounds: Bounds) -> tuple[list[Atom], list[list[tuple[str, ...]]], Pattern]:
    """The atoms of a whole and its part, the dimensions of both, and a pattern of no axes that ties and cuts them."""
    atoms, dims = named("d", shape)
    part, ties, cuts = list(dims), list[tuple[str, str]](), dict[str, tuple[int, ...]]()
    for k, (size, (start, stop)) in enumerate(zip(shape, bounds, strict=True)):
        if (start, stop) == (0, size):
            continue
        atoms[k] = Atom(f"d{k}", size, least=HALVES)
        atoms.append(Atom(f"y{k}", stop - start, least=HALVES))
        part[k] = (f"y{k}",)
        ties += [(f"d{k}", f"y{k}")] * (stop - start > 1)
        cuts[f"d{k}"] = (start, stop)
    return atoms, [list(dims), part], Pattern(make_axes((), (), ()), tuple(ties), cuts)


def _places(scale: Scale, bounds: Bounds, which: int) -> tuple[int, ...]:
    """Where parts begin, or end, at reduced shapes."""
    return tuple(at(scale, f"d{k}", each[which]) for k, each in enumerate(bounds))


def _slice(shapes: Sequence[Shape], attrs: Attributes) -> Pattern | None:
    bounds = list(zip(attrs["starts"], attrs["limits"], strict=True))
    if set(attrs["strides"]) - {1} or any(start == stop for start, stop in bounds):
        return None
    atoms, (whole, part), pattern = _part(shapes[0], bounds)

    def reduce(given: Attributes, scale: Scale) -> Attributes:
        return {**given, "starts": _places(scale, bounds, 0), "limits": _places(scale, bounds, 1)}

    return replace(pattern, axes=make_axes(atoms, (whole,), (part,)), reduce=reduce)


def _update(shapes: Sequence[Shape], attrs: Attributes) -> Pattern | None:
    shape, update = shapes
    bounds = [(start, start + size) for start, size in zip(attrs["starts"], update, strict=True)]
    if not all(update):
        return None
    atoms, (whole, part), pattern = _part(shape, bounds)

    def reduce(given: Attributes, scale: Scale) -> Attributes:
        return {**given, "starts": _places(scale, bounds, 0)}

    return replace(pattern, axes=make_axes(atoms, (whole, part), (whole,)), reduce=reduce)


def _pad(shapes: Sequence[Shape], attrs: Attributes) -> Pattern | None:
    """Around x stands one number, which is zero where the axes shrink."""
    shape, low, high = shapes[0], attrs["low"], attrs["high"]
    if any(attrs["interior"]) or min(*low, *high, 0) < 0 or not all(shape):
        return None
    bounds = [(before, before + size) for before, size in zip(low, shape, strict=True)]
    made = tuple(stop + after for (_, stop), after in zip(bounds, high, strict=True))
    atoms, (whole, part), pattern = _part(made, bounds)

    def reduce(given: Attributes, scale: Scale) -> Attributes:
        starts, stops = (_places(scale, bounds, which) for which in (0, 1))
        ends = tuple(at(scale, f"d{k}", size) for k, size in enumerate(made))
        return {**given, "low": starts, "high": tuple(e - s for e, s in zip(ends, stops, strict=True))}

    around = frozenset(pattern.cuts)
    return replace(pattern, axes=make_axes(atoms, (part, ()), (whole,)), reduce=reduce, around={1: around})


def _iota(shapes: Sequence[Shape], attrs: Attributes) -> Pattern | None:
    size, dim, start = attrs["size"], attrs["dim"], attrs.get("start", 0)
    if counted({"start": start, "end": start + size[dim], "dtype": attrs["dtype"]}) is None:
        return None
    atoms, dims = named("d", size)
    atoms[dim] = replace(atoms[dim], least=HALVES)

    def reduce(given: Attributes, scale: Scale) -> Attributes:
        begin = {"start": at(scale, f"d{dim}", start)} if start else {}
        return {**given, **begin, "size": scale.outputs[0]}

    cuts = {f"d{dim}": (start,)} if start else {}
    return Pattern(make_axes(atoms, (), (dims,)), cuts=cuts, made=f"d{dim}", reduce=reduce)


def _looked_up(name: str) -> Patterns:
    """One element, and all of the other dimensions, of an axis that single positions name."""
    rule = RULE[f"hlo.{name}"]

    def pattern(shapes: Sequence[Shape], attrs: Attributes) -> Pattern | None:
        x, starts = shapes[0], attrs["start_map"]
        dropped = attrs["collapsed"] if name == "gather" else attrs["inserted"]
        if len(starts) != 1 or starts[0] not in dropped or len(dropped) > 1:
            return None
        sizes = attrs.get("sizes", ())
        if any(size != x[k] for k, size in enumerate(sizes) if k not in (*starts, *attrs.get("batching", ()))):
            return None
        axes, row = rule.axes(shapes, attrs), f"x{starts[0]}"
        if any(atom.name.startswith("w") for atom in axes.atoms):
            return None
        atoms = tuple(replace(atom, least=min(ROWS, atom.size)) if atom.name == row else atom for atom in axes.atoms)
        return Pattern(replace(axes, atoms=atoms), along={1: row}, ends=frozenset({row}), reduce=rule.reduce)

    return pattern


LOOKUPS: dict[str, Patterns] = {
    f"hlo.{name}": _looked_up(name)
    for name in ("gather", "scatter", "scatter_add", "scatter_maximum", "scatter_minimum")
}

PATTERNS: dict[str, Patterns] = {
    "hlo.slice": _slice,
    "hlo.update_slice": _update,
    "hlo.pad": _pad,
    "hlo.concatenate": joined,
    "hlo.iota": _iota,
    **LOOKUPS,
}
