"""Arithmetic on arrays whose elements are floats, exact rationals or solver terms. Only this module looks.

An array is numpy: float64 (integers for ids), or of objects. An object is an int, a Fraction, a float (minus
infinity, or a value that has no exact form), or a term: anything else, with + - * / and the methods
`number(constant) exp() log() power(Fraction) maximum(other) indicator(int) opaque(name, *others)
tabulate(function, *others) choose(one, other) part(term)` and the attribute `constant`, the number that it is, or None.

On ints and Fractions the result is exact where there is an exact one (0 under exp, erf and tanh, 1 under log,
integer powers, rational roots) and the nearest float elsewhere. A power with no value (0 to the -1) is not a number
there, and a quotient with none raises ZeroDivisionError; floats give an infinity.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from math import prod
from numbers import Rational
from typing import Any

import numpy as np

from verdict.errors import ShapeError
from verdict.graph import Shape
from verdict.ops import elements
from verdict.ops.elements import MINUS_INFINITY, is_number
from verdict.ops.rule import Array

LONG = 10**14
"""A float whose decimal denominator is so great has about all its digits: it is rounded."""
MOST_DENOMINATOR = 2**20
"""The greatest denominator that is looked for; by chance, one in some ten thousand random floats has one."""
ARRAYS = (np.ndarray, np.generic)
"""What has a type of its elements: arrays, and what numpy makes of those that have no dimension."""
MOST_CHOICES = 100_000
"""As terms, more choices of an element for a slot take minutes."""


def array(made: Any, beside: Sequence[Array]) -> Array:
    """What an operator makes as an array: numpy makes a bare element of arrays without a dimension. beside: the arrays
    that it was made of; where some are of objects, the element is one.
    """
    if isinstance(made, np.ndarray):
        return made
    return np.asarray(made, dtype=object if any(map(of_objects, beside)) else None)


def of_objects(x: Any) -> bool:
    """Whether the elements of `x` are objects: exact rationals or terms."""
    return x.dtype.kind == "O" if isinstance(x, ARRAYS) else not isinstance(x, float)


def has_terms(x: Array) -> bool:
    """Whether some element of `x` is a solver term."""
    return of_objects(x) and not all(is_number(value) for value in x.flat)


def rational(value: float | Fraction) -> Fraction:
    """The constant that a finite float is written as: 1e-05 is 1/100000. One with all its digits that is the float
    nearest to a quotient of small whole numbers is that quotient: 0.2857142857142857 is 2/7.
    """
    return Fraction(value) if isinstance(value, Rational) else _rational(float(value))


@lru_cache(maxsize=4096)
def _rational(value: float) -> Fraction:
    written = Fraction(repr(value))
    if written.denominator < LONG:
        return written
    near = written.limit_denominator(MOST_DENOMINATOR)
    return near if near and float(near) == value else written


def scalar(like: Array, value: float | Fraction) -> Any:
    """The constant `value` as an element for arrays like `like`: `rational(value)` among objects."""
    if not of_objects(like):
        return float(value)
    return rational(value) if math.isfinite(value) else float(value)


def zeros(like: Array, shape: Shape) -> Array:
    """Zeros of the kind of `like`."""
    return np.zeros(shape, dtype=object if of_objects(like) else np.float64)


def exp(x: Array) -> Array:
    """e to the x; exp(-inf) is 0."""
    return each(elements.exp, x) if of_objects(x) else np.exp(x)


def log(x: Array) -> Array:
    """The natural logarithm."""
    return each(elements.log, x) if of_objects(x) else np.log(x)


def power(x: Array, exponent: Fraction) -> Array:
    """x to a constant exponent."""
    if not of_objects(x):
        return np.asarray(np.power(np.asarray(x, dtype=np.float64), float(exponent)))
    return each(lambda value: elements.power(value, exponent), x)


def sqrt(x: Array) -> Array:
    """The square root."""
    return power(x, Fraction(1, 2))


def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x))."""
    if of_objects(x):
        return divide(1, 1 + exp(-x))
    return np.asarray(np.exp(-np.logaddexp(0.0, -x)))


def tanh(x: Array) -> Array:
    """The hyperbolic tangent; on terms an unknown function "tanh"."""
    return each(lambda value: elements.known(value, "tanh", math.tanh, 0), x) if of_objects(x) else np.tanh(x)


def erf(x: Array) -> Array:
    """The error function 2/sqrt(pi) times the integral of exp(-t^2) from 0 to x; on terms unknown, "erf"."""
    if not of_objects(x):
        return np.asarray(each(math.erf, x), dtype=np.float64)
    return each(lambda value: elements.known(value, "erf", math.erf, 0), x)


def sin(x: Array) -> Array:
    """The sine; on terms an unknown function "sin"."""
    return each(lambda value: elements.known(value, "sin", math.sin, 0), x) if of_objects(x) else np.sin(x)


def cos(x: Array) -> Array:
    """The cosine; on terms an unknown function "cos"."""
    return each(lambda value: elements.known(value, "cos", math.cos, 1), x) if of_objects(x) else np.cos(x)


def step(x: Array) -> Array:
    """1 where x > 0, else 0; on terms an unknown function "step"."""
    return each(elements.step, x) if of_objects(x) else np.asarray(x > 0, dtype=np.float64)


def maximum(x: Array, y: Any) -> Array:
    """The greater of each two elements."""
    return each(elements.maximum, x, y) if of_objects(x) or of_objects(np.asarray(y)) else np.maximum(x, y)


def amax(x: Array, axis: int) -> Array:
    """The greatest element along `axis`, which stays with size one; of none it is minus infinity."""
    if not x.shape[axis]:
        shape = [1 if place == axis % x.ndim else size for place, size in enumerate(x.shape)]
        return np.full(shape, MINUS_INFINITY, dtype=x.dtype)
    if not of_objects(x):
        return np.asarray(np.max(x, axis=axis, keepdims=True))
    return np.asarray(np.frompyfunc(elements.maximum, 2, 1).reduce(x, axis=axis, keepdims=True), dtype=object)


def finite(x: Array) -> Array:
    """Elements with zeros in the place of infinities; terms as they are."""
    if not of_objects(x):
        return np.where(np.isinf(x), 0.0, x)
    return each(lambda value: 0 if elements.is_number(value) and abs(value) == math.inf else value, x)


def indicator(ids: Array, value: int) -> Array:
    """1 where an id equals `value`, else 0."""
    if not of_objects(ids):
        return np.asarray(ids == value, np.float64)
    return each(lambda id_: elements.indicator(id_, value), ids)


def divide(x: Any, y: Any) -> Array:
    """x / y, exact on ints too."""
    if of_objects(np.asarray(x)) or of_objects(np.asarray(y)):
        return each(elements.divide, x, y)
    return np.asarray(np.true_divide(x, y))


def matmul(x: Array, y: Array) -> Array:
    """The matrix product over the last two dimensions, as numpy.matmul; on terms each element is one flat sum."""
    if not (of_objects(x) or of_objects(y)) or x.ndim < 2 or y.ndim < 2:
        return np.asarray(np.matmul(x, y))
    batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    left = np.broadcast_to(x, (*batch, *x.shape[-2:])).reshape(prod(batch), *x.shape[-2:])
    right = np.broadcast_to(y, (*batch, *y.shape[-2:])).reshape(prod(batch), *y.shape[-2:])
    made = np.empty((len(left), *x.shape[-2:-1], y.shape[-1]), dtype=object)
    for page, i, j in np.ndindex(made.shape):
        made[page, i, j] = summed([a * b for a, b in zip(left[page, i], right[page, :, j], strict=True)])
    return made.reshape((*batch, *made.shape[1:]))


def picked(hits: Array, rows: Array) -> Array:
    """hits @ rows for truth values `hits`: of a row that is not hit nothing counts, whatever it holds.

    hits (n, rows), rows (rows, features). Of zeros only hits count that need not have a value.
    """
    made = np.empty((len(hits), rows.shape[1]), dtype=object)
    columns = [[(k, value) for k, value in enumerate(column) if not _is_zero(value)] for column in rows.T]
    for i, row in enumerate(hits):
        plain = all(elements.is_number(hit) or getattr(hit, "total", False) for hit in row)
        for j, column in enumerate(columns):
            every = column if plain else enumerate(rows[:, j])
            made[i, j] = summed([elements.part(row[k], value) for k, value in every])
    return made


def _is_zero(value: Any) -> bool:
    return elements.is_number(value) and value == 0


def summed(values: Sequence[Any]) -> Any:
    """The sum of some numbers and terms, 0 of none; terms that can add many at once do."""
    if not values:
        return 0
    adding = {kind for kind in set(map(type, values)) if hasattr(kind, "added")}
    if not adding:
        return sum(values[1:], start=values[0])
    at = next(k for k, value in enumerate(values) if type(value) in adding)
    return values[at].added([*values[:at], *values[at + 1 :]])


def total(x: Array, axes: tuple[int, ...]) -> Array:
    """The sum along `axes`, which stay with size one."""
    if not of_objects(x):
        return np.asarray(np.sum(x, axis=axes, keepdims=True), dtype=x.dtype)
    gone = [axis % x.ndim for axis in axes]
    kept = [axis for axis in range(x.ndim) if axis not in gone]
    sides = [prod(x.shape[axis] for axis in some) for some in (kept, gone)]
    rows = x.transpose((*kept, *gone)).reshape(sides)
    made = np.empty(len(rows), dtype=object)
    made[:] = [summed(row) for row in rows.tolist()]
    return made.reshape([1 if axis in gone else size for axis, size in enumerate(x.shape)])


def chosen(x: Array, slots: int, order: Callable[[Array], Array], name: str, constants: Sequence[int]) -> Array:
    """[the choice puts element v of the last axis into the slot], of shape (..., slots, elements).

    order: of each row of an array of numbers the elements, first choice first, -1 for none any more. On rows of terms
    an unknown function `name` of the row, the constants, the slot and the element.
    """
    size = x.shape[-1]
    rows = x.reshape(-1, size)
    hits = zeros(x, (len(rows), slots, size))
    if size == 1:
        return np.asarray(hits + 1).reshape((*x.shape[:-1], slots, size))
    if has_terms(x) and hits.size > MOST_CHOICES:
        raise ShapeError(f"it chooses {hits.size:,} times whether an element is taken, the limit is {MOST_CHOICES:,}")
    known = np.asarray([not has_terms(row) for row in rows]) if has_terms(x) else np.full(len(rows), True)
    for row, hit in zip(rows[~known], np.flatnonzero(~known), strict=True):
        first = next(place for place, value in enumerate(row) if not is_number(value))
        rest, called = np.delete(row, first), f"{name} at {first}" if first else name
        for slot, element in np.ndindex(slots, size):
            hits[hit, slot, element] = row[first].opaque(called, *rest, *constants, slot, element)
    if known.any():
        places = order(rows[known])[:, :slots]
        row, slot = np.nonzero(places >= 0)
        hits[np.flatnonzero(known)[row], slot, places[row, slot]] = 1
    return hits.reshape((*x.shape[:-1], slots, size))


def descending(rows: Array) -> Array:
    """The places of numbers along the last axis, the greatest first; of equal ones the lower place."""
    return np.argsort(-rows, axis=-1, kind="stable")


def kept(x: Array, p: float) -> Array:
    """What dropout multiplies each element by: 1 / (1 - p) where the random state keeps it, else 0.

    On terms an unknown function "dropout" of the element and p. On numbers one smooth function of the element,
    1 / ((1 - p) (1 + x^2)), stands for the random state.
    """
    if p in {0, 1}:
        return np.asarray(zeros(x, x.shape) + (1 - int(p)))
    share = rational(p)
    if not of_objects(x):
        return np.asarray(1 / ((1 - p) * (1 + x * x)))
    return each(lambda value: _kept(value, share), x)


def integers(ids: Array) -> Array | None:
    """`ids` as an array of ints, None where some id is a term."""
    return None if has_terms(ids) else ids.astype(np.int64)


def _kept(value: Any, share: Fraction) -> Any:
    if not is_number(value):
        return value.opaque("dropout", share)
    return 1 / ((1 - share) * (1 + value * value))


def each(function: Callable[..., Any], *arrays: Any) -> Array:
    """An array of objects: `function` of each elements that meet, by broadcasting."""
    return np.asarray(np.frompyfunc(function, len(arrays), 1)(*arrays), dtype=object)
