"""select-and-scatter, the gradient of pooling by a maximum: elements of a source go to where their window is greatest.

Of equal elements that is the first. The place is kept beside the greatest element while the places of the window are
gone through; then the source of each place is put back to where its windows see it.
"""

from itertools import product
from math import prod

import numpy as np

from verdict.backends.hlo.folds import Window, emit, padded, require_few, taken, windows_of
from verdict.backends.hlo.instruction import At, named
from verdict.backends.hlo.values import Known, Leaf, Refused, array_of
from verdict.backends.torch.trace import Value


def selected(at: At) -> Leaf:
    """What a select-and-scatter makes. Raises Refused."""
    if len(at.operands) != 3:
        raise Refused("it has not one array, one source and one initial value")
    x, source, begin = at.operands
    if not _takes_the_first_greatest(at) or at.reducer("scatter") != "add" or at.recording.scalar(begin) != 0:
        raise Refused("it is no sum, from 0 on, of what goes to the first greatest element of each window")
    windows = windows_of(at, len(x.shape))
    if tuple(one.made(n) for one, n in zip(windows, x.shape, strict=True)) != source.shape:
        raise Refused(f"its source of shape {list(source.shape)} is not what its window makes")
    require_few(prod(one.size for one in windows))
    least = at.recording.constant((float("-inf"),), (), x.dtype)
    around = padded(at, x, least, windows)
    places = list(product(*(range(one.size) for one in windows)))
    chosen, greatest = _number(0, source.shape), taken(at, around, places[0], windows, source.shape)
    for k, place in enumerate(places[1:], start=1):
        seen = taken(at, around, place, windows, source.shape)
        stays = _compared(at, "GE", greatest, seen)
        chosen = _either(at, stays, chosen, _number(k, source.shape))
        greatest = _either(at, stays, greatest, seen)
    made: Leaf | None = None
    nothing = emit(at, "broadcast", (begin,), source.shape, size=source.shape, dims=())
    for k, place in enumerate(places):
        here = _compared(at, "EQ", chosen, _number(k, source.shape))
        piece = _put_back(at, _either(at, here, source, nothing), begin, place, windows)
        made = piece if made is None else emit(at, "add", (made, piece), x.shape)
    return made if made is not None else x


def _takes_the_first_greatest(at: At) -> bool:
    """Whether the computation that selects keeps the first of two elements where it is not less."""
    found = at.module.computations.get(at.each.attrs.get("select", "").lstrip("%"))
    if found is None or found.root.opcode != "compare" or len(found.instructions) != 3:
        return False
    order = {each.name: each.literal for each in found.instructions if each.opcode == "parameter"}
    sides = [order.get(name) for name in found.root.operands]
    attrs = found.root.attrs
    return sides == ["0", "1"] and attrs.get("direction") == "GE" and attrs.get("type", "") != "TOTALORDER"


def _put_back(at: At, source: Leaf, begin: Leaf, place: tuple[int, ...], windows: tuple[Window, ...]) -> Leaf:
    """An array that has, where windows see one of their places, what their source is, and else the initial value."""
    shape = array_of(at.each).dims
    low = tuple(k * one.dilation - one.low for k, one in zip(place, windows, strict=True))
    ends = zip(low, source.shape, windows, shape, strict=True)
    high = tuple(size - start - ((n - 1) * one.stride + 1) for start, n, one, size in ends)
    interior = tuple(one.stride - 1 for one in windows)
    return emit(at, "pad", (source, begin), shape, low=low, high=high, interior=interior)


def _number(k: int, shape: tuple[int, ...]) -> Leaf:
    return Known(np.full(shape, k, dtype=np.int64), "int32")


def _compared(at: At, direction: str, one: Leaf, other: Leaf) -> Leaf:
    attrs = {"direction": direction}
    return at.recording.emit("hlo.compare", (one, other), Value(one.shape, "bool"), named(at.each), attrs)


def _either(at: At, mask: Leaf, one: Leaf, other: Leaf) -> Leaf:
    return at.recording.emit("hlo.select", (mask, one, other), Value(one.shape, one.dtype), named(at.each), {})
