"""The form of an operator's rule: all that the verifier knows of one operator.

A rule has one meaning and several readings. `axes` is the shape rule: on a plan's full shapes it checks the
plan, and it names the index axes ("atoms") from which shape reduction, propagation and stages are made.
`forward` and `gradient` run on arrays of floats (held against torch), of exact rationals (replay) and of
solver terms (proof): what is tested is what is trusted.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

from verdict.graph import Interval, Shape
from verdict.ops.domain import Integers
from verdict.ops.types import Types, of_floats
from verdict.outcome import Assumption

Array = npt.NDArray[Any]
Attributes = Mapping[str, Any]


class Law(Enum):
    """How an operator acts along an atom. A law proposes a goal; the goal is always proved."""

    EACH = "each"
    """Index by index: the output at i depends on the inputs at i only. An output without the atom, beside others that
    have it, is a sum over it: the gradient of a weight beside that of the rows that it was applied to.
    """
    SUM = "sum"
    """The atom is in no output, and outputs of disjoint intervals add up to the output of their union."""
    WHOLE = "whole"
    """Computed along: a share of it is not enough (softmax, sorting, rotation pairs)."""
    UNUSED = "unused"
    """The atom is in no output, and every share of it gives the same output."""


@dataclass(frozen=True, slots=True)
class Atom:
    """An index axis of an operator. `least`: the fewest elements a reduced shape may leave of it."""

    name: str
    size: int
    law: Law = Law.EACH
    least: int = 1


Dim = tuple[str, ...]
"""The atoms that one dimension of a tensor is the product of, slowest first; () for a size-one dimension."""


@dataclass(frozen=True, slots=True)
class Axes:
    """The atoms of one node, and of which atoms each dimension of each input and output consists."""

    atoms: tuple[Atom, ...]
    inputs: tuple[tuple[Dim, ...], ...]
    outputs: tuple[tuple[Dim, ...], ...]

    def shape(self, dims: tuple[Dim, ...]) -> Shape:
        """The shape of a tensor with these dimensions."""
        sizes = {atom.name: atom.size for atom in self.atoms}
        return tuple(int(np.prod([sizes[name] for name in dim], dtype=np.int64)) for dim in dims)

    @property
    def output_shapes(self) -> tuple[Shape, ...]:
        """The shapes of the outputs."""
        return tuple(self.shape(dims) for dims in self.outputs)


@dataclass(frozen=True, slots=True)
class Scale:
    """From full coordinates to reduced ones, for one node, as `OpRule.reduce` needs it.

    bounds: for each atom, the interval (full coordinates) that this node works on.
    sizes: for each atom, the reduced number of elements of that interval.
    points: for each atom, full coordinate -> reduced coordinate, for every cut point of the atom.
    inputs, outputs: the reduced shapes of the tensors that this node reads and writes.
    """

    bounds: Mapping[str, Interval]
    sizes: Mapping[str, int]
    points: Mapping[str, Mapping[int, int]]
    inputs: tuple[Shape, ...]
    outputs: tuple[Shape, ...]


def _unchanged(attrs: Attributes, scale: Scale) -> Attributes:
    return attrs


def _no_cuts(attrs: Attributes) -> Mapping[str, tuple[int, ...]]:
    return {}


def _not_narrowed(attrs: Attributes, atom: str, interval: Interval) -> Attributes:
    return attrs


def _everywhere(shapes: Sequence[Shape], attrs: Attributes) -> Mapping[int, Integers]:
    return {}


def _never(arity: int, attrs: Attributes) -> bool:
    return False


def _not_zero(attrs: Attributes) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class OpRule:
    """All that the verifier knows of one operator.

    axes(shapes, attrs): the atoms of the node; raises ShapeError where shapes or attributes do not fit.
    forward(inputs, attrs): the outputs, None for one that attributes do not ask for. Arrays of floats, Fractions or
        solver terms.
    gradient(inputs, grads, attrs): for each input the gradient of sum(output * grad), None where the input is
        not differentiable. `inputs` are the forward inputs, `grads` one array for each output.
    reduce(attrs, scale): the attributes at reduced shapes. Constants that come from shapes keep full values.
    cuts(attrs): the full coordinates along atoms that attributes speak of; reduction keeps them apart.
    narrow(attrs, atom, interval): the attributes of the share of this node that works on these elements of an
        atom only (counted from the node's own first), its inputs sliced so and the sum of all shares meant.
    indices: input position -> the atom of which the integers in that input name an element.
    domain(shapes, attrs): for inputs of integers, those at which there is a value at all. An input that is not listed
        may hold any integer.
    within(shapes, attrs): for outputs of integers, those that they may be. One that is not listed may be any number.
        None where none is.
    types(kinds, attrs): of which types the outputs may be, from those of the inputs (verdict/ops/types.py).
    linear: the positions of the inputs in which `forward` is linear (each alone, the others fixed), for
        nodes that `affine` does not speak of. Ask `linear_in`.
    additive: whether `forward` of several tensors is linear in all of them together, as a sum is.
    together: the positions of inputs in which `forward` of all its tensors is linear together, the others fixed, as in
        what it puts or adds into another tensor; a negative one counts from the last.
    affine(arity, attrs): whether a node with so many inputs is linear in none of them (a bias, a constant
        over a tensor, a cast to whole numbers).
    zero(attrs): whether what a node with these attributes makes is zero wherever it is defined.
    moves: whether `forward` only rearranges, repeats or drops elements, or reads none: it may be run on arrays of
        element numbers to see which element of the inputs goes where.
    joins: whether the output is all inputs side by side, in their order, along the attribute dim.
    shape_only: the inputs of which only the shape counts, for `forward`.
    counted: the outputs that are numbers of elements that are counted along the axes that are in no output.
    extreme: whether what is made of some values depends on which values there are, and not on how often.
    copies: whether every output is the first input. adds: whether the output is the sum of all inputs, of which those
        that are absent are zero. Ask `addends` (verdict/ops/facts.py), which knows of gradients, too.
    made: whether attributes alone say how large an output is, or what it holds: another number there is another tensor,
        and no wrong one.
    sums: whether the output is the sum of the inputs, but for constants that they are times, or that is added.
    infinite: whether what it makes may be infinite, though nothing that it reads and no attribute is.
    views: whether an output may be another view of the memory of the first input.
    keeps: atoms that keep their size where whole plans are reduced: a choice among fewer is another choice.
    averages: whether what is computed along atoms is an average over all their elements: of some it is another one.
    average_of: the operator of which this one is the result divided by how many it adds up; "" where of none.
    rows: the attributes that name the first row, and the end of the rows, that the last input has of the whole.
    local: attributes that differ from rank to rank because each has its own share: sizes, and those of `rows`.
    drops(attrs): the probability with which a node drops an element. A rule that has one draws random numbers: two such
        nodes never compute the same, and as the random numbers are modelled as a function of the inputs, no node is
        compared with one of several that read the same.
    keyed(attrs): the same probability where the random state is stated, and draws are a function of that.
    assumptions: what a proof that uses this rule takes on trust.
    attributes: the names of the attributes that `axes` knows; any other is refused.
    formula: the meaning in one line, for people.
    source: where the meaning is documented.
    """

    name: str
    axes: Callable[[Sequence[Shape], Attributes], Axes]
    forward: Callable[[Sequence[Array], Attributes], tuple[Array | None, ...]]
    gradient: Callable[[Sequence[Array], Sequence[Array], Attributes], tuple[Array | None, ...]]
    reduce: Callable[[Attributes, Scale], Attributes] = _unchanged
    cuts: Callable[[Attributes], Mapping[str, tuple[int, ...]]] = _no_cuts
    narrow: Callable[[Attributes, str, Interval], Attributes] = _not_narrowed
    indices: Mapping[int, str] = field(default_factory=dict)
    domain: Callable[[Sequence[Shape], Attributes], Mapping[int, Integers]] = _everywhere
    within: Callable[[Sequence[Shape], Attributes], Mapping[int, Integers]] | None = None
    types: Types = of_floats
    linear: frozenset[int] = frozenset()
    additive: bool = False
    together: tuple[int, ...] = ()
    affine: Callable[[int, Attributes], bool] = _never
    zero: Callable[[Attributes], bool] = _not_zero
    moves: bool = False
    joins: bool = False
    shape_only: frozenset[int] = frozenset()
    counted: frozenset[int] = frozenset()
    extreme: bool = False
    copies: bool = False
    adds: bool = False
    sums: bool = False
    made: bool = False
    infinite: bool = False
    views: bool = False
    keeps: frozenset[str] = frozenset()
    averages: bool = False
    average_of: str = ""
    rows: tuple[str, str] | None = None
    local: frozenset[str] = frozenset()
    drops: Callable[[Attributes], float] | None = None
    keyed: Callable[[Attributes], float] | None = None
    assumptions: tuple[Assumption, ...] = ()
    attributes: tuple[str, ...] = ()
    formula: str = ""
    source: str = ""

    def linear_in(self, arity: int, attrs: Attributes) -> frozenset[int]:
        """The inputs in which a node with `arity` inputs and these attributes is linear, each alone."""
        return frozenset() if self.affine(arity, attrs) else self.linear & frozenset(range(arity))

    def linear_together(self, arity: int) -> frozenset[int]:
        """The inputs in which a node with `arity` inputs is linear together; none where one of them is a number."""
        there = all(-arity <= position < arity for position in self.together)
        return frozenset(position % arity for position in self.together) if there else frozenset()

    def unread(self, gradient: bool) -> frozenset[int]:
        """The inputs of which a node, or its gradient, takes nothing but the shape."""
        return frozenset() if gradient else self.shape_only
