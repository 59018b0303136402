"""Which terms of two polynomials are multiplied at all: [i=u][i=v] = 0, where an index has two values."""

from collections import Counter
from collections.abc import Mapping

from verdict.solver.polynomial import Monomial, Polynomial

Part = Mapping[Monomial, int]
"""Some terms of a polynomial."""
_Parts = dict[int | None, dict[Monomial, int]]


class Exclusive:
    """indices: for each atom that says at which value an index is, that index; it may grow."""

    def __init__(self, indices: Mapping[int, str]) -> None:
        self._indices = indices
        self._known: dict[tuple[int, str], tuple[Polynomial, _Parts]] = {}

    def met(self, p: Polynomial, q: Polynomial) -> list[tuple[Part, Part]]:
        """Pairs of parts of the two, whose products add up to that of p and q, denominators apart.

        It is gone by the index of which most terms of the shorter one tell the value.
        """
        if not self._indices or len(p) * len(q) <= 1:
            return [(p.terms, q.terms)]
        fewer, more = (p, q) if len(p) <= len(q) else (q, p)
        told = Counter(self._indices[atom] for key in fewer.terms for atom, _ in key if atom in self._indices)
        if not told:
            return [(p.terms, q.terms)]
        ((index, _),) = told.most_common(1)
        theirs = self._looked_through_once(more, index) if len(fewer) == 1 else self._by_value(more, index)
        anywhere = theirs.get(None, {})
        return [
            (part, more.terms if value is None else anywhere | theirs.get(value, {}))
            for value, part in self._by_value(fewer, index).items()
        ]

    def _looked_through_once(self, p: Polynomial, index: str) -> _Parts:
        """`_by_value`, where few of many terms are wanted: a mask of words is multiplied by one word at a time."""
        place = id(p), index
        if place not in self._known:
            self._known[place] = p, self._by_value(p, index)
        return self._known[place][1]

    def _by_value(self, p: Polynomial, index: str) -> _Parts:
        """The terms of p by the atom that says at which value `index` is; None for those without."""
        found: _Parts = {}
        for key, weight in p.terms.items():
            value = next((atom for atom, _ in key if self._indices.get(atom) == index), None)
            found.setdefault(value, {})[key] = weight
        return found
