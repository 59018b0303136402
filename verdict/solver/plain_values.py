"""Plain terms at a point: exact where the values are rational, else intervals that contain them."""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from fractions import Fraction
from typing import Any

from verdict.solver.functions import JOINED, computed, on_fractions, on_intervals
from verdict.solver.intervals import Interval, Intervals, UncertainError, separate
from verdict.solver.plain import Plain, below

_BITS = 256
"""Bits of the intervals; values that overlap at this precision are not known to differ."""
_ROUNDING = Fraction(1, 1 << 40)
"""A constant this close to an irrational value, relative to it, is not known to differ: it may be that value in 64 bits
(`constants-rounded`)."""
_LARGEST_EXPONENT = 1 << 16
"""The exponential of what may be greater in size counts as not known, and shows no difference."""
_OF_INFINITY = ("exp", "max", "opaque")
"""What has a value of minus infinity; of other functions of it nothing is known here."""


class _No(Enum):
    """Why there is no number."""

    INFINITY = "minus infinity"
    UNDEFINED = "no value"
    UNCERTAIN = "not known at this precision"


Value = Fraction | Interval | _No


def differs(pairs: Sequence[tuple[Plain, Plain]], point: Mapping[str, Fraction | bool]) -> bool:
    """Whether some pair certainly differs at `point`, at which every first side certainly has a value.

    Variables that the point does not name are 0. A point at which an integer is none shows nothing.
    """
    values = _Values(point)
    for node in below(side for pair in pairs for side in pair) or ():
        values.add(node)
        if node.head == "integer" and not node.data[1].holds(values.of[node]):
            return False
    if any(values.of[single] in (_No.UNDEFINED, _No.UNCERTAIN) for single, _ in pairs):
        return False
    return any(values.apart(*pair) for pair in pairs)


class _Values:
    def __init__(self, point: Mapping[str, Fraction | bool]) -> None:
        self.of: dict[Plain, Value] = {}
        self._point = point
        self._intervals = Intervals(_BITS)

    def apart(self, one: Plain, other: Plain) -> bool:
        """Whether two sides, the first of known value, certainly differ."""
        single, parallel = self.of[one], self.of[other]
        if parallel is _No.UNCERTAIN:
            return False
        if isinstance(single, _No) or isinstance(parallel, _No):
            return single is not parallel
        if isinstance(single, Fraction) and isinstance(parallel, Fraction):
            return single != parallel
        wide, against = self._wide(single), self._wide(parallel)
        if "constant" not in (one.head, other.head):
            return separate(wide, against)
        near = self._intervals.maximum(wide, -wide) * self._wide(_ROUNDING)
        return bool(against < wide - near or against > wide + near)

    def add(self, node: Plain) -> None:
        """Evaluate a node whose arguments are known."""
        args = [self.of[arg] for arg in node.args]
        self.of[node] = self._value(node, args)

    def _value(self, node: Plain, args: list[Value]) -> Value:
        if node.head == "infinity":
            return _No.INFINITY
        if node.head == "positive":
            return Fraction(self._point.get(node.data[0], 1))
        if node.head in ("real", "index", "integer"):
            return Fraction(self._point.get(node.data if node.head == "real" else node.data[0], 0))
        if node.head == "part" and args[0] == 0:
            return Fraction(0)
        if node.head == "choose" and args[0] in (0, 1):
            return args[1] if args[0] == 1 else args[2]
        for reason in (_No.UNDEFINED, _No.UNCERTAIN):
            if reason in args:
                return reason
        if node.head == "constant":
            return Fraction(node.data)
        if node.head == "choose" or (_No.INFINITY in args and node.head not in _OF_INFINITY):
            return _No.UNCERTAIN
        try:
            if node.head == "opaque":
                return self._opaque(node.data, args)
            return _HEADS[node.head](self, node, args)
        except UncertainError:
            return _No.UNCERTAIN

    def _wide(self, value: Value) -> Interval:
        return self._intervals.of(value) if isinstance(value, Fraction) else value

    def _arithmetic(self, node: Plain, args: list[Value]) -> Value:
        exact = all(isinstance(arg, Fraction) for arg in args)
        a, b = args if exact else map(self._wide, args)
        return _ARITHMETIC[node.head](a, b)

    def _neg(self, node: Plain, args: list[Value]) -> Value:
        return -args[0]  # type: ignore[operator]

    def _div(self, node: Plain, args: list[Value]) -> Value:
        top, bottom = args
        if isinstance(bottom, Fraction):
            if bottom == 0:
                return _No.UNDEFINED
            return top / bottom if isinstance(top, Fraction) else top * self._wide(1 / bottom)
        return self._wide(top) * self._intervals.inverse(bottom)

    def _power(self, node: Plain, args: list[Value]) -> Value:
        (base,), exponent = args, node.data
        if isinstance(base, Fraction):
            if base == 0 and exponent <= 0:
                return Fraction(1) if exponent == 0 else _No.UNDEFINED
            if exponent.denominator == 1:
                return base**exponent.numerator
            if base <= 0:
                return Fraction(0) if base == 0 else _No.UNDEFINED
        if exponent.denominator > 1:
            return self._intervals.power(self._wide(base), exponent)
        power = self._wide(base) ** abs(exponent.numerator)
        return self._intervals.inverse(power) if exponent < 0 else power

    def _exp(self, node: Plain, args: list[Value]) -> Value:
        if args[0] is _No.INFINITY:
            return Fraction(0)
        if args[0] == 0:
            return Fraction(1)
        wide = self._wide(args[0])
        if not (wide > -_LARGEST_EXPONENT and wide < _LARGEST_EXPONENT):
            raise UncertainError
        return self._intervals.exp(wide)

    def _log(self, node: Plain, args: list[Value]) -> Value:
        if isinstance(args[0], Fraction) and args[0] <= 0:
            return _No.UNDEFINED
        return self._intervals.log(self._wide(args[0]))

    def _maximum(self, node: Plain, args: list[Value]) -> Value:
        a, b = args
        if _No.INFINITY in args:
            return b if a is _No.INFINITY else a
        if isinstance(a, Fraction) and isinstance(b, Fraction):
            return max(a, b)
        return self._intervals.maximum(self._wide(a), self._wide(b))

    def _indicator(self, node: Plain, args: list[Value]) -> Value:
        if not isinstance(args[0], Fraction):
            raise UncertainError
        return Fraction(args[0] == node.data)

    def _opaque(self, name: str, args: list[Value]) -> Value:
        if computed(name) and name.partition(" at ")[0] not in JOINED:
            return _No.UNCERTAIN
        clean: list[Any] = [None if arg is _No.INFINITY else arg for arg in args]
        if all(arg is None or isinstance(arg, Fraction) for arg in clean):
            exact = on_fractions(name, clean)
            if exact is not None:
                return exact
        return on_intervals(name, [arg if arg is None else self._wide(arg) for arg in clean], self._intervals)


_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "part": lambda a, b: a * b,
}
_HEADS: dict[str, Callable[[_Values, Plain, list[Value]], Value]] = {
    "add": _Values._arithmetic,
    "sub": _Values._arithmetic,
    "mul": _Values._arithmetic,
    "part": _Values._arithmetic,
    "neg": _Values._neg,
    "div": _Values._div,
    "power": _Values._power,
    "exp": _Values._exp,
    "log": _Values._log,
    "max": _Values._maximum,
    "indicator": _Values._indicator,
}
