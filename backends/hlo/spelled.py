"""How integers and truth values that are known are written down: by what makes them, where lists would be long.

Positions count from a start, masks compare positions, and what repeats itself is repeated: proofs shrink what is
written so, where a list of numbers keeps its size.

    [5, 6, 7, ..]                       iota from 5 on
    [1, 1, 1, .., 0, 0]                 iota < 3
    [[1, 0, 0, ..], [1, 1, 0, ..], ..]  iota of rows >= iota of columns: a causal mask, or the part of one rank
    [[1, 1, 0, ..], [1, 1, 1, ..], ..]  between two such: a band
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

CONSTANT = "hlo.constant"
Numbers = npt.NDArray[np.int64]
LONG = 16
"""Axes of no more elements are written as lists: they keep their sizes in proofs."""
_TURNED = {"GE": "LT", "LE": "GT", "EQ": "NE"}
"""What is said of the elements that a comparison leaves out."""
_BY_ONE = {("GE", -1): "GT", ("LE", 1): "LT", ("LT", -1): "LE", ("GT", 1): "GE"}
"""What says without a number what these say with one: i - 1 >= j where i > j."""
_SWAPPED = {"LT": "gt", "LE": "ge", "GT": "lt", "GE": "le", "EQ": "eq", "NE": "ne"}
"""What compares the second operand with the first, by what compares the first with the second."""
_WITH_NUMBER = {
    "hlo.add": ("aten.add.Scalar", "other"),
    "hlo.subtract": ("aten.sub.Scalar", "other"),
    "hlo.maximum": ("aten.clamp", "min"),
    "hlo.minimum": ("aten.clamp", "max"),
}
"""What does to one operand and a number what an opcode does to two, and the attribute that is the number."""
_EITHER_WAY = _WITH_NUMBER.keys() - {"hlo.subtract"}
WITH_NUMBERS = frozenset(
    {*(name for name, _ in _WITH_NUMBER.values()), *(f"aten.{name}.Scalar" for name in _SWAPPED.values())}
)
"""The operators of `with_numbers`, which work element by element."""


@dataclass(frozen=True, slots=True)
class Spelled:
    """A node that makes what is known, and what it reads."""

    op: str
    read: tuple["Spelled", ...]
    shape: tuple[int, ...]
    dtype: str
    attrs: dict[str, Any] = field(hash=False, default_factory=dict)

    @property
    def name(self) -> str:
        """What people call the node."""
        return "mask" if self.dtype == "bool" else "positions" if self.shape else "constant"


def spelled(array: Numbers, dtype: str) -> Spelled:
    """What makes these numbers."""
    if max(array.shape, default=0) <= LONG or not array.size:
        return _listed(array, dtype)
    axes = [axis for axis, size in enumerate(array.shape) if size > 1 and _varies(array, axis)]
    core = array[tuple(slice(None) if axis in axes else 0 for axis in range(array.ndim))]
    made = _core(core, dtype) if max(core.shape, default=0) > LONG else _listed(core, dtype)
    return made if core.shape == array.shape else _spread(made, tuple(axes), array.shape)


def _varies(array: Numbers, axis: int) -> bool:
    return bool((array != np.take(array, [0], axis)).any())


def _core(array: Numbers, dtype: str) -> Spelled:
    """What makes numbers that vary along each axis."""
    if dtype != "bool":
        counts = array.ndim == 1 and array[0] >= 0 and bool((np.diff(array) == 1).all())
        return _iota(len(array), int(array[0]), dtype) if counts else _listed(array, dtype)
    found = {1: _threshold, 2: _mask}.get(array.ndim)
    return (found(array) if found else None) or _listed(array, dtype)


def _threshold(array: Numbers) -> Spelled | None:
    """The first ones true, the others false; or the other way."""
    (steps,) = np.diff(array).nonzero()
    if len(steps) != 1:
        return None
    op, attrs = f"aten.{'lt' if array[0] else 'ge'}.Scalar", {"other": int(steps[0]) + 1}
    return Spelled(op, (_iota(len(array), 0, "int32"),), array.shape, "bool", attrs)


def _mask(array: Numbers) -> Spelled | None:
    """Rows whose true elements, or whose false ones, are an interval that moves by one from row to row."""
    for turned in (False, True):
        band = _band(1 - array if turned else array)
        if band is not None:
            sides = [_compared(array.shape, end, (name, _TURNED[name])[turned]) for name, end in band.items()]
            joint = "hlo.or" if turned else "hlo.and"
            return sides[0] if len(sides) == 1 else Spelled(joint, tuple(sides), array.shape, "bool")
    return None


def _band(array: Numbers) -> dict[str, int] | None:
    """The comparisons, by direction, of which the elements fulfil all: i + end >= j, i + end <= j, or i + end == j."""
    rows, columns = array.shape
    places = np.arange(columns)[None] - np.arange(rows)[:, None]
    inside = places[array != 0]
    low, high = int(inside.min()), int(inside.max())
    if not np.array_equal(array != 0, (places >= low) & (places <= high)):
        return None
    if low == high:
        return {"EQ": low}
    ends = {"GE": high} if high < columns - 1 else {}
    return ends | ({"LE": low} if low > 1 - rows else {})


def _compared(shape: tuple[int, ...], end: int, direction: str) -> Spelled:
    """Whether row + end is to column as the direction says."""
    direction, end = (_BY_ONE[direction, end], 0) if (direction, end) in _BY_ONE else (direction, end)
    starts = max(end, 0), max(-end, 0)
    read = (_spread(_iota(shape[k], starts[k], "int32"), (k,), shape) for k in (0, 1))
    return Spelled("hlo.compare", tuple(read), shape, "bool", {"direction": direction})


def _iota(size: int, start: int, dtype: str) -> Spelled:
    attrs = {"size": (size,), "dim": 0, "dtype": dtype}
    return Spelled("hlo.iota", (), (size,), dtype, {**attrs, "start": start} if start else attrs)


def _spread(made: Spelled, axes: tuple[int, ...], shape: tuple[int, ...]) -> Spelled:
    return Spelled("hlo.broadcast", (made,), shape, made.dtype, {"size": shape, "dims": axes})


def _listed(array: Numbers, dtype: str) -> Spelled:
    values = tuple(int(each) for each in array.ravel())
    return Spelled(CONSTANT, (), array.shape, dtype, {"shape": array.shape, "values": values, "dtype": dtype})


def with_numbers(
    op: str, numbers: Sequence[int | None], attrs: Mapping[str, Any]
) -> tuple[str, int, dict[str, Any]] | None:  # fmt: skip
    """The operator that does the same to the one operand that is data: its name, the operand's place, and the numbers
    as attributes; None where there is no such.

    numbers: of each operand of integers, the number that all its elements are; None of one that is data.
    """
    match numbers:
        case (int(low), None, int(high)) if op == "hlo.clamp":
            return "aten.clamp", 1, {"min": low, "max": high}
        case (int(number), None) if op == "hlo.compare":
            return f"aten.{_SWAPPED[attrs['direction']]}.Scalar", 1, {"other": number}
        case (None, int(number)) if op == "hlo.compare":
            return f"aten.{attrs['direction'].lower()}.Scalar", 0, {"other": number}
        case (int(number), None) if op in _EITHER_WAY:
            name, key = _WITH_NUMBER[op]
            return name, 1, {key: number}
        case (None, int(number)) if op in _WITH_NUMBER:
            name, key = _WITH_NUMBER[op]
            return name, 0, {key: number}
    return None
