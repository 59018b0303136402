"""Which terms are constants for all values of their variables."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from verdict.solver.errors import LimitError, VacuousError
from verdict.solver.evaluate import FloatValues
from verdict.solver.normal import NormalForms
from verdict.solver.polynomial import constant
from verdict.solver.ring import Ring
from verdict.solver.sampling import sample
from verdict.solver.term import Term

_TERM_LIMIT = 1000
"""The most terms of a normal form; what needs more is taken for no constant."""


def constants(suspects: Sequence[Term], values: Sequence[Fraction]) -> list[bool]:
    """For each term whether it is that value, defined everywhere. False where that is not found out."""
    if not suspects:
        return []
    terms = suspects[0].terms
    order = terms.below(suspects)
    wanted = np.asarray([[float(value)] for value in values])
    with np.errstate(all="ignore"):
        sampled = FloatValues(order, sample(order, 0)).of(suspects)
        near = (np.abs(sampled - wanted) <= 1e-6) | ~np.isfinite(sampled)
    found = [bool(row.mean() > 0.5) and term.total for row, term in zip(near, suspects, strict=True)]
    forms = NormalForms(Ring(_TERM_LIMIT))
    try:
        forms.add(terms.below([term for term, likely in zip(suspects, found, strict=True) if likely]))
    except VacuousError:
        return [False] * len(found)
    return [likely and _is(forms, term, value) for term, value, likely in zip(suspects, values, found, strict=True)]


def _is(forms: NormalForms, term: Term, value: Fraction) -> bool:
    try:
        return forms.of(term) == constant(value)
    except LimitError:
        return False
