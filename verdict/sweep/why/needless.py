"""Steps on numbers that nobody gives, positions say, which the single-device plan reads as they are; and such on two
values, a mask say and what it masks, of which the single-device plan reads one.
"""

from collections.abc import Iterator
from functools import partial

from verdict.graph import ABSENT
from verdict.sweep.why.edits import handed_on
from verdict.sweep.why.fix import Fix
from verdict.sweep.why.mend import Change, State
from verdict.sweep.why.scene import Arrays, Scene, close
from verdict.sweep.why.siblings import Instance, Siblings
from verdict.sweep.why.words import elements_text, node_line, node_text, places_text


def needless(scene: Scene, state: State, at: Siblings) -> Iterator[Fix]:
    """What the steps read, in the place of what they make of it: a shift, a factor, another order, a further mask."""
    for k in range(min(len(scene.step(number).inputs) for number in at.steps.values())):
        yield from _handing_on(scene, state, at, k)


def _handing_on(scene: Scene, state: State, at: Siblings, k: int) -> Iterator[Fix]:
    change: dict[int, Arrays] = {}
    wrong: list[Instance] = []
    for place, number in at.steps.items():
        step = scene.step(number)
        outputs = [value for value in step.outputs if value != ABSENT]
        if len(step.inputs) > 2 or len(outputs) != 1:
            return
        read, made = state.arrays(step.inputs[k]), state.arrays(outputs[0])
        if read is None or made is None or read[0].shape != made[0].shape:
            return
        if not close(read, made):
            change[outputs[0]] = read
            wrong.append(place)
    if not change:
        return
    step = scene.step(at.first)
    ids = state.look(scene, step.inputs[k])
    what = elements_text(scene, ids) if ids is not None else "what it reads"
    title = f"{node_line(scene, step)} on {places_text(scene, wrong)} changes {what}, due as they are"
    yield Fix(
        "operator-differs", title, at, tuple(wrong), Change(change), help=f"leave {node_text(scene, step)} out",
        edits=partial(handed_on, scene, [at.steps[place] for place in wrong], k),
    )  # fmt: skip
