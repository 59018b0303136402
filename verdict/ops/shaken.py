"""Numbers that are shaken: what an operator makes is off by some hundred times what floats round it by, and where it is
too great or too small for floats it is the last number before that: what exp makes of -800 is no zero.

What this changes is a property of floats, not of plans: 1 - tanh(x)**2 where tanh(x) is 1 in floats, log(1 + exp(x))
where exp(x) is infinite there.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from verdict.graph import GRAD
from verdict.ops import FACTS, RULES
from verdict.ops.integers import ROUNDING
from verdict.ops.names import UNROUNDED, named
from verdict.ops.rule import Array
from verdict.ops.signs import may_fail, positive, strict

SHAKEN = 2e-14
"""Of itself, what a number is less by: some hundred times what floats round it by. What is at most 1 is so still."""
SPREAD = 1e6
"""What a number's digits are multiplied by for a sine that goes up and down with them."""
STEADY = 0.1
"""Of a difference that is none of floats, by how much both sides together move at most: of one of floats they move by a
hundred times as much.
"""
OTHERS = ("bool", "complex", "int", "uint")
"""How the names of number formats begin that are none of real numbers: complex ones have an axis more."""
MOST_SHAKEN = 20_000_000
"""Up to so many elements it is looked at whether a difference is one of rounding: some seconds."""
FEW, FINEST = 2.0**30, 2.0**20
"""Numbers up to this that are whole multiples of 1 / 2**20 have few digits: products and sums of some are exact."""
WHOLE = frozenset({*ROUNDING, "sign", "floor_divide"})
"""Operators that make whole numbers of all numbers; so does a quotient that is rounded."""
MOST_SORTED = 1_000
"""Up to so many numbers are looked up in an order of the known ones; from there on `isin` is as fast."""
GREATEST, LEAST = 1e300, 1e-300
"""What stands for a number that is too great for floats, and for one that is not zero and too small for them."""


def is_real(dtype: str) -> bool:
    """Whether a type is of real numbers, which alone are shaken."""
    return not dtype.startswith(OTHERS)


def shaken(op: str, attrs: Mapping[str, Any], grads: Sequence[Array], read: Sequence[Array], made: Array) -> Array:
    """What a node of real numbers makes, shaken.

    What it hands on, and what is infinite or zero by what it means, stays, and equal numbers stay equal: what is
    compared, or the greatest, is so as before. Numbers of few digits that are made of such stay, too, as counts are.
    grads, read: what it reads.
    """
    floats = [_in_floats(array) for array in (*grads, *read) if array.dtype.kind in "fO"]
    if _has_few(made) and all(map(_has_few, floats)):
        return made
    digits, _ = np.frexp(made)
    kept = _kept(op, attrs, made, (*grads, *read), floats) | ~np.isfinite(made)
    off = np.where(kept, made, made * (1 - SHAKEN * np.abs(np.sin(SPREAD * digits))))
    if not all(bool(np.isfinite(array).all()) for array in floats) or FACTS.makes_infinite(op, attrs):
        return off
    if not may_fail(op, attrs, [0] * (len(grads) + len(read)), len(grads)):
        off = np.where(np.isinf(made), np.copysign(GREATEST, made), off)
    return np.where(made < LEAST, LEAST, off) if positive(op, attrs, False) else off


def moved(before: Array, behind: Array) -> Array:
    """By how much each number is another one where numbers are shaken; infinite where it is none on one side alone."""
    before, behind = before.astype(np.float64), behind.astype(np.float64)
    with np.errstate(invalid="ignore"):
        same = (before == behind) | (np.isnan(before) & np.isnan(behind))
        away = np.where(same, 0.0, np.abs(before - behind))
    return np.where(np.isnan(away), np.inf, away)


def is_steady(error: float, noise: float) -> bool:
    """Whether a difference is one of plans, where both sides together move by so much as numbers are shaken."""
    return bool(noise <= STEADY * error if np.isfinite(error) else noise < np.inf)


def _kept(
    op: str, attrs: Mapping[str, Any], made: Array, read: Sequence[Array], floats: Sequence[Array]
) -> npt.NDArray[np.bool_]:
    """Where a node makes a number that floats do not round: a whole one, one that it reads, or that it is told.

    Of formulas one that it reads in its place alone, as a sigmoid that is 1 in floats is no 1 that it reads elsewhere.
    """
    rule, name = RULES.get(op.removesuffix(GRAD)), named(op)
    if not op.endswith(GRAD):
        if name in WHOLE or attrs.get("rounding_mode") is not None:
            return np.ones(made.shape, dtype=bool)
        if not UNROUNDED.isdisjoint((op, name)):
            return among(np.abs(made), np.abs(_told(attrs, floats)))
    if not strict(op) or (rule is not None and (rule.moves or rule.copies)):
        return among(made, _told(attrs, floats))
    kept = np.zeros(made.shape, dtype=bool)
    for array in read:
        if array.shape == made.shape:
            kept |= made == array
    return kept


def _told(attrs: Mapping[str, Any], floats: Sequence[Array]) -> Array:
    """All numbers that a node reads, or is told."""
    stated = [float(value) for value in attrs.values() if isinstance(value, int | float)]
    return np.concatenate([*(array.ravel() for array in floats), np.array(stated, dtype=np.float64)])


def among(made: Array, known: Array) -> npt.NDArray[np.bool_]:
    """Which numbers are among the known ones. Of a few, to look them up is several times as fast as `isin`."""
    if not known.size or made.size + known.size > MOST_SORTED:
        return np.isin(made, known)
    ordered = np.sort(known)
    places = ordered.searchsorted(made)
    return np.asarray(ordered[np.minimum(places, ordered.size - 1)] == made, dtype=bool)


def _in_floats(array: Array) -> Array:
    """Numbers as floats, exact ones among them: a constant may be infinite."""
    try:
        return array.astype(np.float64)
    except OverflowError:
        return np.full(array.shape, np.inf)


def _has_few(array: Array) -> bool:
    """Whether all numbers have few digits, as counts and simple constants have. Mostly the first one tells."""
    if array.size and not (float(array.flat[0]) * FINEST).is_integer():
        return False
    digits = array * FINEST
    return bool((np.isfinite(array) & (np.abs(array) <= FEW) & (digits == np.rint(digits))).all())
