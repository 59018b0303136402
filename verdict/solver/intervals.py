"""Interval arithmetic with outward rounding, at a chosen precision: what makes a difference certain.

mpmath supplies the rounded operations, exp, log, sin and cos. Everything that would need a value outside a
function's domain raises UncertainError: at this precision the interval is too wide to tell.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from mpmath.ctx_iv import MPIntervalContext

Interval = Any
_SERIES_REACH = 6
"""|x| up to which erf is summed; beyond, it is within 2.2e-17 of its limit."""
_BEYOND = 2.0**-53
"""How far erf may be from its limit beyond that reach: five times what it is at most, and exact in binary."""


class UncertainError(Exception):
    """An interval contains a point at which the function is undefined."""


class Intervals:
    """Interval operations at `bits` of precision. Its mpmath context is its own: no global changes."""

    def __init__(self, bits: int) -> None:
        self._context = MPIntervalContext()
        self._context.prec = bits
        self._bits = bits

    def of(self, value: Fraction) -> Interval:
        """The narrowest interval around an exact number."""
        return self._context.mpf(value.numerator) / self._context.mpf(value.denominator)

    def inverse(self, x: Interval) -> Interval:
        """1 / x."""
        if 0 in x:
            raise UncertainError
        return 1 / x

    def exp(self, x: Interval) -> Interval:
        """e to the power of x."""
        return self._context.exp(x)

    def log(self, x: Interval) -> Interval:
        """The natural logarithm."""
        if not x > 0:
            raise UncertainError
        return self._context.log(x)

    def power(self, x: Interval, exponent: Fraction) -> Interval:
        """x to a rational power that is not an integer."""
        return self.exp(self.of(exponent) * self.log(x))

    def maximum(self, x: Interval, y: Interval) -> Interval:
        """The larger of two."""
        if x >= y:
            return x
        if y >= x:
            return y
        return self._context.mpf([max(x.a, y.a, key=_end), max(x.b, y.b, key=_end)])

    def sin(self, x: Interval) -> Interval:
        """The sine."""
        return self._context.sin(x)

    def cos(self, x: Interval) -> Interval:
        """The cosine."""
        return self._context.cos(x)

    def tanh(self, x: Interval) -> Interval:
        """1 - 2 / (exp(2x) + 1)."""
        return 1 - 2 / (self.exp(2 * x) + 1)

    def step(self, x: Interval) -> Interval:
        """1 where x > 0, else 0."""
        if x > 0:
            return self._context.mpf(1)
        return self._context.mpf(0) if x <= 0 else self._context.mpf([0, 1])

    def rounded(self, x: Interval, function: Callable[[Fraction], int]) -> Interval:
        """A function to integers that grows with its argument."""
        low, high = (function(_exactly(end)) for end in x._mpi_)
        return self._context.mpf([low, high])

    def erf(self, x: Interval) -> Interval:
        """2/sqrt(pi) * sum of (-1)^n x^(2n+1) / (n! (2n+1)); the first term left out bounds the rest."""
        if x >= _SERIES_REACH:
            return self._context.mpf([1 - _BEYOND, 1])
        if x <= -_SERIES_REACH:
            return self._context.mpf([-1, _BEYOND - 1])
        if not (x > -_SERIES_REACH and x < _SERIES_REACH):
            return self._context.mpf([-1, 1])
        square, power, total, n = x * x, x, x * 0, 0
        smallest = self._context.mpf(2) ** (-self._bits - 4)
        while n <= 2 * _SERIES_REACH**2 or not abs(power) < smallest:
            total += power / (2 * n + 1)
            n += 1
            power *= -square / n
        bound = abs(power).b
        rest = self._context.mpf([-bound, bound])
        return 2 / self._context.sqrt(self._context.pi) * (total + rest)


def _exactly(end: tuple[int, int, int, int]) -> Fraction:
    """An end of an interval, as mpmath keeps it, as a number. Raises UncertainError for what is not finite."""
    sign, mantissa, exponent, _ = end
    if not mantissa and exponent:
        raise UncertainError
    value = Fraction(int(mantissa)) * Fraction(2) ** exponent
    return -value if sign else value


def _end(bound: Interval) -> Any:
    return bound.a


def separate(x: Interval, y: Interval) -> bool:
    """Whether two intervals have no point in common."""
    return bool(x < y or x > y)


def middle(x: Interval) -> float:
    """A float within rounding of the middle of an interval."""
    return float(x.mid.a)
