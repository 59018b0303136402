"""The smallest shapes with the same pattern.

Sizes are chosen for each index axis (atom) of the operator, not for each equal number: unrelated axes that
happen to have one size get different ones. Along an axis every cut of the full shapes stays a cut, no two
cuts fall together, and the axis keeps the elements that the operator's rule asks for. Of the columns of the
batch the first and the last are kept; by the axis laws they stand for all.
"""

import itertools
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf, prod
from typing import NamedTuple

from verdict.graph import Interval
from verdict.lineage import Meaning, join
from verdict.ops import Atom, Dim
from verdict.solver import SolverError

BUMPS = 3
"""How often an axis grows to keep its size apart from the others."""
MOST_ELEMENTS = 250_000
"""The most elements that a node may read and write at its smallest shapes: as symbols, more take minutes."""
MOST_LOOKED_UP = 10_000
"""The same where integers say which elements are meant: for every one there is a case for each element of the axis."""


class TooManyElementsError(SolverError):
    """A node has more elements at its smallest shapes than can be executed on symbols."""


class Sizes(NamedTuple):
    """Which reduced sizes are chosen.

    apart: give different sizes even to axes that have one at full size. Else those that are cut alike have one.
    grow: how many elements more than it must each axis keeps between its cuts. most: how many times the fewest elements
    the node may have then; the shortest axes grow first, and at least one does.
    """

    apart: bool = True
    grow: int = 0
    most: float = inf


SMALLEST, OTHER = Sizes(), Sizes(grow=1, most=1.5)
"""The two choices that every stage is proved at."""


@dataclass(frozen=True, slots=True)
class Shrunk:
    """points: atom -> full coordinate (in one column) -> reduced coordinate. columns: how many are kept."""

    points: Mapping[str, Mapping[int, int]]
    columns: int
    column_atom: str | None
    full: Mapping[str, int]

    def size(self, atom: str) -> int:
        """The reduced number of elements of `atom` in one column."""
        return self.points[atom][self.full[atom]]

    @property
    def sizes(self) -> dict[str, int]:
        """The reduced sizes of the single-device side: all columns that are kept."""
        return {name: self.size(name) * (self.columns if name == self.column_atom else 1) for name in self.full}

    def interval(self, atom: str, interval: Interval, column: int) -> Interval:
        """The reduced interval, on the single-device side, of a full interval of one column."""
        start, stop = (self.points[atom][coordinate] for coordinate in interval)
        offset = column * self.size(atom) if atom == self.column_atom else 0
        return start + offset, stop + offset

    def slices(self, dims: tuple[Dim, ...], bounds: Mapping[str, Interval], column: int) -> tuple[slice, ...]:
        """Where on the single-device side the share `bounds` of one column lies."""
        reduced = {name: self.interval(name, interval, column) for name, interval in bounds.items()}
        found = tuple(join(dim, reduced, self.sizes) for dim in dims)
        if None in found:
            raise ValueError(f"a strided share of the dimensions {dims}")
        return tuple(slice(*interval) for interval in found if interval is not None)


def shrink(meaning: Meaning, cuts: Mapping[str, Iterable[int]], columns: int, sizes: Sizes = SMALLEST) -> Shrunk:
    """Choose the reduced sizes of all atoms of a node, given the coordinates at which it is cut."""
    axes = meaning.axes
    if axes is None:
        raise ValueError(f"{meaning.signature.op} has no index axes: {meaning.problem}")
    cut = {atom.name: _coordinates(meaning.sizes[atom.name], cuts.get(atom.name, ())) for atom in axes.atoms}
    kept = {atom.name: columns if atom.name == meaning.column_atom else 1 for atom in axes.atoms}
    each = {atom.name: _fewest(atom, cut[atom.name], kept[atom.name]) for atom in axes.atoms}
    if sizes.grow:
        each = _grown(meaning, cut, kept, each, sizes)
    if not sizes.apart:
        each = {name: max(each[other] for other in each if cut[other] == cut[name]) for name in each}
    points: dict[str, dict[int, int]] = {}
    taken: set[int] = set()
    for name, coordinates in cut.items():
        lengths = [stop - start for start, stop in itertools.pairwise(coordinates)]
        for _ in range(BUMPS if sizes.apart else 0):
            if sum(min(each[name], n) for n in lengths) * kept[name] not in taken:
                break
            each[name] += 1
        reduced = [min(each[name], n) for n in lengths]
        taken.add(sum(reduced) * kept[name])
        points[name] = dict(zip(coordinates, _running(reduced), strict=True))
    return Shrunk(points, columns, meaning.column_atom, dict(meaning.sizes))


def _coordinates(full: int, cuts: Iterable[int]) -> list[int]:
    return sorted({0, full, *(point for point in cuts if 0 <= point <= full)})


def _fewest(atom: Atom, coordinates: list[int], kept: int) -> int:
    """The fewest elements of each piece of an atom with which it keeps as many as its rule asks for."""
    lengths = [stop - start for start, stop in itertools.pairwise(coordinates)]
    full = coordinates[-1]
    least = min(max(atom.least, 2), full * kept)
    found = bisect_left(range(full), least, key=lambda k: sum(min(k + 1, n) for n in lengths) * kept)
    return found + 1 if found < full else 0


def _grown(
    meaning: Meaning, cut: Mapping[str, list[int]], kept: Mapping[str, int], each: Mapping[str, int], sizes: Sizes
) -> dict[str, int]:
    """More elements for each piece of the axes, the shortest first, while the node has few enough of them."""

    def lengths(each: Mapping[str, int]) -> dict[str, int]:
        return {
            name: kept[name] * sum(min(each[name], stop - start) for start, stop in itertools.pairwise(places))
            for name, places in cut.items()
        }

    fewest, found = lengths(each), dict(each)
    most = sizes.most * max(1, _elements(meaning, fewest))
    changed = False
    for name in sorted(each, key=lambda name: (fewest[name], name)):
        more = {**found, name: each[name] + sizes.grow}
        longer = lengths(more)
        if not changed or _elements(meaning, longer) <= most:
            found, changed = more, changed or longer != fewest
    return found


def require_few(meaning: Meaning, shrunk: Shrunk) -> None:
    """Raises TooManyElementsError where a node has too many elements to be executed on symbols."""
    found = count(meaning, shrunk)
    most = MOST_LOOKED_UP if meaning.rule is not None and meaning.rule.indices else MOST_ELEMENTS
    if found > most:
        raise TooManyElementsError(f"it has {found:,} elements at the smallest shapes, the limit is {most:,}")


def count(meaning: Meaning, shrunk: Shrunk) -> int:
    """How many elements a node reads and writes at its reduced shapes."""
    return _elements(meaning, shrunk.sizes)


def _elements(meaning: Meaning, sizes: Mapping[str, int]) -> int:
    return sum(prod(sizes[atom] for dim in dims for atom in dim) for dims in (*meaning.read, *meaning.written))


def _running(lengths: list[int]) -> list[int]:
    total = [0]
    for length in lengths:
        total.append(total[-1] + length)
    return total
