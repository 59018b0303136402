"""Shorthand for the solver's tests: arrays of variables, and the elementwise functions on arrays of terms."""

from fractions import Fraction
from functools import reduce

import numpy as np

from verdict.solver import Goal, Obligation, Terms

MINUS_INFINITY = float("-inf")
HALF = Fraction(1, 2)


def array(terms: Terms, name: str, *shape: int, parallel: bool = False) -> np.ndarray:
    """An array of real variables name[i,j]."""
    return _fill(shape, lambda index: terms.real(f"{name}{list(index)}", parallel=parallel))


def positive(terms: Terms, name: str, *shape: int) -> np.ndarray:
    """An array of positive variables."""
    return _fill(shape, lambda index: terms.positive(f"{name}{list(index)}"))


def ids(terms: Terms, name: str, count: int, size: int) -> np.ndarray:
    """A vector of index variables."""
    return _fill((count,), lambda index: terms.index(f"{name}{list(index)}", size))


def _fill(shape, make):
    result = np.empty(shape, dtype=object)
    for index in np.ndindex(shape):
        result[index] = make(index)
    return result


def each(function):
    """A function of terms as a function of arrays of terms."""
    return np.vectorize(function, otypes=[object])


exp = each(lambda x: x.exp())
log = each(lambda x: x.log())
step = each(lambda x: x.opaque("step"))
erf = each(lambda x: x.opaque("erf"))


def power(array_, exponent):
    return each(lambda x: x.power(exponent))(array_)


def largest(row):
    return reduce(lambda a, b: a.maximum(b), row)


def sigmoid(x):
    return 1 / (1 + exp(-x))


def softmax(row):
    weights = exp(row - largest(row))
    return weights / weights.sum()


def rows(function, *arrays):
    """A function of vectors applied to each row."""
    return np.array([function(*row) for row in zip(*arrays, strict=True)], dtype=object)


def scalar(value) -> np.ndarray:
    result = np.empty((), dtype=object)
    result[()] = value
    return result


def obligation(terms: Terms, *goals, premises=()) -> Obligation:
    """Goals from (name, single, parallel) triples; scalars become arrays."""
    made = []
    for name, single, parallel in goals:
        sides = [side if isinstance(side, np.ndarray) else scalar(side) for side in (single, parallel)]
        made.append(Goal(name, *sides))
    return Obligation(terms, tuple(made), tuple(premises))
