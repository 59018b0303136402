"""Points on and beside the boundaries at which a maximum or a step changes, where thin differences hide.

A gap is what vanishes at a boundary: the difference of two arguments of a maximum, the argument of a step. For
each, one variable is moved by the secant method until the gap is zero, then one unit to either side.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from verdict.solver.evaluate import Floats, FloatValues
from verdict.solver.functions import KNOWN
from verdict.solver.sampling import variables
from verdict.solver.term import Kind, Sign, Term, span_of

_GAPS = 32
"""How many boundaries are approached, the first ones; thin differences at others are not looked for."""
_VARIABLES = 2
"""How many real variables are moved to each boundary, one at a time."""
_STEPS = 4
"""Steps of the secant method: one closes a gap that is linear in the variable, more come nearer to what is not."""
_OFFSETS = (0.0, 1.0, -1.0)
"""Where points are put: on the boundary, and one unit to either side."""


def boundary_points(order: Sequence[Term], columns: Mapping[Term, Floats]) -> dict[Term, Floats]:
    """Points at boundaries below `order`, other values taken from `columns`; {} where there is no boundary."""
    moves = _moves(order)
    if not moves:
        return {}
    base = {term: values[np.arange(len(moves)) % len(values)].copy() for term, values in columns.items()}
    near, far = _moved(base, moves), _moved(base, moves, 1.0)
    with np.errstate(all="ignore"):
        gap_near, gap_far = _gaps(order, base, moves, near), _gaps(order, base, moves, far)
        for _ in range(_STEPS):
            step = np.where(gap_far == gap_near, 0.0, gap_far * (far - near) / (gap_far - gap_near))
            near, far, gap_near = far, np.nan_to_num(far - step), gap_far
            gap_far = _gaps(order, base, moves, far)
    found = [_placed(base, moves, far + offset) for offset in _OFFSETS]
    joined = {term: np.concatenate([part[term] for part in found]) for term in base}
    return {
        term: np.where(values > 0, values, 1.0) if term.sign is Sign.POSITIVE else values
        for term, values in joined.items()
    }


_Move = tuple[Term, Term | None, Term]
"""Two terms whose difference is the gap (None is zero), and the variable that is moved."""


def _moves(order: Sequence[Term]) -> list[_Move]:
    gaps: list[tuple[Term, Term | None]] = []
    for term in order:
        if term.kind is Kind.MAXIMUM:
            gaps += list(pairwise(term.args))
        elif term.kind is Kind.OPAQUE and term.data in KNOWN and KNOWN[term.data].jump is not None:
            gaps.append((term.args[0], None))
    moves: list[_Move] = []
    for a, b in gaps[:_GAPS]:
        reals = [t for t in variables(a.terms.below([a] if b is None else [a, b])) if span_of(t) is None]
        moves += [(a, b, variable) for variable in reals[:_VARIABLES]]
    return moves


def _moved(base: Mapping[Term, Floats], moves: Sequence[_Move], offset: float = 0.0) -> Floats:
    return np.array([base[variable][i] + offset for i, (_, _, variable) in enumerate(moves)])


def _placed(base: Mapping[Term, Floats], moves: Sequence[_Move], values: Floats) -> dict[Term, Floats]:
    result = {term: column.copy() for term, column in base.items()}
    for i, (_, _, variable) in enumerate(moves):
        result[variable][i] = values[i]
    return result


def _gaps(order: Sequence[Term], base: Mapping[Term, Floats], moves: Sequence[_Move], values: Floats) -> Floats:
    found = FloatValues(order, _placed(base, moves, values))
    return np.array([
        found.of([a])[0, i] - (0.0 if b is None else found.of([b])[0, i]) for i, (a, b, _) in enumerate(moves)
    ])  # fmt: skip
