"""Where the elements of a tensor come from, one by one: of flat buffers in which pieces of several values lie.

A tensor that is no region of one value may still be made of elements of known values, moved as they are: shards of
parameters laid end to end, gathered from all ranks, and cut up again. Each element has a number, that of its value's
element; a node that only moves elements is run on these numbers themselves, at full shapes.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from itertools import pairwise
from math import prod
from typing import NamedTuple

import numpy as np

from verdict.graph import Node, Shape, extent, slices, whole
from verdict.lineage.boxes import NOTHING, Origins, Pieces, box, first_of
from verdict.lineage.lineages import Elements
from verdict.lineage.places import MOST_MOVED, Move, move
from verdict.lineage.reference import Bases, Reference
from verdict.lineage.values import ONCE, OWN_COLUMN, Part, Share, Times, Value
from verdict.ops import FACTS
from verdict.ops.types import COMPLEX, FLOAT, kind
from verdict.outcome import Assumption

MOST_KEPT = 1 << 26
"""The most elements of all tensors whose numbers are kept: 512 MiB. Beyond these no more are followed."""

Add = Callable[[Sequence[Value]], Value | None]


class How(NamedTuple):
    """What a tensor holds of a sum of values: a part of the sum that defines them, over what, and how often."""

    part: Part = ()
    spread: int = OWN_COLUMN
    times: Times = ONCE


class Block(NamedTuple):
    """A sum of single-device values whose elements are numbered in a row, from `first` on. how: None where its shares
    differ in that.
    """

    first: int
    value: Value
    bases: Bases
    how: How | None


class Numbering:
    """Numbers for the elements of all values that are met. Values that are made of others by moving elements alone have
    the numbers of these. trust: is told of what the rules of operators that move elements take on trust.
    """

    def __init__(self, reference: Reference, trust: Callable[[Assumption], None]) -> None:
        self.reference, self.trust = reference, trust
        self._blocks: list[Block] = []
        self._firsts: list[int] = []
        self._known: dict[Value, Block] = {}
        self._plain: dict[Bases, Origins | None] = {}
        self._shown: dict[Bases, Sequence[Bases]] = {}
        self._next = NOTHING + 1
        self._kept = 0
        self._moves: dict[tuple[str, str, tuple[Shape, ...]], Move | None] = {}
        self._children: dict[Bases, list[int]] = defaultdict(list)
        for partner in reference.partners:
            if FACTS.moves(partner.node.op, len(partner.inputs)):
                for bases in partner.inputs:
                    self._children[bases].extend(base for base in partner.outputs if base >= 0)

    def of(self, value: Value, shape: Shape) -> Origins | None:
        """The elements of a tensor that holds a value; None where these are no region of one sum of values."""
        if prod(shape) > MOST_MOVED:
            return None
        if not value:
            return np.full(shape, NOTHING, dtype=np.int64)
        full, region = self.shape_of(value[0].base), value[0].region
        alike = all(share.region == region and self.shape_of(share.base) == full for share in value)
        if not alike or any(share.shard for share in value) or extent(region) != shape or prod(full) > MOST_MOVED:
            return None
        hows = {How(share.part, share.spread, share.times) for share in value}
        bases = tuple(share.base for share in value)
        if len(hows) > 1:
            block = self._block(tuple(sorted(share._replace(region=whole(full)) for share in value)))
            return np.asarray(_row(block.first, full)[slices(region)])
        plain = self._of(bases)
        return None if plain is None else self._so(np.asarray(plain[slices(region)]), hows.pop())

    def value(self, origins: Origins, like: Node, pieces: Pieces) -> Value | None:
        """What a tensor of these elements holds, if that is one region of one sum of values. Zeros alone are none.

        Of several that are the same, it is what nodes of the operator, and of the name, of `like` make; of equal
        regions of one, as of rows that are repeated, the one with the pieces that the device has of other values.
        """
        if not origins.any():
            return None
        block = self._blocks[bisect_right(self._firsts, int(origins.flat[first_of(origins)])) - 1]
        found = list(self._regions(origins, block, pieces))
        if not found:
            return None
        partners, bases = self.reference.partners, self.reference.bases

        def alike(value: Value) -> tuple[bool, bool]:
            maker = bases[value[0].base].node
            node = partners[maker].node if maker >= 0 and len(value) == 1 else None
            return node is not None and node.op == like.op, node is not None and node.name == like.name

        return max(found, key=alike)

    def added(self, addends: Sequence[Origins], add: Add) -> Origins | None:
        """The elements of a sum; None where at one place elements of different places of values are added up."""
        flat = np.stack([origins.ravel() for origins in addends])
        firsts = np.asarray([NOTHING, *self._firsts], dtype=np.int64)
        places = np.searchsorted(firsts, flat, side="right") - 1
        offsets = np.where(flat == NOTHING, -1, flat - firsts[places])
        offset = offsets.max(axis=0)
        if not ((offsets == offset) | (offsets == -1)).all():
            return None
        found = np.full(flat.shape[1], NOTHING, dtype=np.int64)
        changes = np.flatnonzero((places[:, 1:] != places[:, :-1]).any(axis=0)) + 1
        totals: dict[tuple[int, ...], int | None] = {}
        for start, stop in pairwise([0, *changes.tolist(), flat.shape[1]]):
            column = tuple(places[:, start].tolist()) if start < stop else ()
            if column not in totals:
                totals[column] = self._total([self._blocks[place - 1].value for place in column if place], add)
            first = totals[column]
            if first is None:
                return None
            found[start:stop] = first + offset[start:stop] if first else NOTHING
        return found.reshape(addends[0].shape)

    def _total(self, values: Sequence[Value], add: Add) -> int | None:
        """The first number of a sum of values, `NOTHING` of none; None where nothing is said of it."""
        if len({self.shape_of(value[0].base) for value in values}) > 1:
            return None
        total = add(values)
        return None if total is None else self._block(total).first if total else NOTHING

    def keep(self, *origins: Origins) -> bool:
        """Whether there is room for these, which is taken."""
        self._kept += sum(found.size for found in origins)
        return self._kept <= MOST_KEPT

    def told(self, origins: Origins) -> Elements:
        """Which elements of which values these are."""
        firsts = np.asarray([NOTHING, *self._firsts], dtype=np.int64)
        flat = origins.ravel()
        places = np.searchsorted(firsts, flat, side="right") - 1
        begins = np.concatenate(([0], np.flatnonzero(np.diff(places)) + 1)) if len(places) else places
        turns: dict[int, int] = {NOTHING: NOTHING}
        turn = [turns.setdefault(place, len(turns)) for place in places[begins].tolist()]
        arranged = sha256(repr((origins.shape, turn, begins.tolist())).encode())
        arranged.update((flat - firsts[places]).tobytes())
        return Elements(tuple(self._blocks[place - 1].value for place in turns if place), arranged.digest())

    def made_of(self) -> dict[int, Elements | None]:
        """The elements of the single-device values that were looked at; None for those that others are made of."""
        each = ((bases[0], found) for bases, found in self._plain.items() if len(bases) == 1)
        return {base: None if found is None else self.told(found) for base, found in each}

    def moved(self, node: Node, inputs: Sequence[Origins]) -> tuple[Origins, ...] | None:
        """The elements of what a node makes of some elements; None where it does more than to move them."""
        shapes = tuple(origins.shape for origins in inputs)
        key = node.op, repr(node.attrs), shapes
        if key not in self._moves:
            found = move(node, shapes) if FACTS.moves(node.op, len(inputs)) else None
            self._moves[key] = found if found is not None and self.keep(*found) else None
        found, rule = self._moves[key], FACTS.of(node.op)
        if found is None or rule is None:
            return None
        for assumption in rule.assumptions:
            self.trust(assumption)
        side = np.concatenate([[NOTHING], *(origins.ravel() for origins in inputs)])
        return tuple(np.asarray(side[places]) for places in found)

    def shape_of(self, base: int) -> Shape:
        """The shape of a single-device value."""
        return self.reference.column_shape(base)

    def _regions(self, origins: Origins, block: Block, pieces: Pieces) -> Iterator[Value]:
        """The regions of sums of values that consist of these elements, of which the first is one of a block."""
        if block.how is None:
            shown, shift = [(_row(block.first, self.shape_of(block.value[0].base)), block.value)], 0
        else:
            shown = [
                (
                    plain,
                    tuple(Share(base, (), block.how.part, block.how.spread, times=block.how.times) for base in bases),
                )
                for bases in self._made_of(block.bases)
                if (plain := self._of(bases)) is not None
            ]
            shift = self._block(self._whole(block.bases, How())).first - block.first
        wanted = np.where(origins == NOTHING, NOTHING, origins + shift)
        for whole_of, value in shown:
            region = box(whole_of, wanted, pieces)
            if region is not None:
                yield tuple(sorted(share._replace(region=region) for share in value))

    def _made_of(self, bases: Bases) -> Sequence[Bases]:
        """The sums of values of which elements are those of one, itself included."""
        if bases not in self._shown:
            found = {bases: None}
            stack = [bases]
            while stack:
                fresh = [(child,) for child in self._children[stack.pop()] if (child,) not in found]
                found.update(dict.fromkeys(fresh))
                stack.extend(fresh)
            self._shown[bases] = tuple(one for one in found if self._of(one) is not None)
        return self._shown[bases]

    def _of(self, bases: Bases) -> Origins | None:
        """The elements of a sum of whole values."""
        if bases not in self._plain:
            found = self._moved(bases[0]) if len(bases) == 1 else None
            self._plain[bases] = found if found is not None and self.keep(found) else None
        full = self.shape_of(bases[0])
        if self._plain[bases] is None and prod(full) <= MOST_MOVED:
            return _row(self._block(self._whole(bases, How())).first, full)
        return self._plain[bases]

    def _moved(self, base: int) -> Origins | None:
        """The elements of a value that is made of zeros, or by moving those of others; None where it is not."""
        of = self.reference.bases[base]
        if of.node < 0 or kind(of.dtype) == COMPLEX:
            return None
        partner = self.reference.partners[of.node]
        if FACTS.makes_zeros(partner.node.op, len(partner.inputs), dict(partner.node.attrs)):
            return np.full(self.shape_of(base), NOTHING, dtype=np.int64)
        alike = all(self._is_like(bases, of.dtype) for bases in partner.inputs)
        if not alike or not FACTS.moves(partner.node.op, len(partner.inputs)):
            return None
        read = [found for bases in partner.inputs if (found := self._of(bases)) is not None]
        made = self.moved(partner.node, read) if len(read) == len(partner.inputs) else None
        found = None if made is None else made[of.output]
        return found if found is not None and found.shape == self.shape_of(base) else None

    def _is_like(self, bases: Bases, dtype: str) -> bool:
        """Whether a sum is one of real numbers, as this type is, or of integers of this very type; all of one shape."""
        alike = len({self.shape_of(base) for base in bases}) == 1
        types = {self.reference.bases[base].dtype for base in bases}
        return alike and (types == {dtype} or {kind(each) for each in (*types, dtype)} == {FLOAT})

    def _so(self, plain: Origins, how: How) -> Origins:
        """The elements of a part, or of a multiple, of values, from those of the values."""
        if how == How():
            return plain
        places = np.searchsorted(self._firsts, plain, side="right") - 1
        found = np.array(plain)
        for place in np.unique(places):
            if place >= 0:
                block = self._blocks[place]
                found[places == place] += self._block(self._whole(block.bases, how)).first - block.first
        return found

    def _whole(self, bases: Bases, how: How) -> Value:
        region = whole(self.shape_of(bases[0]))
        return tuple(sorted(Share(base, region, how.part, how.spread, times=how.times) for base in bases))

    def _block(self, value: Value) -> Block:
        """The numbers of the elements of a sum of whole values."""
        if value not in self._known:
            hows = {How(share.part, share.spread, share.times) for share in value}
            bases = tuple(share.base for share in value)
            block = Block(self._next, value, bases, hows.pop() if len(hows) == 1 else None)
            self._known[value] = block
            self._blocks.append(block)
            self._firsts.append(block.first)
            self._next += prod(self.shape_of(value[0].base))
        return self._known[value]


def _row(first: int, shape: Shape) -> Origins:
    return first + np.arange(prod(shape), dtype=np.int64).reshape(shape)
