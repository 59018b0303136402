"""Sizes of axes that a constant of one plan alone is made of: 0.1 / 32,000 where an axis has 32,000 elements.

Constants keep their values where axes shrink. What such a one agrees with at full shapes, the mean of a row say, it
does not agree with at others: a difference refutes there only if the axis has its size.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from decimal import Context, Decimal
from itertools import chain
from math import copysign, isfinite
from typing import Any

from verdict.graph import ABSENT, Node, Plan
from verdict.ops import Attributes
from verdict.ops.choices import factors_in
from verdict.ops.shaken import is_real
from verdict.reduction.shrink import Reduced, shrink
from verdict.semantics import Binding

FEWEST = 3
"""Axes of fewer elements keep them."""
DIGITS = 3
"""A constant of fewer digits is soon a size times a number of one."""
PRECISION = 12
"""To so many digits a constant is compared with what a size leaves of it: it may be rounded in floats."""


def sizes_in_constants(single: Plan, parallel: Plan) -> Mapping[float, int]:
    """Of constants that one of the plans has and the other has not, without their signs, the size of a dimension of
    either plan in them. It leaves one, or another constant, or of one of DIGITS digits and more a number of one digit;
    the greatest of sizes that do.
    """
    one, other = frozenset(_constants(single)), frozenset(_constants(parallel))
    shapes = {logical.shape for plan in (single, parallel) for logical in plan.logicals}
    sizes = sorted({size for shape in shapes for size in shape if size >= FEWEST}, reverse=True)
    known = {_rounded(constant) for constant in one | other}
    found = ((constant, _size_in(constant, sizes, known)) for constant in one ^ other)
    return {constant: size for constant, size in found if size is not None}


def made_of(constants: Mapping[float, int]) -> str:
    """Constants and the sizes of axes in them, in words."""
    return ", ".join(f"{constant:g} (of {size:,} elements)" for constant, size in sorted(constants.items()))


def shrunk_with_constants(
    single: Plan, parallel: Plan, binding: Binding, constants: Mapping[float, int], grows: Sequence[int]
) -> tuple[Reduced, ...]:
    """Both plans as they are shrunk, once for each of `grows`, with constants that shrink, or grow, as their sizes do.
    Nothing where dimensions of one size become several, or the same twice. Raises Faulty.

    This is another family of plans with the same member at full shapes. constants: see `sizes_in_constants`.
    """
    each = [_with_constants(single, parallel, binding, constants, grow) for grow in grows]
    became = [[sizes[size] for _, sizes in each] for size in constants.values()]
    told = all(None not in sizes and len({*sizes}) == len(sizes) for sizes in became)
    return tuple(reduced for reduced, _ in each) if told else ()


def _with_constants(
    single: Plan, parallel: Plan, binding: Binding, constants: Mapping[float, int], grow: int
) -> tuple[Reduced, Mapping[int, int | None]]:
    """Both plans with other constants, and what the sizes in these become; None for one that becomes several."""
    reduced = shrink(single, parallel, binding, grow)
    became: dict[int, set[int]] = {}
    for plan, small in zip((single, parallel), reduced.small, strict=True):
        for logical, shape in zip(plan.logicals, small.logicals, strict=False):
            for size, its in zip(logical.shape, shape, strict=True):
                if its < size:
                    became.setdefault(size, set()).add(its)
    fewer = {size: became.get(size, {size}) for size in constants.values()}
    known = {size: min(each) if len(each) == 1 else None for size, each in fewer.items()}
    changed = {
        constant: constant if (few := known[size]) is None else _changed(constant, size, few)
        for constant, size in constants.items()
    }
    return shrink(_replaced(single, changed), _replaced(parallel, changed), binding, grow), known


def _changed(constant: float, size: int, small: int) -> float:
    """A constant with another size in it."""
    return constant * size / small if _is_divided(constant) else constant * small / size


def _replaced(plan: Plan, changed: Mapping[float, float]) -> Plan:
    """The plan with other factors in the place of some."""

    def other(value: Any) -> Any:
        number = _number(value)
        if number is None or abs(number) not in changed:
            return value
        put = copysign(changed[abs(number)], number)
        return (put,) if isinstance(value, tuple) else put

    def renewed(node: Node) -> Node:
        factors = {name: other(value) for name, value in _factors(plan, node).items()}
        return node._replace(attrs=tuple((name, factors.get(name, value)) for name, value in node.attrs))

    segments = (segment._replace(nodes=tuple(map(renewed, segment.nodes))) for segment in plan.segments)
    return replace(plan, segments=tuple(segments))


def _size_in(constant: float, sizes: Sequence[int], known: Set[Decimal]) -> int | None:
    """The size that a constant is made of; None where it is made of none."""
    left = {size: _rounded(constant * size if _is_divided(constant) else constant / size) for size in sizes}
    exact = (size for size in sizes if left[size] == 1)
    beside = (size for size in sizes if left[size] in known)
    simple = (size for size in sizes if _digits(left[size]) == 1)
    return next(chain(exact, beside, simple if _digits(_rounded(constant)) >= DIGITS else ()), None)


def _is_divided(constant: float) -> bool:
    """Whether a size is in a constant as its divisor, if it is."""
    return constant < 1


def _constants(plan: Plan) -> Iterator[float]:
    """The factors of real numbers among the attributes of nodes, without their signs."""
    for node in {node._replace(name="") for segment in plan.segments for node in segment.nodes}:
        yield from (abs(number) for number in map(_number, _factors(plan, node).values()) if number)


def _factors(plan: Plan, node: Node) -> Attributes:
    """The attributes of a node of real numbers that are factors."""
    made = [plan.logicals[plan.tensors[tensor].logical].dtype for tensor in node.outputs if tensor != ABSENT]
    names = factors_in(node.op) if made and all(map(is_real, made)) else ()
    return {name: value for name, value in node.attrs if name in names}


def _number(value: Any) -> float | None:
    """The number that an attribute is, or the only one in it; None where it is none, or not finite."""
    alone = value[0] if isinstance(value, tuple) and len(value) == 1 else value
    told = isinstance(alone, int | float) and not isinstance(alone, bool) and isfinite(alone)
    return alone if told else None


def _rounded(value: float) -> Decimal:
    """A number but for rounding in floats."""
    return Decimal(repr(value)).normalize(Context(prec=PRECISION))


def _digits(value: Decimal) -> int:
    """How many digits a number is written with."""
    return len(value.as_tuple().digits)
