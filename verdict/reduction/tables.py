"""Tables: numbers that are made from no input (angles of positions, slopes, counts of a mask), while plans are reduced.

At reduced shapes positions are other numbers than at full ones, and so would be all that is computed of them. So what
is read as numbers is computed at full size, on both sides, and compared there: a table of the parallel plan that is,
element by element, a region of a table of the single-device plan is that region of a tensor that both plans are given,
of any numbers. A table that is one number everywhere is that number. All else keeps the sizes of its axes.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from verdict.comparison import Faulty
from verdict.errors import ShapeError
from verdict.graph import ABSENT, ACCUMULATOR, BUFFER, INPUT, WEIGHT, Node, Plan, Region, Shape
from verdict.graph.lockstep import CHUNK, COMMUNICATION, LOADER
from verdict.ops import RULES, Array
from verdict.ops.types import is_whole, kind
from verdict.semantics import reading, signature

MOST_ELEMENTS = 4_000_000
"""A table of more elements is not computed."""
GIVEN = frozenset({INPUT, WEIGHT, BUFFER, ACCUMULATOR})
NEAR = 1e-12
"""How near, relative to the greater of both, numbers are that are computed in two ways and are one number."""
MOST_PLACES = 4_096
"""How many places in a larger table are tried."""


class Use(NamedTuple):
    """A table as some node reads it: the device, the tensor, and the place of the input among those of the node."""

    device: int
    tensor: int
    key: tuple[object, ...]
    position: int


class Contents:
    """The values of tensors that are made from no input, at full size."""

    def __init__(self, plan: Plan) -> None:
        self._shapes = plan.shapes
        self._kinds = plan.kinds
        self._makers: dict[tuple[int, int], Node | None] = {}
        for segment in plan.segments:
            for node in segment.nodes:
                for tensor in node.outputs:
                    twice = (segment.device, tensor) in self._makers
                    self._makers[segment.device, tensor] = None if twice else node
        self._known: dict[tuple[int, int], Array | None] = {}

    def of(self, device: int, tensor: int) -> Array | None:
        """The values of a tensor on a device; None where they are not known, or too many."""
        if (device, tensor) not in self._known:
            self._known[device, tensor] = None
            self._known[device, tensor] = self._made(device, tensor)
        return self._known[device, tensor]

    def _made(self, device: int, tensor: int) -> Array | None:
        node = self._makers.get((device, tensor))
        if node is None or node.op in COMMUNICATION or node.op in (CHUNK, LOADER) or self._kinds[tensor] in GIVEN:
            return None
        if max(prod(self._shapes[t]) for t in (*node.inputs, tensor) if t != ABSENT) > MOST_ELEMENTS:
            return None
        try:
            read = reading(node, "")
        except Faulty:
            return None
        if read.is_gradient:
            return None
        inputs = []
        for position, each in enumerate(read.forward):
            ignored = position in read.rule.shape_only
            found = np.broadcast_to(np.zeros(()), self._shapes[each]) if ignored else self.of(device, each)
            if found is None:
                return None
            inputs.append(found)
        made = _applied(node, inputs)
        return None if made is None else dict(zip(node.outputs, made, strict=False)).get(tensor)


def _applied(node: Node, inputs: Sequence[Array]) -> Sequence[Array] | None:
    try:
        with np.errstate(all="ignore"):
            made = RULES[node.op].forward(list(inputs), dict(node.attrs))
        return [_plain(array) for array in made]
    except (ShapeError, TypeError, ValueError, ArithmeticError):
        return None


def _plain(array: Any) -> Array:
    """Exact numbers as integers where all are whole, else as floats."""
    values = np.asarray(array)
    if values.dtype != object:
        return values
    if all(getattr(value, "denominator", 0) == 1 for value in values.flat):
        return values.astype(np.int64)
    return values.astype(np.float64)


class Given(NamedTuple):
    """A table that both plans are given. number: which of the single-device plan's. region: what of it."""

    number: int
    region: Region


Content = Given | float | int | None
"""What stands for a table at reduced shapes: a region of a given one, one number, or nothing: it keeps its sizes."""


def match(
    single: Sequence[Array | None], parallel: Sequence[Array | None]
) -> tuple[tuple[Content, ...], tuple[Content, ...]]:
    """What stands for each table of both plans. A table that the other plan does not have stands for itself."""
    same = _first_of_equal(single)
    found: list[Content] = [_one_number(table) for table in parallel]
    for place, table in enumerate(parallel):
        if table is not None and found[place] is None:
            found[place] = _in_one_of(table, [(k, single[k]) for k in sorted(set(same.values()))])
    used = {content.number for content in found if isinstance(content, Given)}
    ones: list[Content] = [_one_number(table) for table in single]
    for number, table in enumerate(single):
        if table is not None and same.get(number) in used:
            ones[number] = Given(same[number], tuple((0, size) for size in table.shape))
    return tuple(ones), tuple(found)


def _first_of_equal(tables: Sequence[Array | None]) -> dict[int, int]:
    """For each table that is known, the first one that equals it."""
    found: dict[int, int] = {}
    for number, table in enumerate(tables):
        if table is not None:
            alike = (k for k in sorted(set(found.values())) if _same_array(tables[k], table))
            found[number] = next(alike, number)
    return found


def _same_array(one: Array | None, other: Array) -> bool:
    return one is not None and one.shape == other.shape and bool(np.all(_near(one, other)))


def _in_one_of(table: Array, others: Sequence[tuple[int, Array | None]]) -> Given | None:
    """Where a table is a region of another one."""
    for number, other in others:
        region = _region_in(table, other) if other is not None and _one_number(other) is None else None
        if region is not None:
            return Given(number, region)
    return None


def _one_number(table: Array | None) -> float | int | None:
    if table is None or not table.size:
        return None
    first = table.flat[0]
    if not np.all(table == first):
        return None
    return int(first) if table.dtype.kind in "iub" else float(first)


def _region_in(table: Array, other: Array) -> Region | None:
    """The only region of another table that a table is; None where there is none, or several."""
    if table.ndim != other.ndim or any(n > m for n, m in zip(table.shape, other.shape, strict=True)):
        return None
    steps = [range(m - n + 1) for n, m in zip(table.shape, other.shape, strict=True)]
    if prod(map(len, steps)) > MOST_PLACES or _alike_along_an_axis(table):
        return None
    places = [start for start in _starts(steps) if _equal(table, _box(other, start, table.shape))]
    if len(places) != 1:
        return None
    return tuple((a, a + n) for a, n in zip(places[0], table.shape, strict=True))


def _alike_along_an_axis(table: Array) -> bool:
    """Whether a table repeats itself along some axis, so that numbers do not tell its place there."""
    return any(
        size > 1 and bool(np.all(table == np.take(table, [0], axis))) for axis, size in enumerate(table.shape)
    )


def _starts(steps: Sequence[range]) -> Iterator[tuple[int, ...]]:
    return (tuple(map(int, start)) for start in np.ndindex(*map(len, steps)))


def _box(array: Array, start: Sequence[int], shape: Shape) -> Array:
    return np.asarray(array[tuple(slice(a, a + n) for a, n in zip(start, shape, strict=True))])


def _equal(one: Array, other: Array) -> bool:
    first = tuple(0 for _ in one.shape)
    return bool(_near(one[first], other[first])) and bool(np.all(_near(one, other)))


def _near(one: Any, other: Any) -> Any:
    if np.asarray(one).dtype.kind in "iub" and np.asarray(other).dtype.kind in "iub":
        return one == other
    with np.errstate(invalid="ignore"):
        return (one == other) | (np.abs(one - other) <= NEAR * np.maximum(np.abs(one), np.abs(other)))


def uses_of(plan: Plan, tables: Mapping[tuple[object, ...], frozenset[int]]) -> tuple[Use, ...]:
    """Every place at which a node reads a table as numbers; of one that is another one, repeated or in another shape,
    the place at which that is read, if nobody reads it otherwise: what stands for it repeats itself along no axis.
    """
    declared = frozenset((held.device, held.tensor) for held in plan.declared)
    found = dict[Use, None]()
    for segment in plan.segments:
        readers: dict[int, list[Use]] = {}
        makers = {tensor: node for node in segment.nodes for tensor in node.outputs}
        uses = set[Use]()
        for node in segment.nodes:
            key = signature(node)
            for position, tensor in enumerate(node.inputs):
                if tensor == ABSENT:
                    continue
                use = Use(segment.device, tensor, key, position)
                readers.setdefault(tensor, []).append(use)
                if position in tables.get(key, ()):
                    uses.add(use)
        for node in reversed(segment.nodes):
            made = node.outputs[0] if len(node.outputs) == 1 else ABSENT
            read = readers.get(made, ())
            handed_on = (segment.device, made) in declared
            if read and uses.issuperset(read) and _repeats(plan, node, makers) and not handed_on:
                uses = uses.difference(read) | {Use(segment.device, node.inputs[0], signature(node), 0)}
        found |= dict.fromkeys(use for each in readers.values() for use in each if use in uses)
    return tuple(found)


def _repeats(plan: Plan, node: Node, makers: Mapping[int, Node]) -> bool:
    """Whether a node does nothing but to repeat, or arrange, what another one makes: real numbers, as tables are."""
    rule = RULES.get(node.op)
    if rule is None or not rule.moves or len(node.inputs) != 1 or node.inputs[0] not in makers:
        return False
    read, made = node.inputs[0], node.outputs[0]
    dtypes = (plan.logicals[plan.tensors[tensor].logical].dtype for tensor in (read, made))
    return not any(map(is_whole, map(kind, dtypes))) and prod(plan.shapes[made]) >= prod(plan.shapes[read])
