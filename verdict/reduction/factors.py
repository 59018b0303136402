"""Dimensions as products of factors, each with one scale: what keeps reduced shapes consistent over whole plans.

A dimension of a tensor is a variable. Operators say of which index axes a dimension is the product, so variables
are joined, and split into a slower part and faster factors of fixed size, until every operator's equations
between scales hold. How far a factor then shrinks is said in scales.py.

    hidden = 4096, view -> (heads 32, width 128)         hidden := [heads, width], scale = scale x scale
    (4, 6) -> (6, 4)                                     no common factor: the scales of all of them are 1

A scale of 1 satisfies every equation between products of scales, so where nothing better is known it is taken: such
factors are frozen.
"""

from collections.abc import Iterable, Sequence
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
        left, right = self.leaves(one), self.leaves(two)
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

    def leaves(self, variable: int) -> list[int]:
        """The factors of a dimension, slowest first."""
        root = self.find(variable)
        if root not in self._split:
            return [root]
        return [leaf for piece in self._split[root] for leaf in self.leaves(piece.factor)]

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
