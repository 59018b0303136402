"""Rational functions modulo a large prime: what differs there is no one polynomial, before it is multiplied out.

Everything that two terms with one normal form share is kept: a variable has one residue, an index one of its values, a
step one of 0 and 1, and a function of which nothing is known one residue for the residues of its arguments. So terms
of different residues have different normal forms; this rejects, and equal residues prove nothing. Of exponentials,
logarithms, roots and maxima no residues are known: what is made of them is not looked at.
"""

from collections.abc import Callable, Sequence
from hashlib import blake2b

from verdict.solver.obligation import Element
from verdict.solver.term import Kind, Number, Term, is_step

PRIME = 2**61 - 1
"""A Mersenne prime: different polynomials of degree d agree at a random point in d of 2.3 * 10^18 cases."""
Residue = int | None


class Residues:
    """The residues of terms at one point, each computed once; None where it is not known."""

    def __init__(self) -> None:
        self._known: dict[Term, Residue] = {}

    def different(self, elements: Sequence[Element]) -> set[Element]:
        """Those whose sides have no one normal form. What is not told apart may or may not have one."""
        if not elements:
            return set()
        for term in elements[0].single.terms.below([side for e in elements for side in (e.single, e.parallel)]):
            if term not in self._known:
                self._known[term] = self._made(term)
        return {e for e in elements if self._apart(self._known[e.single], self._known[e.parallel])}

    @staticmethod
    def _apart(one: Residue, other: Residue) -> bool:
        return one is not None and other is not None and one != other

    def _made(self, term: Term) -> Residue:
        make = _BY_KIND.get(term.kind)
        if make is None:
            return None
        args = [self._known[arg] for arg in term.args]
        listed = [arg for arg in args if arg is not None]
        if len(listed) < len(args):
            return None
        try:
            return make(term, listed)
        except ValueError:
            return None


def _number(value: Number) -> int:
    """A rational number. Raises ValueError where its denominator has no inverse."""
    return value.numerator * pow(value.denominator, -1, PRIME) % PRIME if value.denominator > 1 else value.numerator


def _sum(term: Term, args: Sequence[int]) -> int:
    constant, weights = term.data
    total = sum(_number(weight) * arg for weight, arg in zip(weights.values(), args, strict=True))
    return int(_number(constant) + total) % PRIME


def _product(term: Term, args: Sequence[int]) -> int:
    product = 1
    for arg, exponent in zip(args, term.data.values(), strict=True):
        product = product * (arg if exponent == 1 else pow(arg, exponent, PRIME)) % PRIME
    return product


def _index(term: Term, _: Sequence[int]) -> int:
    name, _, size = term.data
    return int(_drawn("index", name) % size)


def _opaque(term: Term, args: Sequence[int]) -> int:
    drawn = _drawn(term.data, *args)
    return drawn % 2 if is_step(term) else drawn


def _drawn(*key: str | int) -> int:
    """A random residue, always the same one for a key."""
    return int.from_bytes(blake2b(repr(key).encode(), digest_size=16).digest()) % PRIME


_BY_KIND: dict[Kind, Callable[[Term, Sequence[int]], int]] = {
    Kind.CONSTANT: lambda term, _: _number(term.data) % PRIME,
    Kind.REAL: lambda term, _: _drawn("real", term.data[0]),
    Kind.INDEX: _index,
    Kind.SUM: _sum,
    Kind.PRODUCT: _product,
    Kind.INVERSE: lambda _, args: pow(args[0], -1, PRIME),
    Kind.INDICATOR: lambda term, args: int(args[0] == term.data),
    Kind.OPAQUE: _opaque,
}
