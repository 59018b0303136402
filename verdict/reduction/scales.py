"""What the coordinates of each factor become: the least for which cuts stay cuts and axes keep enough elements.

A factor shrinks by one rational number that divides every coordinate at which it is cut. Where there is none that
shrinks it much, its coordinates become the least numbers that compare and add up as they do (uneven.py).
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import gcd

from verdict.comparison import Fault, Faulty
from verdict.reduction.factors import Factors, Piece
from verdict.reduction.uneven import few_alike

MOST_EVEN = 16
"""So many elements a factor may keep, or have, and stay even."""
ORDER = 3
"""A bound of an axis that is shifted is compared with another such: sums of two, or of three and one number.

So are coordinates that were moved m times: 2 m + 2 numbers meet, and all but one may be on one side.
"""

MOST_MOVED = 10
"""It is not counted any further how often coordinates are moved, and an axis along which it is reached shrinks by one
number or not at all: of more than ten numbers there are too many sums (`uneven.MOST_SUMS`).
"""
MOST_CHAINED = 32
"""So many relations between coordinates follow each other in sixteen layers of attention and their gradients; an axis
along which it are more keeps its size.
"""
APART = 2
"""Of two coordinates that are related there are as many elements between cuts, at least."""


class Scales:
    """What coordinates become when all factors are joined. What was said of a dimension holds for all that have its
    scale, and is heeded once.

    grow: how many elements more each keeps between its cuts.
    """

    def __init__(self, factors: Factors, grow: int = 0) -> None:
        self._factors, self._grow = factors, grow
        self._heeded: set[tuple[object, ...]] = set()
        self._points: dict[int, set[int]] = {}
        self._least: dict[int, set[tuple[int, int]]] = {}
        self._between: dict[int, int] = {}
        self._witnessed: dict[int, int] = {}
        self._chunks: dict[int, set[tuple[int, int, int]]] = {}
        self._even: dict[int, set[int]] = {}
        self._terms: dict[int, int] = {}
        self._moved: dict[int, int] = {}
        self._chains: dict[int, int] = {}
        self._known: dict[int, Fraction | Mapping[int, int]] = {}
        self._small: dict[tuple[int, int, int], int] = {}

    def cut(self, variable: int, size: int, coordinates: Iterable[int]) -> None:
        """Keep these coordinates of a dimension of `size` elements on element boundaries. Of none, none is lost."""
        if not size:
            self._factors.freeze(variable)
            return
        root = self._factors.find(variable)
        new = [at for at in {*coordinates, size} if (root, size, at) not in self._heeded]
        self._heeded.update((root, size, at) for at in new)
        pieces = self._factors.pieces(variable, size) if new else []
        for coordinate in new:
            self._cut(pieces, coordinate)

    def _cut(self, pieces: list[Piece], coordinate: int) -> None:
        for place in range(len(pieces) - 1, -1, -1):
            piece = pieces[place]
            outer, inner = divmod(coordinate, piece.size)
            self._point(piece.factor, piece.size)
            if place == 0 or inner:
                for slower in pieces[:place]:
                    self._factors.freeze(slower.factor)
                self._point(piece.factor, inner if place else coordinate)
                return
            coordinate = outer

    def _point(self, factor: int, coordinate: int) -> None:
        self._points.setdefault(self._factors.find(factor), set()).add(coordinate)

    def even(self, variable: int, size: int) -> None:
        """Let all dimensions of which this is said shrink alike, if they are of several sizes, or not at all."""
        for piece in self._factors.pieces(variable, size):
            self._even.setdefault(self._factors.find(piece.factor), set()).add(piece.size)

    def added(self, variable: int, terms: int) -> None:
        """So many coordinates of an axis, and numbers that are added to them, make one that is compared with bounds."""
        for root in self._factors.leaves(variable):
            self._terms[root] = max(terms, self._terms.get(root, 1))

    def moved(self, root: int, times: int) -> None:
        """Coordinates along a factor are moved so often, as parts of parts are."""
        self._moved[root] = max(times, self._moved.get(root, 0))

    def chained(self, root: int, passes: int, numbers: int) -> None:
        """So many relations of coordinates along a factor follow each other, each of which adds so many numbers: all
        coordinates of a chain have places between two cuts, and the numbers add up in both directions. So do ones:
        three windows of 301 elements reach 900.
        """
        if passes >= MOST_CHAINED:
            self._factors.freeze(root)
        each = max(APART, self._between.get(root, 1))
        self._between[root] = each + passes * (-(-each // APART))
        self._chains[root] = 2 * passes * numbers

    def crowded(self, root: int, rows: int) -> None:
        """So many rows of ids that name elements along a factor are compared with each other. What coordinates become
        is found again.
        """
        self._between[root] = rows + self._between.get(root, 1)
        self._known.clear()
        self._small.clear()

    def odd(self) -> frozenset[int]:
        """The factors that no common divisor shrinks much, and that need not shrink alike everywhere."""
        return frozenset(root for root in self._points if self._is_odd(root))

    def _is_odd(self, root: int) -> bool:
        points = self._points[root]
        most = max(points) * self._scale(root, gcd(*points))
        return most > MOST_EVEN and not self._factors.frozen(root) and len(self._even.get(root, ())) < 2

    def chunk(self, variable: int, size: int, step: int, count: int) -> None:
        """A dimension of `size` elements is cut into `count` pieces of `step`, of which the last has what is left."""
        self.cut(variable, size, (*range(0, size, step), size))
        pieces = self._factors.pieces(variable, size)
        if len(pieces) == 1 and size % step:
            self._chunks.setdefault(self._factors.find(pieces[0].factor), set()).add((size, step, count))

    def least(self, variable: int, size: int, least: int) -> None:
        """Keep at least `least` elements of a dimension or axis of `size`. One element stays one between any cuts."""
        if size == 1:
            return
        said = ("least", self._factors.find(variable), size, least)
        if said in self._heeded:
            return
        self._heeded.add(said)
        pieces = self._factors.pieces(variable, size)
        if least >= size:
            self._factors.freeze(variable)
        for piece in pieces:
            self._point(piece.factor, piece.size)
            wanted = max(2, -(-least // 2 ** (len(pieces) - 1)))
            self._least.setdefault(self._factors.find(piece.factor), set()).add((piece.size, wanted))

    def between(self, variable: int, size: int, least: int) -> None:
        """Keep at least `least` elements of a dimension between any two of its cuts."""
        for piece in self._factors.pieces(variable, size):
            root = self._factors.find(piece.factor)
            self._between[root] = max(least, self._between.get(root, 1))

    def witnessed(self, variable: int, size: int, more: int) -> None:
        """Keep so many elements more of a dimension between any two of its cuts, each time that it is said."""
        for piece in self._factors.pieces(variable, size):
            root = self._factors.find(piece.factor)
            self._witnessed[root] = more + self._witnessed.get(root, 0)

    def small(self, variable: int, size: int, coordinate: int) -> int:
        """What a coordinate of a dimension of `size` elements becomes, when all has been said. Raises Faulty."""
        if coordinate < 0:
            return -self.small(variable, size, -coordinate)
        key = variable, size, coordinate
        if key not in self._small:
            self._small[key] = self._of_pieces(self._factors.pieces(variable, size), coordinate)
        return self._small[key]

    @property
    def uneven(self) -> bool:
        """Whether parts of some factor shrank unlike each other, of those that were asked for."""
        return not all(isinstance(known, Fraction) for known in self._known.values())

    def _of_pieces(self, pieces: list[Piece], coordinate: int) -> int:
        if not pieces:
            return coordinate
        found, inside = 0, 1
        for place in range(len(pieces) - 1, -1, -1):
            factor, its = pieces[place]
            outer, inner = divmod(coordinate, its) if place else (0, coordinate)
            found += inside * self._of_factor(factor, inner)
            inside *= self._of_factor(factor, its)
            coordinate = outer
        return found

    def _of_factor(self, factor: int, coordinate: int) -> int:
        root = self._factors.find(factor)
        if root not in self._known:
            self._known[root] = self._found(root)
        known = self._known[root]
        if isinstance(known, Fraction):
            small = coordinate * known
            if small.denominator == 1:
                return int(small)
        elif not coordinate or coordinate in known:
            return known.get(coordinate, 0)
        problem = f"what the coordinate {coordinate} shrinks to is not known"
        raise Faulty(Fault(problem, "shape reduction", ours=True))

    def _found(self, root: int) -> Fraction | Mapping[int, int]:
        points = self._points.get(root, set()) - {0}
        scale = self._scale(root, gcd(*points))
        terms, moved = self._terms.get(root, 1), self._moved.get(root, 0)
        if not points or moved >= MOST_MOVED or not self._is_odd(root):
            return scale
        order = max(ORDER, 2 * (terms + moved) - 1 + self._chains.get(root, 0))
        gap, chunks, least = self._gap(root), self._chunks.get(root, set()), self._least.get(root, set())
        points |= {1} if self._chains.get(root) else set()
        uneven = few_alike(points, order, gap, least, chunks)
        if uneven is not None and self._grow:
            longer = {(number, few + self._grow) for number, few in uneven.items()}
            uneven = few_alike(points, order, gap + self._grow, longer, chunks)
        most = max(points)
        return scale if uneven is None or 2 * uneven[most] > most * scale else uneven

    def _gap(self, root: int) -> int:
        """How many elements are kept between two cuts."""
        return max(self._between.get(root, 1), self._witnessed.get(root, 1))

    def _scale(self, root: int, unit: int) -> Fraction:
        if self._factors.frozen(root) or unit <= 1:
            return Fraction(1)
        kept = self._gap(root)
        for size, least in self._least.get(root, set()):
            kept = max(kept, -(-min(least, size) * unit // size))
        return Fraction(min(kept + self._grow, unit), unit)
