"""Numbers that show a cause: what is made at its place, and what should be."""

from fractions import Fraction

import numpy as np

from verdict.graph.sources import in_short
from verdict.ops import Array
from verdict.outcome import Mismatch
from verdict.sweep.compare import partner
from verdict.sweep.why.mend import rank_of
from verdict.sweep.why.scene import Scene, arrays_of
from verdict.sweep.why.search import Cause

MOST_SHOWN = 12
"""How many elements that differ a finding holds; the others are left out."""
DIGITS = 6
"""Significant digits of the numbers that are shown; they are for people, and decide nothing."""
APART = 1e-9
"""Elements that are nearer, relative to the greatest that is due, differ by rounding alone and are not shown."""


def numbers(scene: Scene, cause: Cause) -> tuple[Mismatch, ...]:
    """The elements that differ: what is due, and what is made. At the place of the cause, where single-device values
    are due there, else of the first output that it mends. Floats of the first seed, rounded for people.
    """
    fix = cause.fix
    for value, due in (*fix.change.values.items(), *((v, a) for (v, _), a in fix.change.reads.items())):
        found = cause.before.arrays(value)
        if found is None or found[0].shape != due[0].shape or scene.look(due) is None:
            continue
        label = in_short(scene.step(scene.maker[value]).place.name if value in scene.maker else fix.at.name)
        shown = _apart(label, due[0], found[0])
        if shown:
            return shown
    for item in cause.mends:
        other, held = partner(scene.one, item.result), cause.before.arrays(item.result.value, rank_of(item.result))
        full = arrays_of(scene.right, other.value) if other is not None else None
        if held is None or full is None:
            continue
        due_there = full[0][item.result.region] if full[0].ndim == len(item.result.region) else full[0]
        return _apart(item.result.what, np.asarray(due_there), held[0])
    return ()


def _apart(label: str, due: Array, found: Array) -> tuple[Mismatch, ...]:
    """The first elements that differ."""
    size = max(float(np.max(np.abs(due), initial=0.0)), 1e-12)
    apart = np.argwhere(~(np.abs(found - due) <= APART * size))
    places = [tuple(map(int, index)) for index in apart[:MOST_SHOWN]]
    return tuple(Mismatch(label, at, _rounded(due[at]), _rounded(found[at])) for at in places)


def _rounded(number: float) -> Fraction | float:
    value = float(f"{float(number):.{DIGITS}g}")
    return Fraction(int(value)) if value.is_integer() else value
