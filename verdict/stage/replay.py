"""Both sides of a stage as recipes: what to apply to which slices of the inputs, on exact numbers.

The same shapes, attributes and slices as in the proof; only the elements are numbers instead of symbols.
"""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from verdict.graph import Interval
from verdict.lineage import Meaning, Member, mean
from verdict.lineage.transfer import summed
from verdict.ops import Array
from verdict.ops.domain import Integers
from verdict.ops.integers import chosen
from verdict.outcome import Applied, Box, Recipe, Spot
from verdict.solver import Terms
from verdict.stage.bounds import Bounds, bounds_of_member, cuts_of
from verdict.stage.execute import Side
from verdict.stage.shrink import Sizes, shrink
from verdict.stage.stage import Members


class Equation(NamedTuple):
    """One goal of a stage: what it is about, and both sides of it."""

    spot: Spot
    single: Recipe
    parallel: Recipe


Choices = tuple[Integers | None, ...]


class Replay(NamedTuple):
    """A stage on numbers. choices: for each input, the integers that its elements may be; None for any number."""

    inputs: tuple[Array, ...]
    choices: Choices
    equations: tuple[Equation, ...]


def replay(
    stage: Members, columns: int, values: Mapping[str, Fraction], exhaustive: bool = False, apart: bool = True
) -> Replay:
    """The stage with these values for the elements of its inputs, by their names in the proof; 1 for any other.

    apart: see `shrink`.
    """
    meaning = mean(stage.signature, columns)
    kept = columns if exhaustive else min(columns, 2)
    bounds = [bounds_of_member(meaning, member) for member in stage.members]
    cuts = cuts_of(meaning, [member.attrs for member in stage.members], bounds)
    side = _Numbers(meaning, cuts, kept, values, apart)
    equations: list[Equation] = []
    for number, (member, bound) in enumerate(zip(stage.members, bounds, strict=True)):
        for column in range(kept if meaning.column_atom is not None else 1):
            boxes = side.boxes(bound, column)
            inputs = [np.asarray(x[_slices(box)], x.dtype) for x, box in zip(side.inputs, boxes, strict=True)]
            lengths = {atom: side.length(atom, interval) for atom, interval in bound.items()}
            attrs = side.reduced(member.attrs, bound, [x.shape for x in inputs], side.output_shapes(lengths))
            for output, claim in enumerate(member.claims):
                if claim is None:
                    continue
                restricted = {atom for atom, _ in claim.part}
                single = side.restricted(bound, restricted, column, output)
                spot = Spot(number, column, output)
                equations.append(Equation(spot, (single,), (side.applied(boxes, attrs, output),)))
    return Replay(tuple(side.inputs), side.choices, tuple(equations))


class Sums(NamedTuple):
    """A node on numbers: its output whole, and what each of several intervals of a summed axis makes of it."""

    inputs: tuple[Array, ...]
    choices: Choices
    whole: Recipe
    parts: tuple[Recipe, ...]


def parts_of(meaning: Meaning, output: int, atom: str, intervals: Sequence[Interval]) -> Sums:
    """One output of a single-device node, whole and summed over each interval of `atom` only, for one column."""
    cuts = cuts_of(meaning, [], [])
    cuts[atom].update(point for interval in intervals for point in interval)
    side = _Numbers(meaning, cuts, 1, {})
    full = {name: (0, size) for name, size in meaning.sizes.items()}
    parts = tuple((side.restricted({**full, atom: cut}, {atom}, 0, output),) for cut in intervals)
    return Sums(tuple(side.inputs), side.choices, (side.restricted(full, set(), 0, output),), parts)


def columns_of(meaning: Meaning, output: int, columns: int) -> Sums | None:
    """One output of a single-device node that is a sum over the batch, whole and for each of the columns."""
    if meaning.column_atom is None:
        return None
    side = _Numbers(meaning, cuts_of(meaning, [], []), columns, {})
    full = {name: (0, size) for name, size in meaning.sizes.items()}
    parts = tuple((side.restricted(full, {meaning.column_atom}, column, output),) for column in range(columns))
    return Sums(tuple(side.inputs), side.choices, (side.restricted(full, set(), 0, output, all_columns=True),), parts)


def instead_of(meaning: Meaning, member: Member, op: str) -> Sums:
    """The first output of the member's share of a node, and what the operator `op` makes of the same inputs."""
    bounds = bounds_of_member(meaning, member)
    side = _Numbers(meaning, cuts_of(meaning, [], [bounds]), 1, {})
    restricted = {atom for atom, _ in summed(meaning, meaning.written[0], bounds)}
    single = side.restricted(bounds, restricted, 0, 0)
    boxes = side.boxes(bounds, 0)
    found = Applied(op, side.applied(boxes, {}, 0).inputs, member.attrs, meaning.signature.grads)
    return Sums(tuple(side.inputs), side.choices, (single,), ((found,),))


class _Numbers(Side):
    """The single-device node at reduced shapes, on numbers."""

    def __init__(
        self,
        meaning: Meaning,
        cuts: Mapping[str, Iterable[int]],
        columns: int,
        values: Mapping[str, Fraction],
        apart: bool = True,
    ) -> None:
        self.values = values
        super().__init__(meaning, shrink(meaning, cuts, columns, Sizes(apart)), Terms())

    @property
    def choices(self) -> Choices:
        """For each input, the integers that its elements may be; None for any number."""
        return tuple(self.integers(alias) for alias in self.meaning.signature.alias)

    def element(self, name: str, integers: Integers | None) -> Any:
        """A number; an int where it is one of some integers: the one that the proof's variable of that name stands
        for.
        """
        if integers is None:
            return self.values.get(name, Fraction(1))
        return chosen(integers, int(self.values.get(name, Fraction(0))))

    def boxes(self, bounds: Bounds, column: int) -> tuple[Box, ...]:
        """Which slice of each input the share `bounds` of one column reads."""
        return tuple(_box(self.shrunk.slices(dims, bounds, column)) for dims in self.meaning.read)

    def applied(self, boxes: Sequence[Box], attrs: Mapping[str, Any], output: int, region: Box = ()) -> Applied:
        """This node, applied to slices of the inputs."""
        signature = self.meaning.signature
        inputs = tuple((signature.alias[k], box) for k, box in enumerate(boxes))
        return Applied(signature.op, inputs, tuple(sorted(attrs.items())), signature.grads, output, region)

    def restricted(
        self, bounds: Bounds, atoms: set[str], column: int, output: int, all_columns: bool = False
    ) -> Applied:
        """The single-device node on the interval of some summed atoms, and of its output the share `bounds`."""
        dims = self.meaning.written[output]
        kept = {atom for dim in dims for atom in dim}
        batch = self.meaning.column_atom
        if batch is not None and batch not in kept and not all_columns:
            atoms = {*atoms, batch}
        attrs = self.attrs
        boxes: tuple[Box, ...] = tuple(() for _ in self.meaning.read)
        if atoms:
            attrs = self.single_attrs({atom: bounds[atom] for atom in atoms if atom != batch}, self.shapes)
            boxes = tuple(
                _filled(self.partly(read, bounds, atoms, column), x.shape)
                for read, x in zip(self.meaning.read, self.inputs, strict=True)
            )
        wanted = {atom: bounds[atom] for atom in kept}
        return self.applied(boxes, attrs, output, _box(self.shrunk.slices(dims, wanted, column)))


def _box(slices: tuple[slice, ...]) -> Box:
    return tuple((int(cut.start), int(cut.stop)) for cut in slices)


def _filled(slices: tuple[slice, ...], shape: tuple[int, ...]) -> Box:
    """The slices as a box; those that keep all of an axis, with its size."""
    pairs = zip(slices, shape, strict=False)
    return tuple((0, size) if cut.stop is None else (int(cut.start), int(cut.stop)) for cut, size in pairs)


def _slices(box: Box) -> tuple[slice, ...]:
    return tuple(slice(start, stop) for start, stop in box)
