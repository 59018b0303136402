"""Writing what differs by device in the shortest form that says the same. The counterpart of values.py."""

from collections.abc import Iterator, Sequence
from itertools import permutations
from numbers import Integral
from typing import Any

from verdict.backends.text.values import DEEPEST, Family
from verdict.backends.text.words import quoted
from verdict.graph import Region, Shape


class Spelling:
    """The forms for one family. Forms are tried from the most telling on: axes, then constants, then lists.

    Axes are tried from the fastest to the slowest, then products of two, then `each`.
    """

    def __init__(self, family: Family) -> None:
        self._family = family
        names = [axis for axis in reversed(list(family.sizes)) if axis != "each" and family.sizes[axis] > 1]
        names = [axis for axis in names if quoted(axis) == axis]
        products = [(axis,) for axis in names] + list(permutations(names, 2))
        if len(family.devices) > 1:
            products.append(("each",))
        self._axes = [("*".join(axes), family.size(axes), family.place(axes)) for axes in products]
        self._groups = [("*".join(axes), family.group(axes)) for axes in products]
        self._intervals: dict[tuple[Any, ...], str] = {}

    def view(self, regions: Sequence[Region], parts: Sequence[tuple[int, int]], shape: Shape) -> str:
        """What stands behind a tensor at its first mention: nothing where it is the whole."""
        text = ""
        if any(len(region) != len(shape) for region in regions):
            raise ValueError(f"a region of {len(regions[0])} intervals is stated for a tensor of {len(shape)} axes")
        intervals = [self._interval(tuple(region[axis] for region in regions), size) for axis, size in enumerate(shape)]
        if any(interval != ":" for interval in intervals):
            text = f"[{', '.join(intervals)}]"
        addends = self._part(parts)
        return text + (f"{{{addends}}}" if addends else "")

    def _interval(self, bounds: tuple[tuple[int, int], ...], size: int) -> str:
        key = (bounds, size)
        found = self._intervals.get(key)
        if found is None:
            found = self._intervals[key] = next(self._interval_forms(bounds, size))
        return found

    def _interval_forms(self, bounds: tuple[tuple[int, int], ...], size: int) -> Iterator[str]:
        if all(bound == (0, size) for bound in bounds):
            yield ":"
        for text, pieces, places in self._axes:
            step, rest = divmod(size, pieces)
            if not rest and all(
                bound == (place * step, place * step + step) for bound, place in zip(bounds, places, strict=True)
            ):
                yield text
        spelled = [f"{int(start)}:{int(stop)}" for start, stop in bounds]
        yield spelled[0] if len(set(bounds)) == 1 else f"<{' | '.join(spelled)}>"

    def _part(self, parts: Sequence[tuple[int, int]]) -> str:
        if all(part == (0, 1) for part in parts):
            return ""
        for text, pieces, places in self._axes:
            if all(part == (place, pieces) for part, place in zip(parts, places, strict=True)):
                return text
        spelled = [f"{int(which)}/{int(count)}" for which, count in parts]
        return spelled[0] if len(set(spelled)) == 1 else f"<{' | '.join(spelled)}>"

    def value(self, name: str, values: Sequence[Any]) -> str:
        """The value of an attribute, given for each device."""
        if name == "ranks":
            found = self._group(values)
            if found:
                return found
        first = values[0]
        if all(value is first for value in values):
            return literal(first)
        spelled = [literal(value) for value in values]
        if len(set(spelled)) == 1:
            return spelled[0]
        if all(type(value) is int for value in values):
            return self._integer(values) or f"<{' | '.join(spelled)}>"
        return f"<{' | '.join(spelled)}>"

    def ordinals(self, numbers: Sequence[int]) -> str:
        """Which of the logical tensors of one name each device has; nothing where it is the same."""
        if len(set(numbers)) == 1:
            return ""
        return f"<{self._integer(numbers) or ' | '.join(map(str, numbers))}>"

    def _group(self, values: Sequence[Any]) -> str:
        devices = self._family.devices
        if any(type(value) is not tuple or any(type(rank) is not int for rank in value) for value in values):
            return ""
        if all(value == (device,) for value, device in zip(values, devices, strict=True)):
            return "(self,)"
        return next((text for text, groups in self._groups if all(map(tuple.__eq__, values, groups))), "")

    def _integer(self, values: Sequence[int]) -> str:
        shift = values[0] - self._family.devices[0]
        if all(value == device + shift for value, device in zip(values, self._family.devices, strict=True)):
            return "self" + (f"{shift:+d}" if shift else "")
        for text, _, places in self._axes:
            pairs = sorted(set(zip(places, values, strict=True)))
            if len(pairs) < 2 or pairs[0][0] == pairs[1][0]:
                continue
            factor, rest = divmod(pairs[1][1] - pairs[0][1], pairs[1][0] - pairs[0][0])
            start = pairs[0][1] - pairs[0][0] * factor
            if factor > 0 and not rest and all(value == place * factor + start for place, value in pairs):
                return f"{text}*{factor}" + (f"{start:+d}" if start else "")
        return ""


def literal(value: Any, depth: int = 0) -> str:
    """A constant as text. Raises ValueError for what is no number, string, truth value, None or tuple of these."""
    if value is None or value is True or value is False:
        return str(value)
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, tuple) and depth < DEEPEST:
        items = [literal(item, depth + 1) for item in value]
        return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, float):
        return repr(float(value))
    raise ValueError(f"a {type(value).__name__} cannot be written as a value")


def _string(value: str) -> str:
    spelled = quoted(value)
    return spelled if spelled[:1] == '"' else f'"{spelled}"'
