"""Numbers in the plan by which the outputs are off: these tell the factor, the steps that multiply by one the place."""

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import partial

import numpy as np

from verdict.sweep.trace import frozen
from verdict.sweep.why.edits import multiplied
from verdict.sweep.why.factors import factor_text
from verdict.sweep.why.fix import Fix
from verdict.sweep.why.mend import Change, State
from verdict.sweep.why.scene import STEADY, Scene
from verdict.sweep.why.siblings import Siblings
from verdict.sweep.why.stated import as_number, multiplies
from verdict.sweep.why.words import node_text

MOST_FACTORS = 2
"""How many factors are tried, those by which most outputs are off."""


def off(scene: Scene, state: State, at: Siblings) -> Iterator[Fix]:
    """Steps that multiply by a number, or make nothing but one, without a factor by which outputs are off; not those
    that the single-device plan has with the same number: there the plans do not part.
    """
    if not multiplies(scene, state, at) and not _is_number(scene, state, at):
        return
    step = scene.step(at.first)
    place = _in_program(step.place.name)
    twins = [one for one in scene.one.steps if (one.op, _in_program(one.place.name)) == (step.op, place)]
    if any(frozen(one.attrs) == frozen(step.attrs) for one in twins):
        return
    factors = not twins or any(number == 1 for one in twins for number in one.attrs.values())
    code = "wrong-scale" if factors else "wrong-constant"
    arrays = {v: held for n in at.steps.values() if (held := state.arrays(v := scene.step(n).outputs[0])) is not None}
    for times in _factors(state):
        change = Change({v: tuple(np.asarray(a / float(times)) for a in held) for v, held in arrays.items()})
        text, inverse = factor_text(float(times)), factor_text(float(1 / times))
        yield as_number(scene, state, Fix(
            code, f"{node_text(scene, step)} makes {text} times what is due", at, tuple(at.steps), change,
            help=f"multiply it by {inverse}", kin=(text,),
            edits=partial(multiplied, scene, at.steps.values(), 0, float(1 / times)),
        ))  # fmt: skip


def _in_program(name: str) -> str:
    """The name of a node without the module that it is in, which has another path where a wrapper is around it."""
    return name.rpartition(": ")[2]


def _factors(state: State) -> list[Fraction]:
    counts = Counter(item.times for item in state.different if item.times not in (None, 0, 1))
    return [times for times, _ in counts.most_common(MOST_FACTORS) if times is not None]


def _is_number(scene: Scene, state: State, at: Siblings) -> bool:
    """Whether steps make one and the same number, whatever is given, and none that marks where something is."""
    outputs = scene.step(at.first).outputs
    arrays = state.arrays(outputs[0]) if len(outputs) == 1 else None
    if arrays is None or not arrays[0].size:
        return False
    number = arrays[0].flat[0]
    return number not in STEADY and all(bool((array == number).all()) for array in arrays)
