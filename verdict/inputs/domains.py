"""The integers that a plan may be given: of every element of every given tensor those at which the plan has a value.

An element holds what its type holds, and of that what the plan states of its tensor, and of that what all operators
can do with it which are given it as it is: a lookup knows no row outside of its table. It is followed through what
only moves it, also by places and masks that depend on nothing that is given. So elements of one tensor may hold
different integers.

Of an integer that names a row the rows of the tables are the usual ones. What stands beside them (an id that a loss
ignores, a row of nothing, one that is counted from the end) has a meaning too, but it occurs only where the plan says
so: what only such integers show is no fault of a plan that says nothing of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from verdict.errors import ShapeError
from verdict.graph import ABSENT, GIVEN, GRAD, Node, Plan, Shape
from verdict.inputs.masked import Element, masked
from verdict.ops import RULES, Array, OpRule
from verdict.ops.domain import Integers, of_type
from verdict.semantics import Small, full, signature

NOTHING = np.array(None)
"""In the place of what is no integer that is given."""
MOST_FOLLOWED = 1 << 18
"""Of tensors with more elements only what reads them directly is looked at; all their elements are alike. What is read
beside tensors with more elements, which are made and not given, is not followed."""
UNFIT = (TypeError, AttributeError, ValueError, IndexError, ShapeError)
"""What an operator raises that does not only move what it reads."""


@dataclass(frozen=True, slots=True)
class Domain:
    """The integers that the elements of a tensor may hold. kinds: the different ones. usual: of each kind those that
    name rows of what they are looked up in, or all where nobody looks them up or the plan states a range. place: of
    each element, which of them; an array of the tensor's shape. tables: how many rows those have which they are looked
    up in.
    """

    kinds: tuple[Integers, ...]
    usual: tuple[Integers, ...]
    place: npt.NDArray[np.int64]
    tables: tuple[int, ...] = ()

    def of(self, element: int) -> Integers:
        """The integers of one element, counted in row-major order."""
        return self.kinds[int(self.place.flat[element])]

    @property
    def is_usual(self) -> bool:
        """Whether no element may hold an integer that nobody says occurs."""
        return self.kinds == self.usual


@dataclass(slots=True)
class _Search:
    plan: Plan
    small: Small
    known: dict[int, list[Integers]] = field(default_factory=dict)
    rows: dict[tuple[int, int], Integers] = field(default_factory=dict)
    spans: dict[int, Integers] = field(default_factory=dict)
    tables: dict[int, set[int]] = field(default_factory=dict)
    values: dict[int, Array] = field(default_factory=dict)
    computed: set[tuple[int, int]] = field(default_factory=set)
    makers: dict[int, Node] = field(default_factory=dict)
    constants: dict[int, Array | None] = field(default_factory=dict)

    def node(self, node: Node) -> None:
        """What one node says of the elements that it reads, and which of them it hands on."""
        self.makers |= dict.fromkeys(node.outputs, node)
        rule = RULES.get(node.op.removesuffix(GRAD))
        if rule is None or not any(tensor in self.values for tensor in node.inputs):
            return
        gradient = node.op.endswith(GRAD)
        inputs = [t for t in node.inputs[len(node.inputs) - len(node.outputs) if gradient else 0 :] if t != ABSENT]
        attrs, shapes = self.small.attrs[signature(node)], [self.small.shape(t) for t in inputs]
        try:
            due = rule.domain(shapes, attrs)
            self._bound(inputs, rule, shapes, attrs, due)
        except ShapeError:
            if gradient:
                return
            raise
        if gradient or all(k in due or k in rule.indices for k, t in enumerate(inputs) if t in self.values):
            return
        if any(prod(shape) > MOST_FOLLOWED for t, shape in zip(inputs, shapes, strict=True) if t not in self.values):
            return
        arrays = [self._array(tensor) for tensor in inputs]
        if [array.shape for array in arrays] != shapes:
            return
        told = masked(node.op, attrs, arrays)
        try:
            made = rule.forward(arrays, attrs) if told is None else (told,)
        except UNFIT:
            made = ()
        if told is not None or not made:
            elements = (x for array in arrays for x in array.flat if isinstance(x, Element))
            self.computed |= {(x.logical, x.place) for x in elements}
        for tensor, array in zip(node.outputs, made, strict=False):
            if tensor != ABSENT:
                self.values[tensor] = np.asarray(array, dtype=object)

    def _array(self, tensor: int) -> Array:
        """What is followed of a tensor, or the numbers that it holds, whatever is given."""
        if tensor in self.values:
            return self.values[tensor]
        found = self._constant(tensor)
        return np.broadcast_to(NOTHING, self.small.shape(tensor)) if found is None else found

    def _constant(self, tensor: int) -> Array | None:
        """The numbers of a tensor that depends on nothing that is given; None of any other."""
        waiting = [tensor]
        while waiting:
            last = waiting[-1]
            node = self.makers.get(last)
            if last in self.constants or node is None or node.op.endswith(GRAD) or last in self.values:
                self.constants.setdefault(last, None)
                waiting.pop()
                continue
            inputs = [t for t in node.inputs if t != ABSENT]
            missing = [t for t in inputs if t not in self.constants]
            if missing:
                waiting += missing
                continue
            self.constants |= self._made(node, [self.constants[t] for t in inputs])
        return self.constants[tensor]

    def _made(self, node: Node, arrays: list[Array | None]) -> dict[int, Array | None]:
        """What a node makes of constants."""
        made: dict[int, Array | None] = dict.fromkeys(t for t in node.outputs if t != ABSENT)
        rule = RULES.get(node.op)
        known = [array for array in arrays if array is not None]
        large = any(prod(self.small.shape(t)) > MOST_FOLLOWED for t in made)
        if rule is None or len(known) < len(arrays) or large:
            return made
        try:
            found = rule.forward(known, self.small.attrs[signature(node)])
        except UNFIT:
            return made
        return made | {t: a for t, a in zip(node.outputs, found, strict=False) if t in made}

    def _bound(
        self, inputs: list[int], rule: OpRule, shapes: list[Shape], attrs: Mapping[str, Any],
        due: Mapping[int, Integers],
    ) -> None:  # fmt: skip
        """What an operator that reads these tensors, or its gradient, says of their elements."""
        atoms = {atom.name: atom.size for atom in rule.axes(shapes, attrs).atoms} if rule.indices else {}
        first = attrs.get(rule.rows[0], 0) if rule.rows else 0
        for position, tensor in enumerate(inputs):
            elements = [x for x in self.values.get(tensor, np.empty(0)).flat if isinstance(x, Element)]
            size = atoms.get(rule.indices.get(position, ""))
            for element in elements:
                if size is not None:
                    self.tables.setdefault(element.logical, set()).add(size)
                    self._looked_up(element, Integers(first, first + size - 1))
                if position in due:
                    self._looked_up(element, Integers(0, due[position].high))
                    own = self.known[element.logical]
                    own[element.place] = _both(own[element.place], _with_others(due[position], element.others))

    def rows_of(self, logical: int, place: int) -> Integers | None:
        """The rows that an element names. One that is only left out names rows as the others of its tensor do."""
        key = logical, place
        return self.rows.get(key) or (None if key in self.computed else self.spans.get(logical))

    def _looked_up(self, element: Element, rows: Integers) -> None:
        """An element names one of these rows."""
        key = element.logical, element.place
        self.rows[key] = _spanned(self.rows.get(key, rows), rows)
        self.spans[element.logical] = _spanned(self.spans.get(element.logical, rows), rows)


@lru_cache(maxsize=4096)
def _spanned(one: Integers, other: Integers) -> Integers:
    """All from the least to the greatest of both, which begin somewhere."""
    high = None if one.high is None or other.high is None else max(one.high, other.high)
    return Integers(min(one.low or 0, other.low or 0), high)


@lru_cache(maxsize=4096)
def _both(one: Integers, other: Integers) -> Integers:
    return one.both(other)


@lru_cache(maxsize=4096)
def _with_others(due: Integers, others: tuple[tuple[int, int], ...]) -> Integers:
    """Some integers, and those in whose place one of these is put."""
    beside = (number for number, put in others if due.holds(put) and not due.holds(number))
    return due._replace(beside=tuple(sorted({*due.beside, *beside})))


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
    found = {}
    for index, known in search.known.items():
        usual = known
        if plan.logicals[index].name not in stated:
            usual = [_usual(own, search.rows_of(index, place)) for place, own in enumerate(known)]
        tables = search.tables.get(index, set())
        found[index] = _domain(small.logicals[index], list(zip(known, usual, strict=True)), tables)
    return found


def _usual(known: Integers, rows: Integers | None) -> Integers:
    """Those of the integers that name rows; all where there are none."""
    if rows is None:
        return known
    both = _both(known, rows)._replace(beside=())
    return known if both.size == 0 else both


def unstated(plan: Plan) -> str:
    """Which ranges the single-device plan would have to state of what names rows, in words; "" where none."""
    lines = []
    for index, domain in domains(plan, full(plan)).items():
        rows = [usual for known, usual in zip(domain.kinds, domain.usual, strict=True) if usual != known]
        ends = [end for n in rows for end in (n.low, n.high) if end is not None]
        if ends:
            lines.append(f"range {plan.logicals[index].name} {min(ends)} {max(ends)}")
    return ", ".join(f"`{line}`" for line in lines)


def endless(plan: Plan) -> tuple[str, ...]:
    """The names of given tensors of which the single-device plan does not say which integers they may hold."""
    found = domains(plan, full(plan)).items()
    return tuple(plan.logicals[index].name for index, domain in found if any(n.size is None for n in domain.usual))


def outside(ranges: str) -> str:
    """When plans differ that do so only with integers which nobody says occur. ranges: those that are `unstated`."""
    return (
        "only with integers that are no rows of what they are looked up in, as -100, a target that losses ignore, and "
        f"the plan does not say that such occur: if none does, state {ranges} in the single-device plan (`ranges` of a "
        "Program)"
    )


def _followed(shape: tuple[int, ...]) -> int:
    elements = prod(shape)
    return elements if elements <= MOST_FOLLOWED else 1


def _elements(logical: int, shape: tuple[int, ...]) -> Array:
    """The elements of a tensor; the first one for all where they are too many."""
    shape = shape if _followed(shape) == prod(shape) else (1,)
    array = np.empty(shape, dtype=object)
    for place, index in enumerate(np.ndindex(shape)):
        array[index] = Element(logical, place)
    return array


def _domain(shape: tuple[int, ...], known: list[tuple[Integers, Integers]], tables: set[int]) -> Domain:
    kinds = {each: k for k, each in enumerate(dict.fromkeys(known))}
    place = np.asarray([kinds[each] for each in known], dtype=np.int64)
    place = place.reshape(shape) if len(known) == prod(shape) else np.broadcast_to(place[0], shape)
    return Domain(tuple(own for own, _ in kinds), tuple(usual for _, usual in kinds), place, tuple(sorted(tables)))
