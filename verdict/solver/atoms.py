"""Atoms of the normal form: what a polynomial takes as a variable, and what is known of each when it is made.

Heads: `real` a variable; `whole` a term that is not looked into; `index` the indicator of an index variable; `exp`
e^monomial; `log` of a polynomial; `base` a polynomial that occurs with negative or broken exponents; `max` of
polynomials; `opaque` a function.
An atom's number follows from its structure and names, so the order of atoms is the same in every process.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from hashlib import blake2b

from verdict.solver.polynomial import Monomial, Polynomial, constant
from verdict.solver.term import Sign


@dataclass(frozen=True, slots=True, eq=False)
class Atom:
    """One atom. The head tells which of `monomial`, `polynomials`, `index` (variable of an indicator) is set.

    depth: how deeply atoms are nested in it.
    """

    number: int
    head: str
    sign: Sign
    monomial: Monomial = ()
    polynomials: tuple[Polynomial, ...] = ()
    index: str = ""
    depth: int = 0


class Atoms:
    """All atoms of one obligation, each made once."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Atom] = {}
        self._numbers: dict[int, Atom] = {}
        self.bases: dict[int, Polynomial] = {}
        self.reciprocals: dict[int, Polynomial] = {}
        self.indices: dict[int, str] = {}

    def __getitem__(self, number: int) -> Atom:
        return self._numbers[number]

    def real(self, name: str, sign: Sign) -> Atom:
        """A variable."""
        return self._make("real", name, name, sign)

    def whole(self, uid: int, sign: Sign) -> Atom:
        """The value of a term that is not looked into."""
        return self._make("whole", uid, str(uid), sign)

    def indicator(self, index: str, value: int) -> Atom:
        """1 where the index variable has the value."""
        atom = self._make("index", (index, value), f"{index}={value}", Sign.NONNEGATIVE, index=index)
        self.indices[atom.number] = index
        return atom

    def exp(self, monomial: Monomial) -> Atom:
        """e ** monomial."""
        return self._make("exp", monomial, repr(monomial), Sign.POSITIVE, monomial=monomial)

    def log(self, poly: Polynomial) -> Atom:
        """The logarithm of a polynomial."""
        return self._make("log", poly.key, poly.text(), Sign.UNKNOWN, polynomials=(poly,))

    def base(self, poly: Polynomial, sign: Sign) -> Atom:
        """A polynomial as one factor. `sign` is what is known of the polynomial. Of numbers the reciprocal is noted."""
        atom = self._make("base", poly.key, poly.text(), sign, polynomials=(poly,))
        self.bases[atom.number] = poly
        if poly.terms.keys() == {()}:
            self.reciprocals[atom.number] = constant(1 / next(weight for _, weight in poly.items()))
        return atom

    def maximum(self, polynomials: frozenset[Polynomial], sign: Sign) -> Atom:
        """The largest of a set of polynomials."""
        ordered = tuple(sorted(polynomials, key=Polynomial.text))
        text = " ".join(poly.text() for poly in ordered)
        return self._make("max", tuple(poly.key for poly in ordered), text, sign, polynomials=ordered)

    def opaque(self, name: str, args: tuple[Polynomial | None, ...]) -> Atom:
        """A function of polynomials; None is minus infinity."""
        text = name + " ".join("-inf" if arg is None else arg.text() for arg in args)
        return self._make("opaque", (name, tuple(arg and arg.key for arg in args)), text, Sign.UNKNOWN)

    def step(self, poly: Polynomial) -> Atom:
        """[polynomial > 0], the only indicator of an index of its own."""
        atom = self._make("opaque", ("step", (poly.key,)), f"step{poly.text()}", Sign.NONNEGATIVE)
        self.indices[atom.number] = f"step {atom.number}"
        return atom

    def _make(
        self,
        head: str,
        key: Hashable,
        text: str,
        sign: Sign,
        *,
        monomial: Monomial = (),
        polynomials: tuple[Polynomial, ...] = (),
        index: str = "",
    ) -> Atom:
        found = self._known.get((head, key))
        if found is None:
            number = int.from_bytes(blake2b(f"{head}:{text}".encode(), digest_size=7).digest())
            while number in self._numbers:
                number += 1
            inside = [monomial, *(key for poly in polynomials for key in poly.terms)]
            depth = 1 + max((self._numbers[atom].depth for key in inside for atom, _ in key), default=0)
            found = Atom(number, head, sign, monomial, polynomials, index, depth)
            self._known[head, key] = self._numbers[number] = found
        return found
