"""Rows of stacked arrays: of what is given they are inputs, of what is computed element by element they are computed.

A turn of a loop takes some row of an array; what is done to all rows alike, as an optimizer does to stacked weights, is
done to any row.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from verdict.backends.hlo.opcodes import ELEMENTWISE
from verdict.backends.hlo.spelled import WITH_NUMBERS
from verdict.backends.hlo.values import Counted, Known, Leaf, Made, Place, Recording, Refused
from verdict.backends.torch.trace import Value
from verdict.graph import Region

POINTWISE = WITH_NUMBERS | {f"hlo.{each.replace('-', '_')}" for each in ELEMENTWISE | {"compare", "convert", "divide"}}
"""Operators that work element by element."""
MOST_DEEP = 200
"""How many operators, one after the other, rows are followed through."""


class Share(NamedTuple):
    """Which part of an array each device holds. shape: in the program for one device."""

    name: str
    shape: tuple[int, ...]
    regions: tuple[Region, ...]


Shares = Sequence[Sequence[Share | None]]
"""Of each loop of a program, in the order in which they are met, the share of each element of its state."""


class Rows:
    """Rows of the arrays of one device. given: an input by its name, like a value, held as a share says.

    stacked: dimensions and lengths along which rows were taken or written.
    """

    def __init__(self, recording: Recording, given: Callable[[str, Made, Share], Made]) -> None:
        self.shares: dict[int, Share] = {}
        self.stacked: set[tuple[int, int]] = set()
        self._recording = recording
        self._given = given
        self._found: dict[tuple[int, str], Leaf] = {}
        self._arrays: dict[int, tuple[Made, Place]] = {}
        self._deep = 0

    def begin(self) -> None:
        """Another loop begins: what its turns take is of its own."""
        self._found = {}

    def taken(self, array: Made, place: Place, name: str) -> Leaf:
        """A row: the same input wherever the same rows of the same array are taken. name: of the nodes that make it.
        Raises Refused.
        """
        key = array.number, place.words
        if key not in self._found:
            if self._deep >= MOST_DEEP:
                raise Refused("a turn takes a row of what is computed in too many steps")
            self._deep += 1
            try:
                self._found[key] = self._taken(array, place, name)
            finally:
                self._deep -= 1
            if isinstance(made := self._found[key], Made):
                self._arrays[made.number] = array, place
        return self._found[key]

    def copied(self, row: Leaf, place: Place) -> Made | None:
        """The array whose rows are written to these places, which are all; None where there is none."""
        value = row
        while isinstance(value, Made) and value.number not in self._arrays:
            step = self._recording.maker(value)
            if step is None or step.op != "hlo.reshape":
                return None
            (value,) = self._recording.read(step)
        if not isinstance(value, Made) or value.shape != row.shape or not place.is_all:
            return None
        array, taken = self._arrays[value.number]
        return array if taken == place else None

    def written(self, array: Made, place: Place) -> None:
        """A row of an array may be written. Raises Refused."""
        share = self.shares.get(array.number)
        if share is None:
            raise Refused("a turn writes to what is computed")
        _require_whole(share, place)
        self.stacked.update((dim, length) for dim, (_, length) in place.cut.items())

    def any_of(self, value: Leaf, share: Share) -> tuple[Leaf, Share]:
        """Any row of what all rows alike are made of, and how it is held; the value itself where there is none."""
        for dim, length in sorted(self.stacked):
            if isinstance(value, Known) or value.shape[dim : dim + 1] != (length,):
                continue
            place = Place(f"any along {dim}", {dim: (1, length)})
            try:
                _require_whole(share, place)
                return self.taken(value, place, ""), row_of(share, place)._replace(name=f"row {place.words}")
            except Refused:
                continue
        return value, share

    def _taken(self, array: Made, place: Place, name: str) -> Leaf:
        share, sizes = self.shares.get(array.number), place.sizes(array.shape)
        if share is not None:
            self.written(array, place)
            return self._given(f"takes of {share.name!r}: {place.words}", Made(-1, sizes, array.dtype),
                               row_of(share, place))  # fmt: skip
        step = self._recording.maker(array)
        attrs = {} if step is None else dict(step.attrs)
        value = Value(sizes, array.dtype)
        if step is not None and step.op == "hlo.broadcast" and place.cut.keys().isdisjoint(attrs["dims"]):  # type: ignore[arg-type]
            (operand,) = self._recording.read(step)
            return self._recording.emit(step.op, (operand,), value, name or step.name, {**attrs, "size": sizes})
        operands = () if step is None else self._recording.read(step)
        if step is None or step.op not in POINTWISE or any(each.shape != array.shape for each in operands):
            raise Refused("a turn takes a row of what is computed, and not element by element")
        rows = tuple(self.taken(each, place, name) for each in operands)
        return self._recording.emit(step.op, rows, value, name or step.name, attrs)


def place_of(shape: tuple[int, ...], sizes: tuple[int, ...], starts: Sequence[Leaf | Counted]) -> Place:
    """What is taken of an array in each turn. Raises Refused."""
    if len(starts) != len(shape) or len(sizes) != len(shape):
        raise Refused("it has no start for each dimension")
    words, cut, every = [], {}, False
    for dim, (start, size, length) in enumerate(zip(starts, sizes, shape, strict=True)):
        if size == length:
            continue
        turns = start.turns if isinstance(start, Counted) else (start,)
        known = [int(turn.array) for turn in turns if isinstance(turn, Known) and turn.shape == ()]
        if len(known) < len(turns):
            raise Refused("where a turn takes a row depends on data")
        clamped = [max(0, min(turn, length - size)) for turn in known]
        words.append(f"{size} of {length} along {dim} at {', '.join(map(str, clamped))}")
        cut[dim] = size, length
        every = size == 1 and sorted(clamped) == list(range(length))
    return Place("; ".join(words), cut, len(cut) == 1 and every)


def row_of(share: Share, place: Place) -> Share:
    """The share of a row, along whose dimensions every device holds all."""
    regions = tuple(
        tuple((0, place.cut[dim][0]) if dim in place.cut else part for dim, part in enumerate(region))
        for region in share.regions
    )
    return Share(share.name, place.sizes(share.shape), regions)


def _require_whole(share: Share, place: Place) -> None:
    """Every device holds all along the dimensions that a place cuts. Raises Refused."""
    for dim, (_, length) in place.cut.items():
        if share.shape[dim] != length or any(region[dim] != (0, length) for region in share.regions):
            raise Refused("a turn takes a row along a dimension that devices share")
