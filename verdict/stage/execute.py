"""Run both sides of a stage on symbols: the single-device node whole, each member on its share.

Read, apply, write: what a member reads is sliced out of what the single-device node reads, and what it
writes must be the slice of what the single-device node writes that its claim names. Where a claim is a part
of a sum, the single-device node is run on the summed interval alone.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from verdict.errors import ShapeError
from verdict.graph import Attrs, Interval, Shape
from verdict.lineage import IgnoredLaw, LinearLaw, Meaning, Member, SumLaw, join, mean
from verdict.ops import Array, Dim, Scale
from verdict.ops.domain import Integers, of_type
from verdict.ops.integers import Symbols as Integral
from verdict.ops.integers import symbol
from verdict.outcome import Spot
from verdict.solver import Goal, Obligation, Terms
from verdict.stage.bounds import Bounds, bounds_of_member, cuts_of
from verdict.stage.shrink import SMALLEST, Shrunk, Sizes, require_few, shrink
from verdict.stage.stage import Members, Stage


class Symbols(Integral, Protocol):
    """Makes the symbols that both sides are run on."""

    def real(self, name: str) -> Any:
        """A real variable."""


def obligation(stage: Stage, columns: int, exhaustive: bool = False, sizes: Sizes = SMALLEST) -> Obligation:
    """The obligation of a stage, for a parallel plan of `columns` columns.

    exhaustive: keep every column of the batch instead of the first and the last.
    """
    terms = Terms()
    return Obligation(terms, goals(stage, columns, exhaustive, on(terms), sizes))


def on(symbols: Symbols) -> "MakeSide":
    """Sides on symbols."""
    return lambda meaning, shrunk: Side(meaning, shrunk, symbols)


def goals(
    stage: Stage, columns: int, exhaustive: bool, side_of: "MakeSide", sizes: Sizes = SMALLEST
) -> tuple[Goal, ...]:
    """What the obligation of a stage claims, run on what `side_of` makes of a node at reduced shapes."""
    meaning = mean(stage.signature, columns)
    kept = columns if exhaustive else min(columns, 2)
    if isinstance(stage, Members):
        return _members(stage, meaning, kept, side_of, sizes)
    if isinstance(stage, SumLaw):
        return _sum_law(stage, meaning, kept, side_of, sizes)
    if isinstance(stage, IgnoredLaw):
        return _ignored_law(stage, meaning, kept, side_of, sizes)
    return _linear_law(stage, meaning, kept, side_of, sizes)


def _members(stage: Members, meaning: Meaning, columns: int, side_of: "MakeSide", sizes: Sizes) -> tuple[Goal, ...]:
    bounds = [bounds_of_member(meaning, member) for member in stage.members]
    cuts = cuts_of(meaning, [member.attrs for member in stage.members], bounds)
    side = side_of(meaning, shrink(meaning, cuts, columns, sizes))
    found: list[Goal] = []
    for number, (member, bound) in enumerate(zip(stage.members, bounds, strict=True)):
        for column in range(columns if meaning.column_atom is not None else 1):
            found.extend(side.goals(number, member, bound, column))
    return tuple(found)


def _sum_law(law: SumLaw, meaning: Meaning, columns: int, side_of: "MakeSide", sizes: Sizes) -> tuple[Goal, ...]:
    over_columns = not law.cuts
    cuts = cuts_of(meaning, [], [])
    cuts[law.atom].update(law.cuts)
    side = side_of(meaning, shrink(meaning, cuts, columns if over_columns else 1, sizes))
    whole = {name: (0, size) for name, size in meaning.sizes.items()}
    if over_columns:
        tiles = [side.reference(whole, {law.atom}, column)[law.output] for column in range(columns)]
    else:
        pairs = zip(law.cuts, law.cuts[1:], strict=False)
        tiles = [side.reference({**whole, law.atom: pair}, {law.atom}, 0)[law.output] for pair in pairs]
    total = tiles[0]
    for tile in tiles[1:]:
        total = np.asarray(total + tile, dtype=total.dtype)
    full = side.reference(whole, frozenset(), 0)[law.output]
    return (Goal(f"sum over {law.atom}", full, total),)


def _linear_law(law: LinearLaw, meaning: Meaning, columns: int, side_of: "MakeSide", sizes: Sizes) -> tuple[Goal, ...]:
    side = side_of(meaning, shrink(meaning, cuts_of(meaning, [], []), columns, sizes))
    again = {position: side.symbols(position, "'") for position in law.positions}
    both = [np.asarray(x + again[k], dtype=x.dtype) if k in again else x for k, x in enumerate(side.inputs)]
    other = [again.get(k, x) for k, x in enumerate(side.inputs)]
    attrs = side.attrs
    sums = side.apply(both, attrs)
    return tuple(
        Goal(f"output {k} is additive", whole, np.asarray(one + two, dtype=whole.dtype))
        for k, (whole, one, two) in enumerate(
            zip(sums, side.apply(side.inputs, attrs), side.apply(other, attrs), strict=True)
        )
        if whole is not None and one is not None and two is not None
    )


def _ignored_law(
    law: IgnoredLaw, meaning: Meaning, columns: int, side_of: "MakeSide", sizes: Sizes
) -> tuple[Goal, ...]:
    side = side_of(meaning, shrink(meaning, cuts_of(meaning, [], []), columns, sizes))
    other = [side.symbols(k, "'") if k in law.positions else x for k, x in enumerate(side.inputs)]
    pairs = zip(side.apply(side.inputs, side.attrs), side.apply(other, side.attrs), strict=True)
    return tuple(
        Goal(f"output {k} ignores the input", one, two)
        for k, (one, two) in enumerate(pairs)
        if meaning.signature.wanted[k] and one is not None
    )


class Side:
    """The single-device node at reduced shapes, on symbols, or on what a subclass has instead."""

    def __init__(self, meaning: Meaning, shrunk: Shrunk, symbols: Symbols) -> None:
        if meaning.rule is None or meaning.axes is None:
            raise ValueError(meaning.problem)
        self.meaning, self.shrunk, self.rule = meaning, shrunk, meaning.rule
        self.factory = symbols
        self.whole = {name: (0, size) for name, size in meaning.sizes.items()}
        self.inputs: list[Array] = []
        signature = meaning.signature
        self.require_few()
        self.shapes = tuple(_shape(dims, shrunk.sizes) for dims in meaning.read)
        self.attrs = self.single_attrs({}, self.shapes)
        self.domain = self.rule.domain(self.shapes[signature.grads :], self.attrs)
        for position in range(len(meaning.read)):
            first = signature.alias[position]
            self.inputs.append(self.inputs[first] if first < position else self.symbols(position, ""))
        self.known: dict[tuple[object, ...], tuple[Any, ...]] = {}

    def require_few(self) -> None:
        """Raises SolverError where the node has too many elements to be executed."""
        require_few(self.meaning, self.shrunk)

    def single_attrs(self, restricted: Bounds, read: Sequence[Shape]) -> dict[str, Any]:
        """The single-device attributes at reduced shapes, for the node that works on `restricted` only."""
        attrs: Mapping[str, Any] = dict(self.meaning.signature.attrs)
        for atom, interval in restricted.items():
            attrs = self.rule.narrow(attrs, atom, interval)
        shapes = self.output_shapes(self.shrunk.sizes)
        return self.reduced(tuple(attrs.items()), self.full_bounds(), read, shapes)

    def full_bounds(self) -> dict[str, Interval]:
        """The whole of every atom at full size, all columns of the batch included."""
        axes = self.meaning.axes
        return {atom.name: (0, atom.size) for atom in axes.atoms} if axes else {}

    def output_shapes(self, sizes: Mapping[str, int]) -> tuple[Shape, ...]:
        axes = self.meaning.axes
        return tuple(_shape(dims, sizes) for dims in axes.outputs) if axes else ()

    def symbols(self, position: int, mark: str) -> Array:
        """A fresh symbol for every element of an input; zeros where a gradient is absent."""
        signature, shape = self.meaning.signature, self.shapes[position]
        if signature.shapes[position] is None:
            return np.zeros(shape, dtype=object)
        if signature.dtypes[position].startswith("complex"):
            shape = (*shape, 2)
        array, integers = np.empty(shape, dtype=object), self.integers(position)
        for index in np.ndindex(shape):
            array[index] = self.element(f"x{position}{mark}[{','.join(map(str, index))}]", integers)
        return array

    def integers(self, position: int) -> Integers | None:
        """The integers that an input may hold, None for one of other numbers.

        Of those that name elements all elements there are, and one outside of them, which stands for all others.
        """
        signature = self.meaning.signature
        known = of_type(signature.dtypes[position])
        if known is None or position < signature.grads:
            return known
        table = self.rule.indices.get(position - signature.grads)
        due = self.domain.get(position - signature.grads)
        size = self.shrunk.sizes.get(table) if table else None
        return due or (known if size is None else Integers(0, size))

    def element(self, name: str, integers: Integers | None) -> Any:
        """The element `name` of an input: a number, or one of some integers."""
        return self.factory.real(name) if integers is None else symbol(integers, self.factory, name)

    def reduced(
        self, attrs: Attrs, bounds: Bounds, inputs: Sequence[Shape], outputs: tuple[Shape, ...]
    ) -> dict[str, Any]:
        """The attributes of a node that works on `bounds`, at reduced shapes."""
        shrunk = self.shrunk
        sizes = {name: self.length(name, interval) for name, interval in bounds.items()}
        forward = inputs[self.meaning.signature.grads :]
        scale = Scale(bounds, sizes, shrunk.points, tuple(forward), outputs)
        return dict(self.rule.reduce(dict(attrs), scale))

    def length(self, name: str, interval: Interval) -> int:
        if interval == self.full_bounds()[name]:
            return self.shrunk.sizes[name]
        start, stop = (self.shrunk.points[name][coordinate] for coordinate in interval)
        return stop - start

    def apply(self, inputs: list[Array], attrs: Mapping[str, Any]) -> tuple[Any, ...]:
        """The node itself: forward, or the gradient with its leading inputs as gradients."""
        grads = self.meaning.signature.grads
        if self.meaning.is_gradient:
            found = tuple(self.rule.gradient(inputs[grads:], inputs[:grads], attrs))
            for position, (gradient, wanted) in enumerate(zip(found, self.meaning.signature.wanted, strict=True)):
                if wanted and gradient is None:
                    raise ShapeError(f"input {position} has no gradient")
            return found
        return tuple(self.rule.forward(inputs, attrs))

    def cut(self, bounds: Bounds, column: int) -> list[Array]:
        """The share `bounds` of one column of every input."""
        return [
            np.asarray(x[self.shrunk.slices(dims, bounds, column)], dtype=x.dtype)
            for dims, x in zip(self.meaning.read, self.inputs, strict=True)
        ]

    def reference(self, bounds: Bounds, restricted: set[str] | frozenset[str], column: int) -> tuple[Any, ...]:
        """The single-device node, run on the interval of the `restricted` atoms only."""
        key = (tuple((name, bounds[name]) for name in sorted(restricted)), column if restricted else 0)
        if key not in self.known:
            attrs = self.attrs
            if restricted:
                narrow = {atom: bounds[atom] for atom in restricted - {self.meaning.column_atom}}
                attrs = self.single_attrs(narrow, self.shapes)
                inputs = [
                    np.asarray(x[self.partly(dims, bounds, restricted, column)], dtype=x.dtype)
                    for dims, x in zip(self.meaning.read, self.inputs, strict=True)
                ]
            else:
                inputs = self.inputs
            self.known[key] = self.apply(inputs, attrs)
        return self.known[key]

    def partly(
        self, dims: tuple[Dim, ...], bounds: Bounds, restricted: set[str] | frozenset[str], column: int
    ) -> tuple[slice, ...]:
        """Slices that cut the `restricted` atoms only; all columns of the others stay."""
        sizes = self.shrunk.sizes
        found = []
        for dim in dims:
            if restricted & set(dim):
                intervals = {
                    name: self.shrunk.interval(name, bounds[name], column) if name in restricted else (0, sizes[name])
                    for name in dim
                }
                start, stop = _joined(dim, intervals, sizes)
                found.append(slice(start, stop))
            else:
                found.append(slice(None))
        return tuple(found)

    def goals(self, number: int, member: Member, bounds: Bounds, column: int) -> list[Goal]:
        """What the member of this number writes in one column must be what its claims name."""
        inputs = self.cut(bounds, column)
        lengths = {atom: self.length(atom, interval) for atom, interval in bounds.items()}
        outputs = self.output_shapes(lengths)
        made = self.apply(inputs, self.reduced(member.attrs, bounds, [x.shape for x in inputs], outputs))
        goals = []
        for k, (claim, dims) in enumerate(zip(member.claims, self.meaning.written, strict=True)):
            if claim is None:
                continue
            kept = {atom for dim in dims for atom in dim}
            restricted = {atom for atom, _ in claim.part}
            if self.meaning.column_atom is not None and self.meaning.column_atom not in kept:
                restricted.add(self.meaning.column_atom)
            whole = self.reference(bounds, restricted, column)[k]
            if whole is None or made[k] is None:
                raise ShapeError(f"output {k} does not exist")
            wanted = {atom: bounds[atom] for atom in kept}
            due = np.asarray(whole[self.shrunk.slices(dims, wanted, column)], dtype=whole.dtype)
            goals.append(Goal(Spot(number, column, k), due, made[k]))
        return goals


MakeSide = Callable[[Meaning, Shrunk], Side]


def _shape(dims: tuple[Dim, ...], sizes: Mapping[str, int]) -> Shape:
    return tuple(int(np.prod([sizes[name] for name in dim], dtype=np.int64)) for dim in dims)


def _joined(dim: Dim, intervals: Mapping[str, Interval], sizes: Mapping[str, int]) -> Interval:
    found = join(dim, intervals, sizes)
    if found is None:
        raise ValueError(f"a strided share of the dimension {dim}")
    return found
