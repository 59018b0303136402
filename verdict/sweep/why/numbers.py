"""Numbers that show a cause: what is made at its place, and what should be."""

from fractions import Fraction

import numpy as np

from verdict.outcome import Mismatch
from verdict.sweep.why.causes import Cause
from verdict.sweep.why.scene import Scene

MOST_SHOWN = 12
DIGITS = 6
APART = 1e-9


def numbers(scene: Scene, cause: Cause) -> tuple[Mismatch, ...]:
    """The elements of the value that a cause is about: what is due, and what is made, where they differ.

    Floats of the first seed, rounded for people.
    """
    fix = cause.fix
    for value, due in (*fix.change.values.items(), *((v, a) for (v, _), a in fix.change.reads.items())):
        found = cause.before.arrays(value)
        if found is None or found[0].shape != due[0].shape:
            continue
        size = max(float(np.max(np.abs(due[0]), initial=0.0)), 1e-12)
        apart = np.argwhere(~(np.abs(found[0] - due[0]) <= APART * size))
        label = scene.step(scene.maker[value]).place.name if value in scene.maker else fix.at.name
        places = [tuple(map(int, index)) for index in apart[:MOST_SHOWN]]
        if places:
            return tuple(Mismatch(label, at, _rounded(due[0][at]), _rounded(found[0][at])) for at in places)
    return ()


def _rounded(number: float) -> Fraction | float:
    value = float(f"{float(number):.{DIGITS}g}")
    return Fraction(int(value)) if value.is_integer() else value
