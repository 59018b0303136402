"""Which terms of two polynomials are multiplied at all: [i=u][i=v] = 0, where an index has two values."""

from collections import Counter
from collections.abc import Mapping

from verdict.solver.polynomial import Monomial, Polynomial

Part = Mapping[Monomial, int]
"""Some terms of a polynomial."""


def met(p: Polynomial, q: Polynomial, indices: Mapping[int, str]) -> list[tuple[Part, Part]]:
    """Pairs of parts of p and of q, whose products add up to that of p and q, denominators apart.

    indices: for each atom that says at which value an index is, that index. It is gone by the index of which most terms
    of q tell the value.
    """
    told: Counter[str] = Counter()
    if indices and len(p) > 1 and len(q) > 1:
        told.update(indices[atom] for key in q.terms for atom, _ in key if atom in indices)
    if not told:
        return [(p.terms, q.terms)]
    ((index, _),) = told.most_common(1)
    mine, theirs = _by_value(p, index, indices), _by_value(q, index, indices)
    anywhere = theirs.get(None, {})
    return [(part, q.terms if value is None else anywhere | theirs.get(value, {})) for value, part in mine.items()]


def _by_value(p: Polynomial, index: str, indices: Mapping[int, str]) -> dict[int | None, dict[Monomial, int]]:
    """The terms of p by the atom that says at which value `index` is; None for those without."""
    found: dict[int | None, dict[Monomial, int]] = {}
    for key, weight in p.terms.items():
        value = next((atom for atom, _ in key if indices.get(atom) == index), None)
        found.setdefault(value, {})[key] = weight
    return found
