"""What attributes of these names may hold, whatever the operator: a file may hold anything.

Names mean the same kind of thing in all operators, as they do in PyTorch's schemas. What a rule makes by count, or by
size, is bounded here, before it makes anything.
"""

from collections.abc import Callable, Mapping
from math import inf, isfinite, prod
from typing import Any

from verdict.errors import ShapeError

MOST_COUNTED = 1 << 16
"""The most tensors that one node may read or make, and the most numbers in one tuple."""
MOST_ELEMENTS = 1 << 53
"""The most elements that sizes may multiply to, and the greatest place."""
OPEN_END = (1 << 63) - 1
"""What torch calls the end of a slice that has none."""
NO_NUMBERS = frozenset({("min", -inf), ("max", inf), ("ord", inf)})
"""Infinite attributes that make nothing infinite: bounds of a clamp that bound nothing, the norm that is a maximum."""
GREATEST_OFFSET = 1 << 31
"""A single offset or index must be less in size: numpy takes that of a diagonal as a C int."""


def require_kinds(name: str, attrs: Mapping[str, Any]) -> None:
    """ShapeError where an attribute holds what no operator can mean by its name."""
    for key, value in attrs.items():
        fits, expected = _KINDS.get("times" if key.endswith("_count") else key, _ANYTHING)
        if not fits(value, name):
            shown = repr(value) if len(repr(value)) <= 60 else repr(value)[:57] + "..."
            raise ShapeError(f"{name}: {key} is {shown}, it must be {expected}")


def _whole(value: Any, name: str) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= MOST_ELEMENTS


def _wholes(value: Any, name: str) -> bool:
    return isinstance(value, tuple | list) and len(value) <= MOST_COUNTED and all(_whole(one, name) for one in value)


def _sizes(value: Any, name: str) -> bool:
    """The sizes of one tensor; of `split`, those of pieces."""
    if name == "split":
        return _pieces_of(value, name)
    return _wholes(value, name) and prod(abs(size) or 1 for size in value) <= MOST_ELEMENTS


def _pieces_of(value: Any, name: str) -> bool:
    return _wholes(value, name) and sum(map(abs, value)) <= MOST_ELEMENTS


def _given_pieces(value: Any, name: str) -> bool:
    return _pieces_of(value, name) and min(value, default=0) >= 0


def _given_sizes(value: Any, name: str) -> bool:
    return _sizes(value, name) and min(value, default=0) >= 0


def _place(value: Any, name: str) -> bool:
    """Bounds of slices may be absent, those of ranges may be fractions."""
    return (
        _whole(value, name)
        or ("slice" in name and value in (None, OPEN_END))
        or (name.startswith(("aten.arange", "aten.linspace")) and isinstance(value, float))
    )


def _place_or_none(value: Any, name: str) -> bool:
    return value is None or _whole(value, name)


def _places(value: Any, name: str) -> bool:
    if _whole(value, name):
        return bool(abs(value) < GREATEST_OFFSET)
    return _wholes(value, name) and not name.startswith("aten.")


def _pieces(value: Any, name: str) -> bool:
    return _whole(value, name) or _wholes(value, name)


def _flags(value: Any, name: str) -> bool:
    return isinstance(value, tuple | list) and all(isinstance(one, int) for one in value)


def _words(value: Any, name: str) -> bool:
    return isinstance(value, tuple) and all(isinstance(word, str) for word in value)


def _divisor(value: Any, name: str) -> bool:
    return _whole(value, name) and value > 0


def _few(value: Any, name: str) -> bool:
    return _whole(value, name) and value in range(MOST_COUNTED + 1)


_ANYTHING = (lambda value, name: True), ""
_KINDS: Mapping[str, tuple[Callable[[Any, str], bool], str]] = {
    **dict.fromkeys(("size", "sizes", "shape"), (_sizes, f"a tuple of integers, of at most {MOST_ELEMENTS} elements")),
    **dict.fromkeys(
        ("input_sizes", "normalized_shape", "repeats"),
        (_given_sizes, f"a tuple of integers, of at most {MOST_ELEMENTS} elements"),
    ),
    "split_sizes": (_given_pieces, f"a tuple of integers, which add up to at most {MOST_ELEMENTS}"),
    **dict.fromkeys(("dims", "stride", "shifts", "pad"), (_wholes, "whole numbers")),
    **dict.fromkeys(("masks", "output_mask"), (_flags, "flags")),
    **dict.fromkeys(("start", "end", "stop", "step"), (_place, "a whole number")),
    **dict.fromkeys(("storage_offset", "padding_idx", "ignore_index"), (_place_or_none, "a whole number")),
    **dict.fromkeys(("offset", "index"), (_places, "a whole number")),
    **dict.fromkeys(
        ("length", "k", "diagonal", "num_weights", "group", "N", "C", "HxW", "before", "after", "blocks"),
        (_whole, "a whole number"),
    ),
    "times": (_few, f"a whole number from 0 to {MOST_COUNTED}"),
    "count": (_divisor, "a whole number above 0"),
    "split_size": (_pieces, "a whole number, or several"),
    "absent": (_words, "names"),
}


def is_infinite(name: str, value: object) -> bool:
    """Whether an attribute is, or has, a number that is infinite, or none. A word for something else is no number."""
    if isinstance(value, tuple | list):
        return any(is_infinite("", each) for each in value)
    return isinstance(value, float) and not isfinite(value) and (name, value) not in NO_NUMBERS
