"""Reading values, intervals and parts: what is the same on all devices of a family, and what differs by device.

A piece that differs is `Varied`: one value for each device of the family. See docs/plan-format.md, "Families".
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, nan, prod
from typing import Any

from verdict.backends.text.words import RESERVED, Line
from verdict.graph import Interval, Region, Shape

DEEPEST = 16
"""How deep tuples may be nested in a value."""

_DIGITS = frozenset("0123456789-+")

_CONSTANTS: Mapping[str, Hashable] = {"None": None, "True": True, "False": False, "inf": inf, "nan": nan}


@dataclass(frozen=True, slots=True)
class Varied:
    """One value for each device of a family."""

    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Family:
    """Devices with one program text, and where each of them lies on the axes that the text may use.

    places: axis -> for each device, its coordinate on that axis. sizes: axis -> its size.
    groups: axis -> for each device, the devices that differ from it on that axis only, in its order.
    """

    devices: tuple[int, ...]
    sizes: Mapping[str, int]
    places: Mapping[str, tuple[int, ...]]
    groups: Mapping[str, tuple[tuple[int, ...], ...]]

    @staticmethod
    def of(devices: tuple[int, ...], mesh: Sequence[tuple[str, int]], total: int) -> "Family":
        """The family of `devices` on the axes of `mesh` after the first, where they make up `total` devices."""
        axes = list(mesh[1:])
        if prod(size for _, size in axes) != total:
            axes = []
        sizes = {"each": len(devices)}
        places = {"each": tuple(range(len(devices)))}
        groups = {"each": (devices,) * len(devices)}
        stride = total
        for axis, size in axes:
            stride //= size
            if axis in RESERVED:
                continue
            sizes[axis] = size
            places[axis] = tuple(device // stride % size for device in devices)
            groups[axis] = tuple(
                tuple(device + (k - device // stride % size) * stride for k in range(size)) for device in devices
            )
        return Family(devices, sizes, places, groups)

    def place(self, axes: tuple[str, ...]) -> tuple[int, ...]:
        """For each device its position along the product of `axes`, the first of them the slowest."""
        positions = (0,) * len(self.devices)
        for axis in axes:
            positions = tuple(p * self.sizes[axis] + k for p, k in zip(positions, self.places[axis], strict=True))
        return positions

    def size(self, axes: tuple[str, ...]) -> int:
        """The size of the product of `axes`."""
        return prod(self.sizes[axis] for axis in axes)

    def group(self, axes: tuple[str, ...]) -> tuple[tuple[int, ...], ...]:
        """For each device, the devices that differ from it on `axes` only, in the order of their product."""
        if len(axes) == 1:
            return self.groups[axes[0]]
        strides = {axis: self._stride(axis) for axis in axes}
        found = []
        for at, device in enumerate(self.devices):
            members = [device - sum(self.places[axis][at] * strides[axis] for axis in axes)]
            for axis in axes:
                members = [member + k * strides[axis] for member in members for k in range(self.sizes[axis])]
            found.append(tuple(members))
        return tuple(found)

    def _stride(self, axis: str) -> int:
        return self.groups[axis][0][1] - self.groups[axis][0][0] if self.sizes[axis] > 1 else 0


def gather(parts: Sequence[Any], devices: int) -> Any:
    """A tuple of pieces of which some may be Varied: the tuple, or one tuple for each device."""
    if not any(isinstance(part, Varied) for part in parts):
        return tuple(parts)
    columns = [part.values if isinstance(part, Varied) else (part,) * devices for part in parts]
    return Varied(tuple(zip(*columns, strict=True)))


def value(line: Line, family: Family, depth: int = 0) -> Any:
    """The value that comes next: a constant or Varied."""
    token = line.peek()
    first = token[:1]
    if depth > DEEPEST:
        line.fail(f"a value is nested more than {DEEPEST} deep")
    if first in _DIGITS:
        return line.number_here()
    if first == '"':
        return line.name("a string")
    if token in _CONSTANTS:
        line.take()
        return _CONSTANTS[token]
    if token == "(":
        return _tuple(line, family, depth)
    if token == "<":
        return Varied(listed(line, family, lambda: value(line, family, depth + 1)))
    if token == "self":
        line.take()
        shift = _offset(line)
        return Varied(tuple(device + shift for device in family.devices))
    return _by_axes(line, family)


def _tuple(line: Line, family: Family, depth: int) -> Any:
    line.expect("(")
    items: list[Any] = []
    while not line.skip(")"):
        items.append(value(line, family, depth + 1))
        if not line.skip(","):
            if len(items) == 1:
                line.fail(f"expected a comma after the only item of a tuple, found {line.found()}")
            line.expect(")")
            break
    return gather(items, len(family.devices))


def listed(line: Line, family: Family, one: Callable[[], Any]) -> tuple[Any, ...]:
    """`<a | b | ...>`: what `one` reads, once for each device."""
    line.expect("<")
    items = [one()]
    while line.skip("|"):
        items.append(one())
    line.expect(">")
    if len(items) != len(family.devices):
        line.fail(f"expected {len(family.devices)} values between < and >, one for each device, found {len(items)}")
    if any(isinstance(item, Varied) for item in items):
        line.fail("expected plain values between < and >, found one that differs by device")
    return tuple(items)


def _offset(line: Line) -> int:
    token = line.peek()
    return line.signed("a distance") if token[:1] in ("+", "-") else 0


def _axes(line: Line, family: Family) -> tuple[str, ...]:
    """One axis or a product of axes, up to a `*` that a number follows."""
    found = [_axis(line, family)]
    while line.peek() == "*" and not line.tokens[line.at + 1][:1].isdecimal():
        line.take()
        found.append(_axis(line, family))
    if len(set(found)) != len(found) or ("each" in found and len(found) > 1):
        line.fail(f"expected different axes of the mesh, found {'*'.join(found)}")
    return tuple(found)


def _axis(line: Line, family: Family) -> str:
    token = line.peek()
    if token not in family.sizes:
        usable = ", ".join(family.sizes)
        line.fail(
            f"expected a value, found {line.found()}",
            f"axes of the devices here: {usable}; strings need quotes",
        )
    return line.take()


def _by_axes(line: Line, family: Family) -> Varied:
    axes = _axes(line, family)
    if not line.skip("*"):
        return Varied(family.group(axes))
    factor = line.integer("a factor")
    shift = _offset(line)
    return Varied(tuple(place * factor + shift for place in family.place(axes)))


def ordinals(line: Line, family: Family) -> tuple[int, ...]:
    """`<2 | 4>` or `<tp*2+2>`: for each device which of the logical tensors of one name."""
    if line.tokens[line.at + 1].isdecimal():
        return listed(line, family, lambda: line.integer("which of the tensors of this name"))
    line.expect("<")
    found = value(line, family)
    line.expect(">")
    if not isinstance(found, Varied) or any(type(item) is not int for item in found.values):
        line.fail("expected a whole number for each device between < and >")
    return found.values


def region(line: Line, family: Family, shape: Shape) -> Region | Varied:
    """`[...]`, one interval for each axis of `shape`."""
    line.expect("[")
    intervals: list[Any] = []
    while not line.skip("]"):
        if len(intervals) == len(shape):
            line.fail(f"expected {len(shape)} intervals, found more")
        intervals.append(_interval(line, family, shape[len(intervals)]))
        if line.peek() != "]":
            line.expect(",")
    if len(intervals) != len(shape):
        line.fail(f"expected {len(shape)} intervals, found {len(intervals)}")
    found: Region | Varied = gather(intervals, len(family.devices))
    return found


def _interval(line: Line, family: Family, size: int) -> Any:
    if line.skip(":"):
        return (0, size)
    if line.peek() == "<":
        return Varied(listed(line, family, lambda: _bounds(line)))
    if line.peek()[:1] in _DIGITS:
        return _bounds(line)
    axes = _axes(line, family)
    pieces = family.size(axes)
    if size % pieces:
        line.fail(
            f"an axis of {size} elements does not split evenly into {pieces}",
            "write each device's interval: <0:3|3:5>",
        )
    step = size // pieces
    return Varied(tuple((place * step, (place + 1) * step) for place in family.place(axes)))


def _bounds(line: Line) -> Interval:
    start = line.signed("the start of an interval")
    line.expect(":")
    return start, line.signed("the end of an interval")


def part(line: Line, family: Family) -> tuple[int, int] | Varied:
    """`{...}`: which addend of how many."""
    line.expect("{")
    found: tuple[int, int] | Varied
    if line.peek() == "<":
        found = Varied(listed(line, family, lambda: _addend(line)))
    elif line.peek()[:1] in _DIGITS:
        found = _addend(line)
    else:
        axes = _axes(line, family)
        found = Varied(tuple((place, family.size(axes)) for place in family.place(axes)))
    line.expect("}")
    return found


def _addend(line: Line) -> tuple[int, int]:
    which = line.signed("the number of an addend")
    line.expect("/")
    return which, line.signed("how many addends there are")
