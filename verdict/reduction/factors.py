"""Dimensions as products of factors, each with one scale: what keeps reduced shapes consistent over whole plans.

A dimension of a tensor is a variable. Operators say of which index axes a dimension is the product, so variables
are joined, and split into a slower part and faster factors of fixed size, until every operator's equations
between scales hold. A factor then shrinks by one rational scale that divides every coordinate at which it is cut.

    hidden = 4096, view -> (heads 32, width 128)         hidden := [heads, width], scale = scale x scale
    (4, 6) -> (6, 4)                                     no common factor: the scales of all of them are 1

A scale of 1 satisfies every equation between products of scales, so where nothing better is known it is taken.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import gcd, prod
from typing import NamedTuple


class Piece(NamedTuple):
    """One factor of a dimension, and how many elements it has there."""

    factor: int
    size: int


class Factors:
    """The factors of all dimensions, while they are joined and split."""

    def __init__(self) -> None:
        self._parent: list[int] = []
        self._split: dict[int, tuple[Piece, ...]] = {}
        self._frozen: set[int] = set()

    def new(self) -> int:
        """A variable of its own."""
        self._parent.append(len(self._parent))
        return len(self._parent) - 1

    @property
    def count(self) -> int:
        """How many variables there are."""
        return len(self._parent)

    def find(self, variable: int) -> int:
        """The one that stands for all variables that were joined with this one."""
        parent = self._parent
        while parent[variable] != variable:
            parent[variable] = parent[parent[variable]]
            variable = parent[variable]
        return variable

    def pieces(self, variable: int, size: int) -> list[Piece]:
        """The factors of a dimension of `size` elements, slowest first, without those of size one."""
        if size == 1:
            return []
        root = self.find(variable)
        if root not in self._split:
            return [Piece(root, size)]
        slow, *fast = self._split[root]
        inner = prod(piece.size for piece in fast)
        if size % inner:
            self.freeze(root)
            return self._inner_pieces(fast, size)
        rest = [found for piece in fast for found in self.pieces(piece.factor, piece.size)]
        return [*self.pieces(slow.factor, size // inner), *rest]

    def _inner_pieces(self, fast: Sequence[Piece], size: int) -> list[Piece]:
        """Some factor, frozen like all of them: a share that is not aligned to the faster factors."""
        return [Piece(self.pieces(fast[-1].factor, fast[-1].size)[-1].factor, size)]

    def freeze(self, variable: int) -> None:
        """Never shrink this variable nor any factor of it."""
        root = self.find(variable)
        self._frozen.add(root)
        for piece in self._split.get(root, ()):
            self.freeze(piece.factor)

    def join(self, variable: int, other: int) -> None:
        """Let two dimensions have one scale, whatever their sizes are."""
        one, two = self.find(variable), self.find(other)
        if one == two:
            return
        left, right = self._leaves(one), self._leaves(two)
        if left[-1] == right[-1]:
            self._join_rest(left, right)
            return
        if one in self._split and two in self._split:
            sizes = [prod(piece.size for piece in self._split[root][1:]) for root in (one, two)]
            size = sizes[0] * sizes[1] // gcd(*sizes) * 2
            self.equate(self.pieces(one, size), self.pieces(two, size))
            return
        if one in self._split:
            one, two = two, one
        if self._holds(two, one):
            self.freeze(two)
            return
        self._merge(one, two)

    def _leaves(self, root: int) -> list[int]:
        """The factors that are not split, slowest first."""
        return (
            [leaf for piece in self._split[root] for leaf in self._leaves(self.find(piece.factor))]
            if (root in self._split)
            else [root]
        )

    def _join_rest(self, left: list[int], right: list[int]) -> None:
        """Let two products of factors with common fast ones have one scale: what is left of each has one, too."""
        while left and right and left[-1] == right[-1]:
            left.pop()
            right.pop()
        if len(left) == 1 and len(right) == 1:
            self._merge(left[0], right[0])
            return
        for leaf in (*left, *right):
            self.freeze(leaf)

    def tie(self, variable: int, size: int, other: int, its: int) -> None:
        """Let two dimensions of `size` and of `its` elements have one scale."""
        if size == its:
            self.equate(self.pieces(variable, size), self.pieces(other, its))
        else:
            self.join(variable, other)

    def equate(self, left: list[Piece], right: list[Piece]) -> None:
        """Let two products of factors of equal size have one scale, factor by factor from the fast end.

        Where there is no element, there is nothing to shrink.
        """
        left, right = list(left), list(right)
        if any(not piece.size for piece in (*left, *right)):
            self._freeze_all([*left, *right])
            return
        while left and right:
            if self._respell(left) or self._respell(right):
                continue
            one, two = left.pop(), right.pop()
            same = self.find(one.factor) == self.find(two.factor)
            if one.size == two.size:
                if not same:
                    self._merge(self.find(one.factor), self.find(two.factor))
                continue
            big, small, rest = (one, two, left) if one.size > two.size else (two, one, right)
            if same:
                break
            if big.size % small.size or not self._divide(big.factor, small):
                self._freeze_all((one, two))
                break
            rest.extend(self.pieces(self._split[self.find(big.factor)][0].factor, big.size // small.size))
        self._freeze_all([*left, *right])

    def _respell(self, pieces: list[Piece]) -> bool:
        """Whether the last piece was split meanwhile; then it is replaced by its factors."""
        last = pieces[-1]
        if self.find(last.factor) not in self._split:
            return False
        pieces[-1:] = self.pieces(last.factor, last.size)
        return True

    def _merge(self, leaf: int, into: int) -> None:
        self._parent[leaf] = into
        if leaf in self._frozen:
            self.freeze(into)

    def _divide(self, factor: int, small: Piece) -> bool:
        """Split a factor into a slower part and `small`. False where it is a factor of `small` itself."""
        root = self.find(factor)
        if root in self._split or self._holds(small.factor, root):
            return False
        slow = self.new()
        self._split[root] = (Piece(slow, 0), small)
        if root in self._frozen:
            self.freeze(root)
        return True

    def _holds(self, variable: int, factor: int) -> bool:
        root = self.find(variable)
        return root == factor or any(self._holds(piece.factor, factor) for piece in self._split.get(root, ()))

    def _freeze_all(self, pieces: Iterable[Piece]) -> None:
        for piece in pieces:
            self.freeze(piece.factor)

    def frozen(self, factor: int) -> bool:
        """Whether a factor keeps its full size."""
        return self.find(factor) in self._frozen


class Scales:
    """The scale of every factor: the least for which all cuts stay cuts and all axes keep enough elements.

    grow: how many elements more each keeps between its cuts. Asked when all factors are joined: what was said of a
    dimension holds for all that have its scale, and is heeded once.
    """

    def __init__(self, factors: Factors, grow: int = 0) -> None:
        self._factors, self._grow = factors, grow
        self._heeded: set[tuple[object, ...]] = set()
        self._unit: dict[int, int] = {}
        self._least: dict[int, set[tuple[int, int]]] = {}
        self._between: dict[int, int] = {}
        self._known: dict[int, Fraction] = {}
        self._scales: dict[tuple[int, int], Fraction] = {}

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
            if place == 0 or inner:
                for slower in pieces[:place]:
                    self._factors.freeze(slower.factor)
                self._divide(piece.factor, coordinate)
                self._divide(piece.factor, piece.size)
                return
            self._divide(piece.factor, piece.size)
            coordinate = outer

    def _divide(self, factor: int, coordinate: int) -> None:
        root = self._factors.find(factor)
        self._unit[root] = gcd(self._unit.get(root, 0), coordinate)

    def least(self, variable: int, size: int, least: int) -> None:
        """Keep at least `least` elements of a dimension or axis of `size`."""
        said = ("least", self._factors.find(variable), size, least)
        if said in self._heeded:
            return
        self._heeded.add(said)
        pieces = self._factors.pieces(variable, size)
        if least >= size:
            self._factors.freeze(variable)
        for piece in pieces:
            self._divide(piece.factor, piece.size)
            wanted = max(2, -(-least // 2 ** (len(pieces) - 1)))
            self._least.setdefault(self._factors.find(piece.factor), set()).add((piece.size, wanted))

    def between(self, variable: int, size: int, least: int) -> None:
        """Keep at least `least` elements of a dimension between any two of its cuts."""
        for piece in self._factors.pieces(variable, size):
            root = self._factors.find(piece.factor)
            self._between[root] = max(least, self._between.get(root, 1))

    def scale(self, variable: int, size: int) -> Fraction:
        """By what a dimension of `size` elements shrinks, when all has been said."""
        key = (self._factors.find(variable), size)
        if key not in self._scales:
            self._scales[key] = self._product(variable, size)
        return self._scales[key]

    def _product(self, variable: int, size: int) -> Fraction:
        return prod((self._of(piece.factor) for piece in self._factors.pieces(variable, size)), start=Fraction(1))

    def _of(self, factor: int) -> Fraction:
        root = self._factors.find(factor)
        if root not in self._known:
            self._known[root] = self._least_scale(root)
        return self._known[root]

    def _least_scale(self, root: int) -> Fraction:
        unit = self._unit.get(root, 1)
        if self._factors.frozen(root) or unit <= 1:
            return Fraction(1)
        kept = self._between.get(root, 1)
        for size, least in self._least.get(root, set()):
            kept = max(kept, -(-min(least, size) * unit // size))
        return Fraction(min(kept + self._grow, unit), unit)
