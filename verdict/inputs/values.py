"""Random values for what a plan is given: inputs, weights and buffers, one array for each logical tensor.

Integers are drawn from all that the plan has a value for (verdict/inputs/domains.py): rows of the tables that they
are looked up in, which repeat, ends of their ranges, what the plans name and its neighbours, and large ones. Numbers
are uniform: small enough that softmax does not saturate, so that a wrong value upstream of it shows downstream. A
complex tensor has a trailing axis of length two.
"""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import isqrt, prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from verdict.graph import ABSENT, BUFFER, INPUT, WEIGHT, Logical, Node, Plan, Shape
from verdict.inputs.domains import Domain, domains
from verdict.ops import RULES, Array
from verdict.ops.domain import Integers
from verdict.semantics import Small, signature

RANGE = {INPUT: 1.0, WEIGHT: 0.5, BUFFER: 1.0}
"""Values of each kind lie between minus and plus this."""
IGNORED = 0.3
"""The share of ids that are ignored, where some are."""
WILD = (-129, 128, 255, 256, 300, 32768, 65543, 2**31 + 5, -(2**31) - 3)
"""Integers that do not fit into 8, 16 or 32 bits."""
MOST = 1 << 40
"""Integers beyond this are not drawn."""
HIGHEST, BESIDE = 100, 1e-3
"""Real numbers beyond the first are not given to inputs; how far neighbours lie from what is named."""
MOST_NAMED = 64
"""The integers of longer tuples are values of tensors and no sizes or bounds."""
FEW = 16
"""Of so many rows of a table each is drawn."""
GRID = 64
"""Exact values are multiples of 1 / GRID."""


class Scale(NamedTuple):
    """What real inputs without a stated range, and weights, are multiplied by. zeros: whether about every other row of
    such inputs (along the last axis) is zero, as what fills up a batch may be. silent: the weights, by name, that are.
    end: 1 where all integers are the greatest that they may be, -1 where they are the least: masks that cover all, say.
    """

    inputs: float = 1.0
    weights: float = 1.0
    zeros: bool = False
    silent: frozenset[str] = frozenset()
    end: int = 0

    @property
    def is_loud(self) -> bool:
        """Whether some numbers are greater than usual ones, so that what is made of them may be beyond floats."""
        return max(self.inputs, self.weights) > 1

    @property
    def is_odd(self) -> bool:
        """Whether the single-device plan may have no value for some of what it declares: the rest is compared."""
        return self.zeros or bool(self.end)


USUAL = Scale()
"""Numbers as they are drawn."""


def random_values(
    plan: Plan, small: Small, seed: int, exact: bool, near: Sequence[int] | None = None, wild: bool = True,
    integers: Mapping[int, Domain] | None = None, named: Sequence[float] = (), scale: Scale = USUAL,
) -> dict[int, Array]:  # fmt: skip
    """An array for every logical tensor of the single-device `plan` that is given.

    near: integers that matter (`marks` of both plans). wild: whether integers may be so large that they do not fit into
    few bits. integers: the plan's `domains`, where they are known. named: numbers (`thresholds` of both plans) that
    some elements of real inputs hold. scale: what the other numbers are multiplied by.
    """
    random = np.random.default_rng(seed)
    integers = domains(plan, small) if integers is None else integers
    near = marks(small) if near is None else near
    gain, unsigned = _gain(plan, small), {name for name, low, _ in plan.ranges if low >= 0}
    stated = {name for name, _, _ in plan.ranges}
    values: dict[int, Array] = {}
    for index, logical in enumerate(plan.logicals):
        if logical.kind not in RANGE:
            continue
        shape = small.logicals[index]
        if index in integers:
            same = _at_end(integers[index], scale.end) if scale.end else None
            values[index] = random_integers(random, integers[index], near, wild, seed) if same is None else same
        else:
            bound = RANGE[logical.kind] / (gain if logical.kind == WEIGHT and len(shape) == 1 else 1)
            values[index] = _numbers(random, (*shape, 2) if is_complex(logical) else shape, bound, exact)
            if scale != USUAL and logical.name not in stated:
                values[index] = _scaled(random, values[index], logical.kind, scale)
            if named and logical.kind == INPUT:
                values[index] = _mixed(random, values[index], named, seed)
            if logical.name in unsigned:
                values[index] = np.abs(values[index])
            if logical.name in plan.positive:
                least = np.asarray(Fraction(bound) if exact else bound)
                values[index] = np.where(values[index] == 0, least, values[index])
            if logical.kind == WEIGHT and logical.name in scale.silent:
                values[index] = values[index] * 0
    return values


def with_usual_rows(values: Mapping[int, Array], integers: Mapping[int, Domain]) -> dict[int, Array]:
    """The same values with a row of the tables, any one, in the place of each integer that is none though it is looked
    up. integers: the `domains` of the plan that is given them.
    """
    found = dict(values)
    for index, domain in integers.items():
        random, array = np.random.default_rng(index), values[index].copy()
        for kind, usual in enumerate(domain.usual):
            chosen = (domain.place == kind) & ~_among(array, usual)
            if chosen.any():
                rows = [n for size in domain.tables or (4,) for n in _sample(random, usual, size)]
                array[chosen] = random.choice(np.asarray(rows or usual.hull[:1]), int(chosen.sum()))
        found[index] = array
    return found


def _at_end(domain: Domain, end: int) -> Array | None:
    """All integers of a tensor the least or the greatest that they may be; None where there is none such."""
    ends = [known.hull[end > 0] for known in domain.usual]
    found = [n for n in ends if n is not None and abs(n) < MOST]
    return np.asarray(found, dtype=np.int64)[domain.place] if found and len(found) == len(ends) else None


def _among(array: Array, known: Integers) -> npt.NDArray[np.bool_]:
    inside = np.ones(array.shape, dtype=bool)
    if known.low is not None:
        inside &= array >= known.low
    if known.high is not None:
        inside &= array <= known.high
    return np.asarray(inside | np.isin(array, known.beside))


def _scaled(random: np.random.Generator, values: Array, kind: str, scale: Scale) -> Array:
    """Numbers of a kind as a scale asks for them."""
    factor = {INPUT: scale.inputs, WEIGHT: scale.weights}.get(kind, 1)
    scaled: Array = values * factor if factor else np.zeros_like(values)
    if scale.zeros and kind == INPUT and values.ndim:
        scaled[random.random(values.shape[:-1] or values.shape) < 0.5] = 0
    return scaled


def _mixed(random: np.random.Generator, values: Array, named: Sequence[float], turn: int) -> Array:
    """The values, every other one of them replaced by what is named, in turn over the drawings."""
    order = np.random.default_rng(0).permutation(np.asarray(named))
    chosen = order[(turn * values.size + np.arange(values.size)) % len(order)].reshape(values.shape)
    return np.where(random.random(values.shape) < 0.5, chosen, values)


def _gain(plan: Plan, small: Small) -> int:
    """About by how much what is divided by its root mean square is too large at small shapes.

    There the mean divides fewer elements by their full number. The weights of norms are drawn smaller by that much.
    """
    found = 1.0
    for node in (node for segment in plan.segments for node in segment.nodes if _averages(node)):
        count = small.attrs[signature(node)].get("count")
        if count and node.outputs[0] != ABSENT:
            kept = prod(small.shape(node.inputs[0])) / prod(small.shape(node.outputs[0]))
            found = max(found, count / kept)
    return isqrt(int(found))


def _averages(node: Node) -> bool:
    rule = RULES.get(node.op)
    return rule is not None and bool(rule.average_of)


def is_complex(logical: Logical) -> bool:
    """Whether the arrays of a tensor have a trailing axis of (real, imaginary)."""
    return logical.dtype.startswith("complex")


def _numbers(random: np.random.Generator, shape: Shape, bound: float, exact: bool) -> Array:
    if not exact:
        return random.uniform(-bound, bound, shape)
    steps = random.integers(-GRID, GRID, shape, endpoint=True)
    numbers = np.frompyfunc(lambda step: Fraction(int(step), GRID) * Fraction(bound), 1, 1)(steps)
    return np.asarray(numbers, dtype=object)


def marks(*plans: Small) -> tuple[int, ...]:
    """The integers that plans name at the shapes at which they are run, sizes and attributes, and their neighbours."""
    found = {0, 1}
    for small in plans:
        found |= {size for shape in small.logicals for size in shape}
        found |= {number for attrs in small.attrs.values() for value in attrs.values() for number in _whole(value)}
    return tuple(sorted({near for number in found if abs(number) < MOST for near in (number - 1, number, number + 1)}))


def thresholds(*plans: Small) -> tuple[float, ...]:
    """The small numbers that attributes of some plans name, and their neighbours: bounds, and what is compared."""
    named = (value for small in plans for attrs in small.attrs.values() for value in attrs.values())
    found = {number for value in named for number in _small(value)}
    steps = {number: BESIDE * max(1.0, abs(number)) for number in found}
    return tuple(sorted({near for n, step in steps.items() for near in (n - step, n, n + step)}))


def _small(value: Any) -> Iterator[float]:
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= HIGHEST:
        yield float(value)
    elif isinstance(value, tuple) and len(value) <= MOST_NAMED:
        for item in value:
            yield from _small(item)


def _whole(value: Any) -> Iterator[int]:
    if isinstance(value, int) and not isinstance(value, bool):
        yield value
    elif isinstance(value, float) and value.is_integer() and abs(value) < MOST:
        yield int(value)
    elif isinstance(value, tuple) and len(value) <= MOST_NAMED:
        for item in value:
            yield from _whole(item)


def random_integers(
    random: np.random.Generator, domain: Domain, near: Sequence[int] = (), wild: bool = False, turn: int = 0
) -> Array:
    """Random integers of a domain: rows of its tables, its ends and what is near what plans name, and large ones.

    turn: which of several drawings it is. One after the other they go through all the ends and what is near.
    """
    made = np.empty(domain.place.shape, dtype=np.int64)
    for kind, known in enumerate(domain.kinds):
        places = domain.place == kind
        made[places] = _drawn(random, known, domain.tables, near, wild, int(places.sum()), turn)
    return made


def _drawn(
    random: np.random.Generator, known: Integers, tables: Sequence[int], near: Sequence[int], wild: bool, count: int,
    turn: int,
) -> Array:  # fmt: skip
    """So many integers. Every other one is an end of the domain or near what plans name; where some are large, every
    sixth is.
    """
    ends = [end for end in known.hull if end is not None and abs(end) < MOST]
    others = [n for n in near if known.holds(n) and n not in ends]
    border = [*ends, *np.random.default_rng(0).permutation(others).tolist()]
    far = [n for n in WILD if wild and known.holds(n)]
    usual = [n for size in tables or (4,) for n in _sample(random, known, size)] or border
    made = np.resize(random.permutation(np.asarray(usual or [0], dtype=np.int64)), count)
    half = np.arange(0, count, 2)
    if border:
        made[half] = np.asarray(border)[(turn * len(half) + np.arange(len(half))) % len(border)]
    for values, share in ((far, 1 / 6), (known.beside, IGNORED)):
        chosen = random.random(count) < share
        if values:
            made[chosen] = random.choice(np.asarray(values), int(chosen.sum()))
    return random.permutation(made)


def _sample(random: np.random.Generator, known: Integers, size: int) -> list[int]:
    """The integers of a domain among the rows of a table, some of them where they are many."""
    low, high = max(0, known.low or 0), min(size - 1, size if known.high is None else known.high)
    if high - low < FEW:
        return list(range(low, high + 1))
    return [int(n) for n in random.integers(low, high + 1, 8 + size % 8)]
