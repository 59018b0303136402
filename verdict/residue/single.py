"""The single-device side of an island: the nodes between what is given and what is due, of values whole or of tiles."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, reduce
from typing import NamedTuple

from verdict.graph import (
    ABSENT,
    BUFFER,
    COPY,
    INPUT,
    NARROW,
    SUM,
    Attrs,
    Held,
    Interval,
    Plan,
    Region,
    extent,
    hull,
    inside,
    moved,
    whole,
)
from verdict.lineage import Partner, Reference, Value
from verdict.lineage.cover import covers
from verdict.lineage.indexing import join_region, split_region
from verdict.lineage.meaning import column_attrs
from verdict.lineage.poles import Doubtful, doubtful, signs_of
from verdict.lineage.transfer import Misfit, transfer
from verdict.lineage.values import Label, Times
from verdict.ops.signs import POSITIVE
from verdict.ops.types import is_whole, kind
from verdict.residue.builder import Builder
from verdict.residue.ranges import ranges_of
from verdict.stage import Members


class NoShareError(Exception):
    """What a node computes of one column of the batch, or of a tile of it, is not known."""


class End(NamedTuple):
    """What an output of a pair is: a number times a sum of values. addends: whose sum it is, if it is cut up so."""

    bases: tuple[int, ...]
    times: Times
    addends: Label | None


def end_of(value: Value) -> End:
    """What a cut point is a share of."""
    first = value[0]
    return End(tuple(share.base for share in value), first.times, first.part[0][0] if first.part else None)


class Source(NamedTuple):
    """What the pairs of islands are made from. signs: of the values of `table` that are not negative
    where its buffers are not.

    known: the signs of those of which more is known than that.
    attrs: attributes that were met, by how they are written: 1, 1.0 and True are not one. doubtful: those that may be
    no numbers. ranges: of each given value of integers those between which all are that the plan has a value for.
    """

    table: Reference
    plan: Plan
    signs: Mapping[int, int]
    known: Mapping[int, int]
    attrs: dict[str, Attrs]
    doubtful: Doubtful
    ranges: Callable[[], Mapping[int, tuple[int, int]]]


def source_of(table: Reference, plan: Plan) -> Source:
    """The source of all islands of a parallel plan."""
    signs, known = signs_of(table, POSITIVE), signs_of(table)
    return Source(table, plan, signs, known, {}, doubtful(table, known), cache(lambda: ranges_of(table)))


class Single(Builder):
    """The single-device side. tensors: of each value that was met. given: values that are not computed. tiles: of
    given values the regions that are known; empty where all are known whole. free: values made of nothing, which are
    whole, and read in part. windows: which region of its value each output is.
    """

    def __init__(self, source: Source, given: set[int], tiles: Mapping[int, Region]) -> None:
        super().__init__()
        self.source, self.table, self.known, self.signs = source, source.table, source.attrs, source.signs
        self.given, self.tiles = given, tiles
        self.needed: set[int] = set()
        self.tensors: dict[int, int] = {}
        self.tile: dict[int, Region] = {}
        self.free: set[int] = set()
        self.inputs: dict[int, str] = {}
        self.outputs: dict[End, str] = {}
        self.windows: dict[End, Region] = {}
        self.held: list[Held] = []
        self.members: list[Members] = []
        self.divisions: list[str] = []

    def need(self, wanted: Iterable[int]) -> None:
        """Note what some values are computed from: of all else that a node reads it needs the shape alone."""
        stack = list(wanted)
        while stack:
            base = stack.pop()
            if base in self.needed:
                continue
            self.needed.add(base)
            number = self.table.bases[base].node
            if number >= 0 and base not in self.given:
                stack.extend(self.table.partners[number].read)

    def ends(self, end: End, regions: Sequence[Region]) -> None:
        """Declare a multiple of the sum of some values as an output, of which these regions are due."""
        bases = end.bases
        self._compute(bases)
        tile = self._common(bases)
        due = [moved(region, tile) for region in regions]
        if self.tiles and not (all(inside(region, extent(tile)) for region in due) and covers(due, extent(tile))):
            raise NoShareError
        least = reduce(hull, regions)
        window = least if covers([moved(region, least) for region in regions], extent(least)) else tile
        self.windows[end] = window
        name = self.outputs[end] = f"output {len(self.outputs)}"
        tensor = self.tensor(name, extent(window), self.table.bases[bases[0]].dtype)
        part = moved(window, tile)
        addends = [self._narrowed(self.tensors[base], part) for base in bases] * end.times.numerator
        self.node(0, COPY if len(addends) == 1 else SUM, addends, [tensor])
        self.held.append(Held(0, tensor))

    def _narrowed(self, tensor: int, region: Region) -> int:
        """A region of a tensor."""
        for dim, (start, stop) in enumerate(region):
            of = self.logicals[self.regions[tensor].logical]
            if (start, stop) == (0, of.shape[dim]):
                continue
            shape = (*of.shape[:dim], stop - start, *of.shape[dim + 1 :])
            part = self.tensor(f"part {len(self.logicals)}", shape, of.dtype)
            self.node(0, NARROW, [tensor], [part], (("dim", dim), ("length", stop - start), ("start", start)))
            tensor = part
        return tensor

    def also(self, bases: Sequence[int]) -> None:
        """Values that are given, though nothing is computed of them."""
        self._give(bases)

    def plan(self) -> Plan:
        """All that was met, as a plan."""
        integers = [base for base in self.inputs if is_whole(kind(self.table.bases[base].dtype))]
        ranges = self.source.ranges() if integers else {}
        unsigned = [base for base in self.inputs if base in self.source.known and base not in integers]
        stated: list[tuple[str, int, int | None]] = [(self.inputs[base], 0, None) for base in unsigned]
        stated += [(self.inputs[base], *ranges[base]) for base in integers if base in ranges]
        positive = tuple(self.inputs[base] for base in unsigned if self.source.known[base] == POSITIVE)
        doubtful, granted = self._doubtful(), tuple(self.divisions)
        plan = self.build(1, self.held, "the single-device plan between cut points")
        return replace(plan, ranges=tuple(stated), doubtful=doubtful, positive=positive, granted=granted)

    def _doubtful(self) -> tuple[str, ...]:
        """The inputs that may be no numbers, and the outputs that must be none where the parallel ones are none: those
        of which numbers may be made again, wherever that is.
        """
        values, absorbed, _ = self.source.doubtful
        given = [name for base, name in self.inputs.items() if base in values]
        due = [name for end, name in self.outputs.items() if absorbed and not values.isdisjoint(end.bases)]
        return (*given, *due)

    def _compute(self, wanted: Sequence[int]) -> None:
        """Add the nodes that compute some values, those before them first."""
        stack = list(wanted)
        while stack:
            base = stack[-1]
            if base in self.tensors:
                stack.pop()
                continue
            of = self.table.bases[base]
            if of.node < 0 or base in self.given:
                self._give([base])
                continue
            partner = self.table.partners[of.node]
            ignored = {other for position in partner.meaning.ignored for other in partner.inputs[position]}
            missing = [other for bases in partner.inputs for other in bases if other not in self.tensors]
            needed = [other for other in missing if other not in ignored or other in self.needed]
            if needed:
                stack.extend(needed)
                continue
            self._give_shapes(partner)
            self._add(of.node)

    def _give(self, bases: Sequence[int]) -> None:
        """Let values be given: what is known, and what only the shape counts of."""
        for base in bases:
            self.tile[base] = self.tiles.get(base) or self.tile.get(base) or whole(self.table.column_shape(base))
            self.inputs[base] = f"input {len(self.inputs)}"
            shape, dtype = extent(self.tile[base]), self.table.bases[base].dtype
            self.tensors[base] = self.tensor(self.inputs[base], shape, dtype, self.kind(base))

    def kind(self, base: int) -> str:
        """Of what kind a given value is: what is never negative is a buffer, which is drawn so; integers, which may
        name elements, are as they are stated.
        """
        return BUFFER if base in self.signs and not is_whole(kind(self.table.bases[base].dtype)) else INPUT

    def _give_shapes(self, partner: Partner) -> None:
        """Let values be given of which a node needs the shape alone, as large as what else it reads makes them."""
        ignored = [position for position in partner.meaning.ignored if partner.inputs[position]]
        missing = {k: [base for base in partner.inputs[k] if base not in self.tensors] for k in sorted(ignored)}
        if self.tiles and any(missing.values()):
            bounds = self._bounds(partner)
            for position, bases in missing.items():
                region = join_region(partner.meaning.read[position], bounds, partner.meaning.sizes)
                if region is None:
                    raise NoShareError
                self.tile.update(dict.fromkeys((base for base in bases if base not in self.tiles), region))
        for bases in missing.values():
            self._give([base for base in bases if base not in self.tensors])

    def _bounds(self, partner: Partner) -> dict[str, Interval]:
        """The intervals of a node's atoms that the tiles that it reads are cut to."""
        meaning, bounds = partner.meaning, dict[str, Interval]()
        if meaning.problem:
            raise NoShareError
        for dims, bases in zip(meaning.read, partner.inputs, strict=True):
            if bases and bases[0] in self.tile and not self.free.issuperset(bases):
                bounds |= split_region(dims, self._common(bases), meaning.sizes) or {}
        return {name: (0, size) for name, size in meaning.sizes.items()} | bounds

    def _common(self, bases: Sequence[int]) -> Region:
        """The region of values that are added up, which is one."""
        first, *others = (self.tile[base] for base in bases)
        if any(other != first for other in others):
            raise NoShareError
        return first

    def _add(self, index: int) -> None:
        partner = self.table.partners[index]
        tiles = self._tiles(partner)
        free = self.free.issuperset(base for bases in partner.inputs for base in bases)
        reads = []
        for tensor, bases, tile in zip(partner.node.inputs, partner.inputs, tiles, strict=True):
            if len(bases) > 1 and tile is not None:
                logical = self.table.plan.logicals[self.table.plan.tensors[tensor].logical]
                total = self.tensor(f"sum {len(self.logicals)}", extent(tile), logical.dtype)
                self.node(0, SUM, [self.tensors[base] for base in bases], [total])
                reads.append(total)
            elif tile is not None:
                reads.append(self._narrowed(self.tensors[bases[0]], moved(tile, self.tile[bases[0]])))
            else:
                reads.append(ABSENT)
        attrs, made = self._share(partner, tiles)
        outputs = []
        for base, region in zip(partner.outputs, made, strict=True):
            if base == ABSENT or region is None:
                outputs.append(ABSENT)
                continue
            tensor = self.tensor(f"value {len(self.logicals)}", extent(region), self.table.bases[base].dtype)
            if base not in self.given:
                self.tensors[base], self.tile[base] = tensor, region
                self.free.update({base} if free else ())
            outputs.append(tensor)
        name = ""
        if index in self.source.doubtful.divisions:
            name = f"{partner.node.op} {len(self.divisions)} by what is not zero"
            self.divisions.append(name)
        self.node(0, partner.node.op, reads, outputs, self.known.setdefault(repr(attrs), attrs), name)

    def _tiles(self, partner: Partner) -> list[Region | None]:
        """The regions that a node reads: of a free value what goes with the tiles of the others."""
        tiles = [self._common(bases) if bases else None for bases in partner.inputs]
        alone = [len(bases) == 1 and bases[0] in self.free for bases in partner.inputs]
        if not self.tiles or not any(alone):
            return tiles
        bounds, meaning = self._bounds(partner), partner.meaning
        each = zip(meaning.read, alone, strict=True)
        parts = [join_region(dims, bounds, meaning.sizes) if free else None for dims, free in each]
        return [tile if part is None else part for tile, part in zip(tiles, parts, strict=True)]

    def _share(self, partner: Partner, tiles: Sequence[Region | None]) -> tuple[Attrs, list[Region | None]]:
        """The attributes of a node on tiles of what it reads, and what it makes of them.

        Of one column, or of tiles, that is a claim, which is kept in `members`.
        """
        wanted = tuple(base != ABSENT for base in partner.outputs)
        full = [None if base == ABSENT else whole(self.table.column_shape(base)) for base in partner.outputs]
        read = [whole(self.table.column_shape(bases[0])) if bases else None for bases in partner.inputs]
        if self.table.columns == 1 and list(tiles) == read:
            return partner.node.attrs, full
        meaning = partner.meaning
        shapes = [extent(tile) if tile is not None else None for tile in tiles]
        bounds = self._bounds(partner) if list(tiles) != read else None
        attrs = column_attrs(meaning, partner.node.attrs, shapes[meaning.signature.grads :], bounds)
        if attrs is None or meaning.complete:
            raise NoShareError
        member = transfer(meaning, attrs, tuple(tiles), wanted)
        if isinstance(member, Misfit) or any(claim and claim.part for claim in member.claims):
            raise NoShareError
        self.members.append(Members(meaning.signature, (member,)))
        return attrs, [claim.region if claim else None for claim in member.claims]
