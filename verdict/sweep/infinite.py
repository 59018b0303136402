"""Elements of the single-device flow that may be minus infinity, or no number: an unknown mask is made with it.

The symbols of a proof are real numbers, of which x - x is zero and exp(x) exp(y) is exp(x + y). What may be infinite
is none: a claim about it is proved where both sides are the same operators of the same elements, and in no other way.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from verdict.graph import ABSENT
from verdict.inputs import Domain
from verdict.ops import FACTS, Array
from verdict.solver import Term
from verdict.solver.term import Kind as TermKind
from verdict.sweep.elements import Elements
from verdict.sweep.settle import terms_of
from verdict.sweep.trace import Keys, Trace, makes_infinite, reads_infinite, reads_rising

INFINITE = float("-inf")


def note_infinite(
    trace: Trace, number: int, elements: Elements, keys: Keys, integers: Mapping[int, Domain]
) -> None:
    """Note the elements that a single-device step computes, are not settled and may be infinite. integers: what given
    ones may be.
    """
    step, positions = trace.flow.steps[number], reads_infinite(trace, number)
    rises = reads_rising(trace, number)
    if positions and FACTS.finite(step.op, positions, step.grads, rises):
        return
    if not positions and not makes_infinite(step.attrs, trace.reads[number], elements):
        return
    terms = None if positions else terms_of(trace, number, elements, keys, integers)
    found: set[int] = set()
    for position, (value, made) in enumerate(zip(step.outputs, trace.made[number], strict=True)):
        ids = trace.ids[value] if value != ABSENT else None
        if ids is not None and made is not None:
            known = terms[position] if terms is not None else None
            doubtful = np.intersect1d(made if known is None else made[~_real(known)], ids)
            found.update(doubtful.tolist())
    trace.infinite |= found
    trace.rising |= found if rises or FACTS.rises(step.op, step.attrs) else set()


def _real(terms: Array) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Where what was executed on symbols is a real number wherever it is defined."""
    return np.asarray(np.frompyfunc(_is_real, 1, 1)(terms), dtype=bool)


def _is_real(value: object) -> bool:
    return value.kind < TermKind.MINUS_INFINITY if isinstance(value, Term) else value != INFINITE
