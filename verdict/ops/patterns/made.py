"""Tensors that are made of attributes: their sizes stand there, and positions that are counted from a start.

arange(8192)         positions along the axis that it makes: the first ones of the full positions
arange(1024, 2048)   coordinates 1024:2048 along an axis, which shrink as it does
arange(0, 128, 2)    the first of these numbers, as they are
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from verdict.graph import Shape
from verdict.ops.aten import RULES
from verdict.ops.domain import of_type
from verdict.ops.integers import SIGNIFICANT
from verdict.ops.pattern import Pattern, Patterns
from verdict.ops.patterns.common import at, named
from verdict.ops.rule import Atom, Attributes, Scale
from verdict.ops.shapes import is_integer, make_axes
from verdict.ops.types import kind

POSITIONS = 4
"""The fewest positions in the order of which a mask may be seen."""
RULE = {rule.name: rule for rule in RULES}


def _sized(shapes: Sequence[Shape], attrs: Attributes) -> Pattern | None:
    """A tensor of one value. What it reads for its kind only has no influence."""
    atoms, made = named("d", tuple(attrs["size"]))
    read = [named(f"x{k}_", shape) for k, shape in enumerate(shapes)]
    axes = make_axes([*atoms, *(atom for more, _ in read for atom in more)], [dims for _, dims in read], (made,))
    return Pattern(axes, reduce=lambda given, scale: {**given, "size": scale.outputs[0]})


def counted(attrs: Attributes) -> tuple[int, int, int] | None:
    """start, end, step of an arange of whole numbers upwards, all of which its type holds."""
    found = start, end, step = (attrs.get("start", 0), attrs["end"], attrs.get("step", 1))
    held = of_type(kind(attrs.get("dtype")))
    upwards = all(is_integer(value) for value in found) and step > 0 and start >= 0
    exact = SIGNIFICANT.get(str(attrs.get("dtype")).removeprefix("torch."))
    if exact is not None and end > 1 << exact:
        return None
    return found if upwards and (held is None or held.holds(max(end - 1, 0))) else None


def _arange(name: str) -> Patterns:
    def pattern(shapes: Sequence[Shape], attrs: Attributes) -> Pattern | None:
        found = counted(attrs)
        if found is None:
            return None
        start, _, step = found
        axes = RULE[name].axes(shapes, attrs)
        (size,) = axes.output_shapes[0]
        axes = make_axes((Atom("y", size, least=2),), (), ((("y",),),))

        def reduce(given: Attributes, scale: Scale) -> Attributes:
            (count,) = scale.outputs[0]
            begin = at(scale, "y", start) if step == 1 else start
            changed: dict[str, Any] = {"start": begin} if "start" in given else {}
            return {**given, **changed, "end": begin + count * step}

        return Pattern(axes, (), {"y": (start,)} if start and step == 1 else {}, {}, "y", reduce)

    return pattern


def _triangle(shapes: Sequence[Shape], attrs: Attributes) -> Pattern | None:
    """Rows and columns are positions of one axis."""
    if attrs.get("diagonal", 0) not in (-1, 0, 1):
        return None
    atoms, dims = named("d", shapes[0])
    rank = len(atoms)
    atoms[-2:] = [replace(atom, least=POSITIONS) for atom in atoms[-2:]]
    return Pattern(make_axes(atoms, (dims,), (dims,)), ((f"d{rank - 2}", f"d{rank - 1}"),))


_ARANGES = ("aten.arange", "aten.arange.start", "aten.arange.start_step")
_SIZED = ("full", "zeros", "ones", "new_full", "new_zeros", "new_ones", "new_empty", "empty.memory_format")

PATTERNS: dict[str, Patterns] = {
    **{name: _arange(name) for name in _ARANGES},
    **{f"aten.{name}": _sized for name in _SIZED},
    "aten.triu": _triangle,
    "aten.tril": _triangle,
}
