"""Terms as they are written: nothing is simplified, sorted, flattened or shared. What the solvers are asked anew.

The production terms (terms.py) close most obligations by making equal constructions one object. Here an operator's
rule leaves the expression tree of its arithmetic, one node an operation, so that a solver decides the equality
without any of that. Minus infinity is no real number: its arithmetic is done where it is written.
"""

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any, cast

import numpy as np

from verdict.solver.errors import SolverError
from verdict.solver.term import Span


class Plain:
    """One operation. head: add, sub, mul, part, div, neg, power, exp, log, max, indicator, opaque, constant, real,
    index, integer or infinity (minus infinity). data: the number, exponent, name, (name, size) or (name, span) of it.
    """

    __slots__ = ("args", "data", "head")

    def __init__(self, head: str, args: tuple["Plain", ...] = (), data: Any = None) -> None:
        self.head = head
        self.args = args
        self.data = data

    def __add__(self, other: object) -> "Plain":
        return _binary("add", self, other)

    def __radd__(self, other: object) -> "Plain":
        return _binary("add", other, self)

    def __sub__(self, other: object) -> "Plain":
        return _binary("sub", self, other)

    def __rsub__(self, other: object) -> "Plain":
        return _binary("sub", other, self)

    def __mul__(self, other: object) -> "Plain":
        return _binary("mul", self, other)

    def __rmul__(self, other: object) -> "Plain":
        return _binary("mul", other, self)

    def __truediv__(self, other: object) -> "Plain":
        return _binary("div", self, other)

    def __rtruediv__(self, other: object) -> "Plain":
        return _binary("div", other, self)

    def __neg__(self) -> "Plain":
        return Plain("neg", (_finite(self),))

    def __pos__(self) -> "Plain":
        return self

    def __pow__(self, exponent: int | Fraction) -> "Plain":
        return self.power(exponent)

    def __bool__(self) -> bool:
        raise TypeError("a term has no truth value; compare terms by goals")

    def number(self, value: int | Fraction) -> "Plain":
        """A number as a node."""
        return plain(value)

    def exp(self) -> "Plain":
        """e to the power of this."""
        return Plain("constant", data=Fraction(0)) if self.head == "infinity" else Plain("exp", (self,))

    def log(self) -> "Plain":
        """The natural logarithm."""
        return Plain("log", (_finite(self),))

    def power(self, exponent: int | Fraction) -> "Plain":
        """This to a rational power."""
        return Plain("power", (_finite(self),), Fraction(exponent))

    def maximum(self, other: object) -> "Plain":
        """The larger of this and another."""
        term = plain(other)
        if self.head == "infinity":
            return term
        return self if term.head == "infinity" else Plain("max", (self, term))

    def indicator(self, value: int) -> "Plain":
        """1 where this equals `value`, else 0."""
        return Plain("indicator", (_finite(self),), int(value))

    def same(self, other: object) -> bool:
        """Whether another one is written in the same way, of the same parts."""
        pairs: list[tuple[Plain, object]] = [(self, other)]
        while pairs:
            one, two = pairs.pop()
            if one is two:
                continue
            if not isinstance(two, Plain) or (one.head, one.data) != (two.head, two.data):
                return False
            if len(one.args) != len(two.args):
                return False
            pairs.extend(zip(one.args, two.args, strict=True))
        return True

    @property
    def constant(self) -> Fraction | None:
        """The number that this is written as, if it is one."""
        return self.data if self.head == "constant" else None

    def within(self, low: int, high: int) -> bool:
        """Whether this is a variable that is one of the integers from `low` to `high`."""
        if self.head == "index":
            return low <= 0 and self.data[1] - 1 <= high
        if self.head != "integer":
            return False
        least, most = self.data[1]
        return least is not None and most is not None and low <= least and most <= high

    def tabulate(self, function: Callable[..., int | Fraction], *others: object) -> None:
        """What this is made of is not looked into."""

    def choose(self, one: object, other: object) -> "Plain":
        """`one` where this truth value is 1, `other` where it is 0."""
        sides = plain(one), plain(other)
        if any(side.head == "infinity" for side in sides):
            return Plain("choose", (_finite(self), *sides))
        return self.part(sides[0]) + (1 - self).part(sides[1])

    def part(self, value: "Plain") -> "Plain":
        """`value` times this mask, and 0 where the mask is 0, whatever the value is there."""
        return Plain("part", (_finite(self), _finite(value)))

    def opaque(self, name: str, *others: object) -> "Plain":
        """The function `name` of this and others."""
        return Plain("opaque", (self, *map(plain, others)), name)


class PlainTerms:
    """The variables of one obligation."""

    def __init__(self) -> None:
        self.variables: dict[str, Plain] = {}

    def real(self, name: str, *, total: bool = True) -> Plain:
        """A real variable, `total` or not: written plainly it is a number."""
        return self.variables.setdefault(name, Plain("real", data=name))

    def positive(self, name: str) -> Plain:
        """A real variable that is greater than 0."""
        return self.variables.setdefault(name, Plain("positive", data=(name,)))

    def index(self, name: str, size: int) -> Plain:
        """An integer variable in range(size)."""
        return self.variables.setdefault(name, Plain("index", data=(name, size)))

    def integer(self, name: str, low: int | None = None, high: int | None = None) -> Plain:
        """An integer variable, not below `low` and not above `high` where there are such bounds."""
        return self.variables.setdefault(name, Plain("integer", data=(name, Span(low, high))))


def plain(value: object) -> Plain:
    """The node of an exact number or minus infinity. Raises SolverError for what is neither, nor a node."""
    if isinstance(value, Plain):
        return value
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return Plain("constant", data=Fraction(int(value)))
    if isinstance(value, Fraction):
        return Plain("constant", data=value)
    if isinstance(value, float | np.floating) and value == -np.inf:
        return Plain("infinity")
    raise SolverError(f"{value!r} is no exact number")


def below(roots: Iterable[Plain], most: int = 1 << 62) -> list[Plain] | None:
    """All nodes that `roots` consist of, each once, arguments first; None where they are more than `most`."""
    found: dict[Plain, None] = {}
    for root in roots:
        stack = [root]
        while stack:
            node = stack[-1]
            before = [arg for arg in node.args if arg not in found] if node not in found else ()
            stack.extend(before)
            if before:
                continue
            found[stack.pop()] = None
            if len(found) > most:
                return None
    return list(found)


def _binary(head: str, left: object, right: object) -> Plain:
    """The operation on two numbers or nodes; numpy takes an array apart itself."""
    if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
        return cast(Plain, NotImplemented)
    a, b = plain(left), plain(right)
    if a.head != "infinity" and b.head != "infinity":
        return Plain(head, (a, b))
    if head == "add" or (head == "sub" and b.head != "infinity"):
        return Plain("infinity")
    raise SolverError(f"{head} of minus infinity")


def _finite(node: Plain) -> Plain:
    if node.head == "infinity":
        raise SolverError("a function of minus infinity")
    return node
