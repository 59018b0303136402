"""A stand-in for solver terms: a float that allows exactly what rules may do with a term, and no more."""

import math
from fractions import Fraction
from functools import partial
from statistics import NormalDist

import mpmath
import numpy as np

from verdict.ops.aten.factors import FUNCTIONS
from verdict.ops.keyed_dropout import drawn
from verdict.ops.numbers import kept

MINUS_INFINITY = float("-inf")


def _choice(best):
    """A gate's choice. best: how many experts tell how good a group is."""

    def choice(*args):
        *scores, groups, kept, slot, expert = args
        grouped = np.array(scores).reshape(int(groups), -1)
        worth = np.sort(grouped, axis=1)[:, -best:].sum(axis=1)
        good = np.argsort(-worth, kind="stable")[: int(kept)]
        masked = np.where(np.isin(np.arange(len(grouped)), good)[:, None], grouped, MINUS_INFINITY).ravel()
        return float(np.argsort(-masked, kind="stable")[int(slot)] == expert)

    return choice


OPAQUE = {
    "erf": math.erf,
    "tanh": math.tanh,
    "atan": math.atan,
    "erfinv": lambda x: NormalDist().inv_cdf((1 + x) / 2) / math.sqrt(2),
    "not a pole of gamma": lambda x: 1.0,
    "lgamma derived 0 times": math.lgamma,
    **{f"lgamma derived {order} times": partial(mpmath.fp.psi, order - 1) for order in range(1, 9)},
    "atan2": math.atan2,
    "atan2 at 1": lambda x, y: math.atan2(y, x),
    "step": lambda x: float(x > 0),
    "sin": math.sin,
    "power": lambda exponent, base: base**exponent,
    "floor": math.floor,
    "ceil": math.ceil,
    "round": round,
    "trunc": math.trunc,
    "cos": math.cos,
    "keyed_dropout": lambda x, p, key, *place: float(drawn(int(key), tuple(map(int, place)))) / (1 - p),
    "dropout": lambda x, p: kept(np.array([x]), p).item(),
    "greatest": lambda *args: float(np.argmax(args[:-2]) == args[-1]),
    "ranked": lambda *args: float(np.argsort(-np.array(args[:-2]), kind="stable")[int(args[-2])] == args[-1]),
    "gate_choice": _choice(1),
    "gate_choice_by_two": _choice(2),
}


def _elementwise(method):
    """Arithmetic that leaves arrays to numpy, which takes them apart."""
    return lambda self, other: NotImplemented if isinstance(other, np.ndarray) else method(self, other)


class Term:
    """A number that mixes with ints, Fractions and minus infinity only, and has no order and no truth."""

    __slots__ = ("parts", "value")

    def __init__(self, value, parts=()):
        self.value = float(value)
        self.parts = parts

    def __bool__(self):
        raise TypeError("a term has no truth value")

    def __eq__(self, other):
        raise TypeError("terms are not compared")

    __hash__ = None

    @_elementwise
    def __add__(self, other):
        return Term(self.value + number(other))

    __radd__ = __add__

    @_elementwise
    def __sub__(self, other):
        return Term(self.value - number(other))

    @_elementwise
    def __rsub__(self, other):
        return Term(number(other) - self.value)

    @_elementwise
    def __mul__(self, other):
        return Term(self.value * number(other))

    __rmul__ = __mul__

    @_elementwise
    def __truediv__(self, other):
        return Term(self.value / number(other))

    @_elementwise
    def __rtruediv__(self, other):
        return Term(number(other) / self.value)

    def __neg__(self):
        return Term(-self.value)

    def number(self, value):
        return Term(number(value))

    def exp(self):
        return Term(math.exp(self.value))

    def log(self):
        return Term(math.log(self.value))

    def power(self, exponent):
        if type(exponent) is not Fraction:
            raise TypeError(f"an exponent must be a Fraction, not {exponent!r}")
        return Term(self.value ** float(exponent))

    def maximum(self, other):
        return Term(max(self.value, number(other)))

    def same(self, other):
        return self is other

    def indicator(self, value):
        if type(value) is not int:
            raise TypeError(f"an id must be an int, not {value!r}")
        return Term(self.value == value)

    constant = None

    def within(self, low, high):
        return low <= self.value <= high

    def tabulate(self, function, *others):
        return Term(function(self.value, *map(number, others)))

    def choose(self, one, other):
        return Term(number(one) if self.value else number(other))

    def part(self, value):
        return Term(self.value * value.value)

    def opaque(self, name, *others):
        if name.startswith("whole of "):
            return Term(0, _parts(name.removeprefix("whole of "), self.value, [number(other) for other in others]))
        if self.parts:
            return Term(1 if name == "regular" else np.asarray(FUNCTIONS[name](*self.parts))[others])
        return Term(OPAQUE[name](self.value, *(number(other) for other in others)))


def _parts(name, first, values):
    """The matrices of whose elements a term is an unknown function; its name says of which shapes they are."""
    shapes, _, place = name.partition(" at ")
    values = [*values[: int(place)], first, *values[int(place) :]]
    made = []
    for text in shapes.split(" and "):
        shape = tuple(map(int, text.split("x")))
        made.append(np.array([values.pop(0) for _ in range(math.prod(shape))]).reshape(shape))
    return made


def number(other):
    """The value of what a term may meet; TypeError for anything that is not exact."""
    if type(other) is Term:
        return other.value
    if type(other) in {int, Fraction} or (type(other) is float and other == MINUS_INFINITY):
        return float(other)
    raise TypeError(f"{other!r} of type {type(other).__name__} is not exact")


def to_terms(array):
    """Every finite element as a term; minus infinity stays."""
    return _converted(array, Term)


def to_fractions(array):
    """Every finite element as a Fraction (an id as an int); minus infinity stays."""
    return _converted(array, int if array.dtype.kind in "iu" else Fraction)


def _converted(array, kind):
    values = [value if value == MINUS_INFINITY else kind(value) for value in array.ravel().tolist()]
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made.reshape(array.shape)


def to_floats(array):
    """The values of terms, Fractions or floats."""
    if array.dtype != object:
        return np.asarray(array, dtype=np.float64)
    values = [value.value if type(value) is Term else float(value) for value in array.flat]
    return np.array(values, dtype=np.float64).reshape(array.shape)
