"""The integers that a plan may be given: of every element of every given tensor those at which the plan has a value.

An element holds what its type holds, and of that what the plan states of its tensor, and of that what all operators
can do with it which are given it as it is: a lookup knows no row outside of its table. It is followed through what
only moves it. So elements of one tensor may hold different integers.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from verdict.concrete.small import Small, signature
from verdict.errors import ShapeError
from verdict.graph import ABSENT, BUFFER, GRAD, INPUT, WEIGHT, Node, Plan
from verdict.ops import RULES, Array, OpRule
from verdict.ops.domain import Integers, of_type
from verdict.ops.integers import ROUNDING

GIVEN = frozenset({INPUT, WEIGHT, BUFFER})
NOTHING = np.array(None)
"""In the place of what is no integer that is given."""
MOST_FOLLOWED = 1 << 18
"""Of tensors with more elements only what reads them directly is looked at; all their elements are alike."""
UNFIT = (TypeError, AttributeError, ValueError, IndexError, ShapeError)
"""What an operator raises that does not only move what it reads."""


@dataclass(frozen=True, slots=True)
class Domain:
    """The integers that the elements of a tensor may hold. kinds: the different ones. place: of each element, which of
    them; an array of the tensor's shape. tables: how many rows those have which they are looked up in.
    """

    kinds: tuple[Integers, ...]
    place: npt.NDArray[np.int64]
    tables: tuple[int, ...] = ()

    def of(self, element: int) -> Integers:
        """The integers of one element, counted in row-major order."""
        return self.kinds[int(self.place.flat[element])]


class _Element:
    """An integer that is given, without arithmetic: it only says where it stands."""

    __slots__ = ("logical", "place")

    def __init__(self, logical: int, place: int) -> None:
        self.logical, self.place = logical, place

    constant = None

    def opaque(self, name: str) -> "_Element":
        """Itself, of what cuts off fractions."""
        if name not in ROUNDING:
            raise TypeError("an element has no functions")
        return self

    def __eq__(self, other: object) -> bool:
        raise TypeError("an element cannot be compared")

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise TypeError("an element has no truth value")


@dataclass(slots=True)
class _Search:
    plan: Plan
    small: Small
    known: dict[int, list[Integers]] = field(default_factory=dict)
    tables: dict[int, set[int]] = field(default_factory=dict)
    values: dict[int, Array] = field(default_factory=dict)

    def node(self, node: Node) -> None:
        """What one node says of the elements that it reads, and which of them it hands on."""
        rule = RULES.get(node.op)
        if rule is None or node.op.endswith(GRAD) or not any(tensor in self.values for tensor in node.inputs):
            return
        attrs, shapes = self.small.attrs[signature(node)], [self.small.shape(t) for t in node.inputs if t != ABSENT]
        self._bound(node, rule, shapes, attrs)
        arrays = [self.values.get(t, np.broadcast_to(NOTHING, self.small.shape(t))) for t in node.inputs if t != ABSENT]
        if [array.shape for array in arrays] != shapes:
            return
        try:
            made = rule.forward(arrays, attrs)
        except UNFIT:
            return
        for tensor, array in zip(node.outputs, made, strict=False):
            if tensor != ABSENT:
                self.values[tensor] = np.asarray(array, dtype=object)

    def _bound(self, node: Node, rule: OpRule, shapes: list[tuple[int, ...]], attrs: Mapping[str, Any]) -> None:
        inputs = [tensor for tensor in node.inputs if tensor != ABSENT]
        atoms = {atom.name: atom.size for atom in rule.axes(shapes, attrs).atoms} if rule.indices else {}
        due = rule.domain(shapes, attrs)
        for position, tensor in enumerate(inputs):
            elements = [x for x in self.values.get(tensor, np.empty(0)).flat if isinstance(x, _Element)]
            size = atoms.get(rule.indices.get(position, ""))
            for element in elements:
                if size is not None:
                    self.tables.setdefault(element.logical, set()).add(size)
                if position in due:
                    own = self.known[element.logical]
                    own[element.place] = _both(own[element.place], due[position])


@lru_cache(maxsize=4096)
def _both(one: Integers, other: Integers) -> Integers:
    return one.both(other)


def domains(plan: Plan, small: Small) -> dict[int, Domain]:
    """Of every given tensor of integers of the single-device `plan`, by logical tensor, what it may hold."""
    search = _Search(plan, small)
    stated = {name: Integers(low, high) for name, low, high in plan.ranges}
    for index, logical in enumerate(plan.logicals):
        own = of_type(logical.dtype) if logical.kind in GIVEN else None
        if own is not None:
            own = own.both(stated.get(logical.name, Integers()))
            search.known[index] = [own] * _followed(small.logicals[index])
    for k, tensor in enumerate(plan.tensors):
        if tensor.logical in search.known and plan.kind(k) in GIVEN:
            search.values[k] = _elements(tensor.logical, small.logicals[tensor.logical])
    for call in plan.programs[0]:
        for node in plan.segments[call.segment].nodes:
            search.node(node)
    return {
        index: _domain(small.logicals[index], known, search.tables.get(index, set()))
        for index, known in search.known.items()
    }


def _followed(shape: tuple[int, ...]) -> int:
    elements = prod(shape)
    return elements if elements <= MOST_FOLLOWED else 1


def _elements(logical: int, shape: tuple[int, ...]) -> Array:
    """The elements of a tensor; the first one for all where they are too many."""
    shape = shape if _followed(shape) == prod(shape) else (1,)
    array = np.empty(shape, dtype=object)
    for place, index in enumerate(np.ndindex(shape)):
        array[index] = _Element(logical, place)
    return array


def _domain(shape: tuple[int, ...], known: list[Integers], tables: set[int]) -> Domain:
    kinds = {integers: k for k, integers in enumerate(dict.fromkeys(known))}
    place = np.asarray([kinds[integers] for integers in known], dtype=np.int64)
    place = place.reshape(shape) if len(known) == prod(shape) else np.broadcast_to(place[0], shape)
    return Domain(tuple(kinds), place, tuple(sorted(tables)))
