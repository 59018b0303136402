"""What all families of a file share: logical tensors and attributes; and how a share of a logical tensor is written."""

from difflib import get_close_matches
from typing import Any, NoReturn

from verdict.backends.text.values import Family, Varied, part, region
from verdict.backends.text.words import Line, label
from verdict.graph import Attrs, Logical, whole
from verdict.graph.limits import MOST_INSTANCES

MOST_LINES = 3 * MOST_INSTANCES
"""The most tensors, nodes with their attributes, calls and outputs that all devices of one file may have together."""
_WHOLE_PART = (0, 1)

Share = tuple[Any, Any, Any]
"""A tensor of a family: the logical tensor, the region and the part, each of them the same or Varied."""


class Tables:
    """What all families of a file share: the logical tensors by label, and attributes, each kept once."""

    __slots__ = ("_instances", "attrs", "logicals", "ordinals")

    def __init__(self) -> None:
        self._instances = 0
        self.logicals: list[Logical] = []
        self.ordinals: dict[tuple[str, int], int] = {}
        self.attrs: dict[str, Attrs] = {}

    def count(self, instances: int, line: Line) -> None:
        """Refuse a file whose devices together have more things than the format allows."""
        self._instances += instances
        if self._instances > MOST_LINES:
            line.fail(f"the lines up to here, each counted for every device of its family, are more than {MOST_LINES}")

    def one(self, attrs: Attrs) -> Attrs:
        """The one object for attributes that equal `attrs` in value and type."""
        return self.attrs.setdefault(repr(attrs), attrs)


def logical_of(line: Line, tables: Tables, name: str, ordinal: int) -> int:
    """The logical tensor of this name, by its number in the table."""
    found = tables.ordinals.get((name, ordinal))
    if found is None:
        _no_such_tensor(line, tables, name, ordinal)
    return found


def _no_such_tensor(line: Line, tables: Tables, name: str, ordinal: int) -> NoReturn:
    near = get_close_matches(name, {known for known, _ in tables.ordinals}, n=1)
    line.fail(
        f"there is no tensor {label(name, ordinal)} in the table of tensors",
        f"did you mean {near[0]}?" if near else "list it under `tensors` with its kind, dtype and shape",
    )


def lead(logical: Any) -> int:
    """The logical tensor of the first device."""
    found: int = logical.values[0] if isinstance(logical, Varied) else logical
    return found


def view(line: Line, family: Family, tables: Tables, logical: Any) -> Share:
    """The region and the part that follow a tensor; the whole where they are not written."""
    shape = tables.logicals[lead(logical)].shape
    place = region(line, family, shape) if line.peek() == "[" else whole(shape)
    addend = part(line, family) if line.peek() == "{" else _WHOLE_PART
    return logical, place, addend
