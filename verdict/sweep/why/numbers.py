"""Numbers that show a cause: what is made at its place, and what should be."""

from fractions import Fraction

import numpy as np

from verdict.graph.sources import in_short
from verdict.ops import Array
from verdict.outcome import Mismatch
from verdict.sweep.compare import partner
from verdict.sweep.elements import Kind
from verdict.sweep.plain import Plain
from verdict.sweep.why.mend import Change, rank_of
from verdict.sweep.why.scene import Arrays, Scene, arrays_of
from verdict.sweep.why.search import Cause

MOST_SHOWN = 12
"""How many elements that differ a finding holds; the others are left out."""
DIGITS = 6
"""Significant digits of the numbers that are shown; they are for people, and decide nothing."""
MOST_PARTS = 96
"""Numbers with a greater denominator are no ratios for people."""
APART = 1e-9
"""Elements that are nearer, relative to the greatest that is due, differ by rounding alone and are not shown."""


def numbers(scene: Scene, cause: Cause) -> tuple[Mismatch, ...]:
    """The elements that differ: what is due, and what is made. At the place of the cause, where single-device values
    are due there, else of the first output that it mends: of small whole numbers, where these tell the two apart and
    nothing else is put right before; else floats of the first seed, rounded for people.
    """
    fix, plain = cause.fix, scene.plain if cause.before.change == Change() else None
    for value, due in (*fix.change.values.items(), *((v, a) for (v, _), a in fix.change.reads.items())):
        found = cause.before.arrays(value)
        if found is None or found[0].shape != due[0].shape or scene.look(due) is None:
            continue
        label = in_short(scene.step(scene.maker[value]).place.name if value in scene.maker else fix.at.name)
        shown = _plainly(scene, label, due, value, plain) or _apart(label, due[0], found[0])
        if shown:
            return shown
    for item in cause.mends:
        other, held = partner(scene.one, item.result), cause.before.arrays(item.result.value, rank_of(item.result))
        full = arrays_of(scene.right, other.value) if other is not None else None
        if held is None or full is None:
            continue
        region = item.result.region if full[0].ndim == len(item.result.region) else ()
        if plain is not None and other is not None:
            one, two = plain.single[other.value], plain.parallel[item.result.value]
            if one is not None and two is not None and (shown := _exactly(item.result.what, one[region], two)):
                return shown
        return _apart(item.result.what, np.asarray(full[0][region]), held[0])
    return ()


def _plainly(scene: Scene, label: str, due: Arrays, value: int, plain: Plain | None) -> tuple[Mismatch, ...]:
    """The elements that differ on small whole numbers; none where they are no short numbers there."""
    ids, found = scene.look(due), plain.parallel[value] if plain is not None else None
    if plain is None or ids is None or found is None or found.shape != ids.shape:
        return ()
    wanted = np.array([_element(scene, plain, int(element)) for element in ids.ravel()]).reshape(ids.shape)
    return _exactly(label, wanted, found)


def _element(scene: Scene, plain: Plain, element: int) -> float:
    """A single-device element on small whole numbers."""
    block = scene.elements.of(element)
    if block.kind is Kind.CONSTANT:
        return float(block.constant)
    made = plain.single[scene.one.steps[block.owner].outputs[block.output]] if block.kind is Kind.SINGLE else None
    array = plain.given[block.owner] if block.kind is Kind.GIVEN else made
    return float("nan") if array is None else float(np.asarray(array).ravel()[element - block.start])


def _exactly(label: str, due: Array, found: Array) -> tuple[Mismatch, ...]:
    """The first elements that differ, where all of these are ratios of small numbers on both sides."""
    due, found = np.asarray(due), np.asarray(found)
    if due.shape != found.shape or not (np.isfinite(due).all() and np.isfinite(found).all()):
        return ()
    places = [tuple(map(int, at)) for at in np.argwhere(np.abs(found - due) > APART * np.maximum(np.abs(due), 1.0))]
    pairs = [(at, _ratio(due[at]), _ratio(found[at])) for at in places[:MOST_SHOWN]]
    shown = tuple(Mismatch(label, at, one, two) for at, one, two in pairs if one is not None and two is not None)
    return shown if len(shown) == len(pairs) else ()


def _ratio(number: float) -> Fraction | None:
    """A ratio of small numbers; None for what is none."""
    found = Fraction(float(number)).limit_denominator(MOST_PARTS)
    return found if abs(float(found) - number) <= APART * max(abs(number), 1.0) else None


def _apart(label: str, due: Array, found: Array) -> tuple[Mismatch, ...]:
    """The first elements that differ."""
    size = max(float(np.max(np.abs(due), initial=0.0)), 1e-12)
    with np.errstate(invalid="ignore"):
        apart = np.argwhere(~(np.abs(found - due) <= APART * size))
    places = [tuple(map(int, index)) for index in apart[:MOST_SHOWN]]
    return tuple(Mismatch(label, at, _rounded(due[at]), _rounded(found[at])) for at in places)


def _rounded(number: float) -> Fraction | float:
    value = float(f"{float(number):.{DIGITS}g}")
    return Fraction(int(value)) if value.is_integer() else value
