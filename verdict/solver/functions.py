"""What opaque functions are when a counterexample is computed: the true function where the name is known.

A function of unknown name may be any function, so a plan must be right for every one. In numbers it is then a
rational function without poles, its weights drawn from the name: the same on floats, Fractions and intervals. Of what
ranks a row nothing is known in proofs either; in numbers it ranks, since what is looked up at a place that none of a
row's elements has is no number.
"""

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from hashlib import shake_256
from typing import Any

import numpy as np
import numpy.typing as npt

from verdict.solver.intervals import Interval, Intervals, UncertainError, middle, separate

Floats = npt.NDArray[np.float64]
_MINUS_INFINITY = -97
"""Stands for minus infinity among the arguments of a function of unknown name."""


ROUNDING = ("floor", "ceil", "trunc", "round")
"""Functions of one number to an integer, which grow with it and leave integers as they are. round(1/2) is 0."""


@dataclass(frozen=True, slots=True)
class Function:
    """One function of one argument, three times. `exact` is None where the value is irrational or unknown.

    jump: where the function is not continuous; `exact` decides its value there.
    """

    floats: Callable[[Floats], Floats]
    exact: Callable[[Fraction], Fraction | None]
    interval: Callable[[Intervals, Interval], Interval]
    jump: Fraction | None = None


def _only_zero(value: Fraction) -> Fraction | None:
    return Fraction(0) if value == 0 else None


def _cosine(value: Fraction) -> Fraction | None:
    return Fraction(1) if value == 0 else None


def _erf(values: Floats) -> Floats:
    return np.array([math.erf(value) for value in values])


def _rounding(floats: Callable[[Floats], Floats], exact: Callable[[Fraction], int]) -> Function:
    def rounded(value: Fraction) -> Fraction:
        return Fraction(exact(value))

    return Function(floats, rounded, lambda intervals, x: intervals.rounded(x, exact))


def _steady(answer: int) -> Function:
    """What is the same of all numbers: whether one is infinite, say."""
    known = Fraction(answer)
    return Function(
        lambda values: np.where(np.isnan(values), np.nan, float(answer)),
        lambda value: known,
        lambda intervals, x: intervals.of(known),
    )


KNOWN: dict[str, Function] = {
    "sin": Function(np.sin, _only_zero, Intervals.sin),
    "cos": Function(np.cos, _cosine, Intervals.cos),
    "tanh": Function(np.tanh, _only_zero, Intervals.tanh),
    "erf": Function(_erf, _only_zero, Intervals.erf),
    "step": Function(
        lambda values: np.where(np.isnan(values), np.nan, (values > 0) * 1.0),
        lambda value: Fraction(value > 0),
        Intervals.step,
        jump=Fraction(0),
    ),
    "infinity": _steady(0),
    "below infinity": _steady(1),
    "floor": _rounding(np.floor, math.floor),
    "ceil": _rounding(np.ceil, math.ceil),
    "trunc": _rounding(np.trunc, math.trunc),
    "round": _rounding(np.round, round),
}

STRICT = frozenset({"sin", "cos", "tanh", "erf"})
"""Functions of one number, that have no value where their argument has none. A step is 0 there, and so may be
what is rounded to an integer.
"""

JOINED: dict[str, Callable[[Any, Any], Any]] = {
    "bitwise and": operator.and_,
    "bitwise or": operator.or_,
    "bitwise xor": operator.xor,
}
"""Functions of two integers, in any order, which join their bits. Of other numbers they are any function."""
COMPUTED = ("bitwise", "bits", "clamp", "remainder")
"""Words of the names of functions of integers. Where they are made of indices alone, proofs compute them."""
RANKING = frozenset({"ranked", "greatest"})
"""Functions of a row of numbers, a slot and an element: whether that element is in the slot when the row is put in
order, the greatest first, of equal ones the lower place. "NAME at 2" has the row's element 2 as its first argument.
"""
_MOST_EXACT = 2**53
"""Below this, floats hold every integer; the bits of greater ones are not joined on floats."""


def _joining(name: str) -> Callable[[Any, Any], Any] | None:
    return JOINED.get(name.removesuffix(" at 1"))


def computed(name: str) -> bool:
    """Whether proofs may know more of a function than that it is one."""
    return any(word in COMPUTED for word in name.split())


def ranked(name: str, args: Sequence[Any]) -> tuple[Any, Sequence[Any], Sequence[Any], Any] | None:
    """The element that is asked for, those before and behind it in the row, and the slot; None of other functions."""
    stem, _, first = name.partition(" at ")
    if stem not in RANKING or len(args) < 4:
        return None
    row = list(args[1:-2])
    row.insert(int(first or 0), args[0])
    element = _whole(args[-1])
    return row[element], row[:element], row[element + 1 :], args[-2]


def _whole(number: Any) -> int:
    """The integer that each of these is: one of the constants that say which element is meant."""
    if isinstance(number, np.ndarray):
        return round(float(number.flat[0]))
    constant = getattr(number, "constant", None)
    if constant is not None:
        return int(constant)
    return round(float(number)) if isinstance(number, Fraction) else round(middle(number))


def _apart(x: Interval | None, y: Interval | None) -> bool:
    """Whether x is certainly greater than y; None is minus infinity. Raises UncertainError where it may be either."""
    if x is None or y is None:
        return x is not None
    if not separate(x, y):
        raise UncertainError
    return bool(x > y)


def _weights(name: str, count: int) -> list[Fraction]:
    digest = shake_256(f"{name}/{count}".encode()).digest(2 * (2 * count + 2))
    numbers = [int.from_bytes(digest[i : i + 2]) for i in range(0, len(digest), 2)]
    return [Fraction(number % 1999 - 999, 512) + Fraction(1, 2048) for number in numbers]


def arbitrary(name: str, args: Sequence[Any]) -> Any:
    """(w.x + a) / (1 + (v.x + b)^2), with weights from the name; args are Fractions, arrays or intervals."""
    weights = _weights(name, len(args))
    top: Any = weights[-1]
    bottom: Any = weights[-2]
    for i, arg in enumerate(args):
        top = top + weights[2 * i] * arg
        bottom = bottom + weights[2 * i + 1] * arg
    return top / (1 + bottom * bottom)


def on_floats(name: str, args: Sequence[Floats]) -> Floats:
    """The function on arrays of points."""
    if name in KNOWN and len(args) == 1:
        return KNOWN[name].floats(args[0])
    row = ranked(name, args)
    if row is not None:
        element, before, behind, slot = row
        place = sum((other >= element for other in before), np.zeros(element.shape))
        place = sum((other > element for other in behind), place)
        return np.where(np.isnan(np.sum(args[:-2], axis=0)), np.nan, (place == slot) * 1.0)
    clean = [np.where(np.isneginf(arg), _MINUS_INFINITY, arg) for arg in args]
    weights = [float(weight) for weight in _weights(name, len(args))]
    top = sum((weights[2 * i] * arg for i, arg in enumerate(clean)), np.full_like(clean[0], weights[-1]))
    bottom = sum((weights[2 * i + 1] * arg for i, arg in enumerate(clean)), np.full_like(clean[0], weights[-2]))
    made = np.asarray(top / (1 + bottom * bottom))
    joined = _joining(name)
    if joined is None or len(args) != 2:
        return made
    whole = np.logical_and.reduce([(arg == np.rint(arg)) & (np.abs(arg) < _MOST_EXACT) for arg in args])
    one, other = (np.where(whole, arg, 0).astype(np.int64) for arg in args)
    return np.where(whole, joined(one, other), made)


def on_fractions(name: str, args: Sequence[Fraction | None]) -> Fraction | None:
    """The function on exact numbers (None is minus infinity); None where the value is not rational."""
    if name in KNOWN and len(args) == 1:
        return None if args[0] is None else KNOWN[name].exact(args[0])
    row = ranked(name, args)
    if row is not None:
        element, before, behind, slot = row
        place = sum(not _greater(element, other) for other in before)
        return Fraction(place + sum(_greater(other, element) for other in behind) == slot)
    joined = _joining(name)
    whole = [int(arg) for arg in args if arg is not None and arg.denominator == 1]
    if joined is not None and len(whole) == len(args) == 2:
        return Fraction(joined(*whole))
    value = arbitrary(name, [_MINUS_INFINITY if arg is None else arg for arg in args])
    return Fraction(value)


def _greater(x: Fraction | None, y: Fraction | None) -> bool:
    return x is not None and (y is None or x > y)


def on_intervals(name: str, args: Sequence[Interval | None], intervals: Intervals) -> Interval:
    """The function on intervals (None is minus infinity), with outward rounding.

    Raises UncertainError where it depends on which number of an interval is meant.
    """
    if _joining(name) is not None:
        raise UncertainError
    if name in KNOWN and len(args) == 1 and args[0] is not None:
        return KNOWN[name].interval(intervals, args[0])
    row = ranked(name, args)
    if row is not None:
        element, before, behind, slot = row
        place = sum(_apart(other, element) for other in (*before, *behind))
        return intervals.of(Fraction(place == _whole(slot)))
    clean = [intervals.of(Fraction(_MINUS_INFINITY)) if arg is None else arg for arg in args]
    weights = [intervals.of(weight) for weight in _weights(name, len(args))]
    top, bottom = weights[-1], weights[-2]
    for i, arg in enumerate(clean):
        top = top + weights[2 * i] * arg
        bottom = bottom + weights[2 * i + 1] * arg
    return top / (intervals.of(Fraction(1)) + bottom * bottom)
