"""Terms: the values on which an operator's rule runs when it proves instead of computes.

A term is a node of a hash-consed graph: equal constructions are one object, so `is` decides most obligations.
Sums and products are flattened and keep no order. Nothing that could be undefined is ever simplified away:
a vanishing multiple of a term with a domain condition stays in the sum with coefficient 0.
"""

from collections.abc import Callable, Sequence
from enum import IntEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from verdict.solver.terms import Terms

Number = int | Fraction


class Kind(IntEnum):
    """What a term is. The last two absorb arithmetic and are looked at first."""

    CONSTANT = 0
    REAL = 1
    INDEX = 2
    SUM = 3
    PRODUCT = 4
    INVERSE = 5
    POWER = 6
    EXP = 7
    LOG = 8
    MAXIMUM = 9
    INDICATOR = 10
    OPAQUE = 11
    MINUS_INFINITY = 12
    UNDEFINED = 13


class Sign(IntEnum):
    """What is known of a term's sign from how it is built."""

    UNKNOWN = 0
    NONNEGATIVE = 1
    POSITIVE = 2


class Span(NamedTuple):
    """The integers from `low` to `high`, both included; None is no bound."""

    low: int | None
    high: int | None

    def holds(self, value: Number) -> bool:
        """Whether a number is one of them."""
        return (
            Fraction(value).denominator == 1
            and (self.low is None or value >= self.low)
            and (self.high is None or value <= self.high)
        )


class Term:
    """A node. `data` by kind: the value of a constant; (name, parallel) of a real, (name, parallel, span) of one that
    is an integer; (name, parallel, size) of an index; (constant, {term: coefficient}) of a sum; {term: exponent >= 1}
    of a product; the exponent of a power; the value of an indicator; the name of an opaque function; the reason of an
    undefined term.

    total: no domain condition (non-zero denominator, positive argument) is attached to the term or below it.
    """

    __slots__ = ("args", "data", "kind", "sign", "terms", "total", "uid")

    def __init__(
        self, terms: "Terms", kind: Kind, args: tuple["Term", ...], data: Any, sign: Sign, total: bool
    ) -> None:
        self.terms = terms
        self.uid = len(terms.nodes)
        self.kind = kind
        self.args = args
        self.data = data
        self.sign = sign
        self.total = total
        terms.nodes.append(self)

    def __add__(self, other: object) -> "Term":
        term = self.terms.coerce(other)
        return NotImplemented if term is None else self.terms.add(self, term, 1)

    __radd__ = __add__

    def __sub__(self, other: object) -> "Term":
        term = self.terms.coerce(other)
        return NotImplemented if term is None else self.terms.add(self, term, -1)

    def __rsub__(self, other: object) -> "Term":
        term = self.terms.coerce(other)
        return NotImplemented if term is None else self.terms.add(term, self, -1)

    def __mul__(self, other: object) -> "Term":
        term = self.terms.coerce(other)
        return NotImplemented if term is None else self.terms.multiply(self, term)

    __rmul__ = __mul__

    def __truediv__(self, other: object) -> "Term":
        term = self.terms.coerce(other)
        return NotImplemented if term is None else self.terms.multiply(self, self.terms.inverse(term))

    def __rtruediv__(self, other: object) -> "Term":
        term = self.terms.coerce(other)
        return NotImplemented if term is None else self.terms.multiply(term, self.terms.inverse(self))

    def __neg__(self) -> "Term":
        return self.terms.scale(self, -1)

    def __pos__(self) -> "Term":
        return self

    def __pow__(self, exponent: Number) -> "Term":
        return self.power(exponent)

    def __bool__(self) -> bool:
        raise TypeError("a term has no truth value; compare terms by goals")

    def added(self, others: Sequence[object]) -> "Term":
        """The sum of this and all others, at once."""
        terms = [self, *(self.terms.coerce(other) for other in others)]
        return self.terms.total([(term, 1) for term in terms if term is not None])

    def number(self, value: Number) -> "Term":
        """A number as a term beside this one."""
        return self.terms.constant(value)

    def exp(self) -> "Term":
        """e to the power of this."""
        return self.terms.exp(self)

    def log(self) -> "Term":
        """The natural logarithm; undefined unless positive."""
        return self.terms.log(self)

    def power(self, exponent: Number) -> "Term":
        """This to a rational power; undefined below zero unless the exponent is an integer."""
        return self.terms.power(self, Fraction(exponent))

    def maximum(self, other: object) -> "Term":
        """The larger of this and another."""
        term = self.terms.coerce(other)
        if term is None:
            raise TypeError(f"maximum of a term and {other!r}")
        return self.terms.maximum((self, term))

    def indicator(self, value: int) -> "Term":
        """1 where this equals `value`, else 0."""
        return self.terms.indicator(self, int(value))

    def same(self, other: object) -> bool:
        """Whether another term was made in the same way: such terms are one object."""
        return self is other

    @property
    def constant(self) -> Number | None:
        """The number that this is for all inputs, where that is known."""
        return self.data if self.kind is Kind.CONSTANT else None

    def within(self, low: int, high: int) -> bool:
        """Whether this is known to be an integer from `low` to `high`."""
        return self.terms.within(self, low, high)

    def tabulate(self, function: Callable[..., Number], *others: object) -> "Term | None":
        """function(this, *others) where all of them are made of indices alone, else None."""
        rest = [self.terms.coerce(other) for other in others]
        return self.terms.tabulate(function, [self, *(term for term in rest if term is not None)])

    def choose(self, one: object, other: object) -> "Term":
        """`one` where this truth value is 1, `other` where it is 0."""
        sides = [self.terms.coerce(side) for side in (one, other)]
        if sides[0] is None or sides[1] is None:
            raise TypeError(f"a choice between {one!r} and {other!r}")
        return self.terms.choose(self, sides[0], sides[1])

    def part(self, value: object) -> "Term":
        """`value` times this mask, and 0 where the mask is 0, whatever the value is there."""
        term = self.terms.coerce(value)
        if term is None:
            raise TypeError(f"a part of {value!r}")
        return self.terms.part(self, term)

    def opaque(self, name: str, *others: object) -> "Term":
        """The function `name` of this and others. All that is known of it is in functions.py, or nothing."""
        rest = [self.terms.coerce(other) for other in others]
        if None in rest:
            raise TypeError(f"{name}: an argument is neither a term nor an exact number")
        return self.terms.opaque(name, (self, *(term for term in rest if term is not None)))

    def __repr__(self) -> str:
        return show(self)


def span_of(variable: Term) -> Span | None:
    """The integers that a variable may be; None where it may be any number."""
    if variable.kind is Kind.INDEX:
        return Span(0, variable.data[2] - 1)
    return variable.data[2] if variable.kind is Kind.REAL and len(variable.data) > 2 else None


def is_step(term: Term) -> bool:
    """Whether a term is [x > 0] for some x: one of the numbers 0 and 1."""
    return term.kind is Kind.OPAQUE and term.data == "step" and len(term.args) == 1


_FORMS = {Kind.INVERSE: "1/({})", Kind.EXP: "exp({})", Kind.LOG: "log({})", Kind.MINUS_INFINITY: "-inf"}


def show(term: Term, depth: int = 4) -> str:
    """A term for people, cut off at a depth."""
    if term.kind in (Kind.REAL, Kind.INDEX):
        return str(term.data[0])
    if term.kind is Kind.CONSTANT:
        return str(term.data)
    if term.kind is Kind.UNDEFINED:
        return f"undefined ({term.data})"
    if depth == 0:
        return "..."
    parts = [show(arg, depth - 1) for arg in term.args[:4]] + ["..."] * (len(term.args) > 4)
    if term.kind is Kind.SUM:
        constant, weights = term.data
        signed = [
            f"{weights[arg]}*{part}" if weights[arg] != 1 else part for arg, part in zip(term.args, parts, strict=False)
        ]
        return "(" + " + ".join(signed + parts[4:] + [str(constant)] * (constant != 0)) + ")"
    if term.kind is Kind.PRODUCT:
        powers = [
            part + (f"^{term.data[arg]}" if term.data[arg] > 1 else "")
            for arg, part in zip(term.args, parts, strict=False)
        ]
        return "*".join(powers + parts[4:])
    if term.kind is Kind.POWER:
        return f"({parts[0]})^({term.data})"
    if term.kind is Kind.INDICATOR:
        return f"[{parts[0]}={term.data}]"
    if term.kind in _FORMS:
        return _FORMS[term.kind].format(*parts)
    return f"{'max' if term.kind is Kind.MAXIMUM else term.data}({', '.join(parts)})"
