"""What the solver is asked: that two arrays of terms are equal for all inputs that satisfy the premises."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from verdict.outcome import Spot
from verdict.solver.errors import SolverError
from verdict.solver.term import Term
from verdict.solver.terms import Terms

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Goal:
    """One equality, element by element. Elements are terms or exact numbers."""

    name: Spot | str
    single: Array
    parallel: Array


@dataclass(frozen=True, eq=False)
class Obligation:
    """Goals under premises. A premise (a, b) is a linear equality a = b between terms of variables.

    both: the parallel side must have no value where the single side has none, either.
    """

    terms: Terms
    goals: tuple[Goal, ...]
    premises: tuple[tuple[Any, Any], ...] = ()
    both: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class Element:
    """One scalar equality of an obligation."""

    goal: Spot | str
    index: tuple[int, ...]
    single: Term
    parallel: Term


@dataclass(frozen=True, eq=False, slots=True)
class Closed:
    """Scalar equalities that hold, each with the name of what closed it. confirmed: whether z3 agreed on those that
    were left to ask.
    """

    methods: dict[Element, str]
    confirmed: bool = False


def elements(obligation: Obligation) -> tuple[Element, ...]:
    """The scalar equalities, in the order of the goals. Raises SolverError where the two shapes differ."""
    result = []
    for goal in obligation.goals:
        single, parallel = np.asarray(goal.single, dtype=object), np.asarray(goal.parallel, dtype=object)
        if single.shape != parallel.shape:
            raise SolverError(f"{goal.name}: shapes {single.shape} and {parallel.shape} differ")
        for index in np.ndindex(single.shape):
            sides = (_term(obligation.terms, goal.name, side[index]) for side in (single, parallel))
            result.append(Element(goal.name, index, *sides))
    return tuple(result)


def _term(terms: Terms, goal: Spot | str, value: object) -> Term:
    if isinstance(value, float) and math.isnan(value):
        return terms.undefined(f"not a number in {goal}")
    term = terms.coerce(value)
    if term is None:
        raise SolverError(f"{goal}: {value!r} is neither a term nor an exact number")
    return term


Point = dict[Term, Fraction]
"""An exact value for each variable."""
