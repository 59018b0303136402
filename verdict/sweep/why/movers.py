"""Nodes that put elements where the single-device plan has them nowhere: pieces that are joined wrongly."""

from verdict.graph import ABSENT
from verdict.ops import RULES
from verdict.sweep.flow import CONCATENATE, PIECE, Step
from verdict.sweep.why.mend import State
from verdict.sweep.why.scene import Scene

MOST_STEPS = 8
"""How many steps the way is followed back."""
MOVING = frozenset({CONCATENATE, PIECE})


def first_misplaced(scene: Scene, state: State, value: int) -> int | None:
    """The first step on the way to a value that only moves elements, and makes no region of any single-device value
    of such regions; None where the way begins otherwise.
    """
    for _ in range(MOST_STEPS):
        number = scene.maker.get(value)
        step = scene.step(number) if number is not None else None
        if step is None or not _moves(step):
            return None
        reads = [read for read in step.inputs if read != ABSENT]
        apart = next((read for read in reads if not _is_region(scene, state, read)), None)
        if apart is None:
            return number if not _is_region(scene, state, value) else None
        value = apart
    return None


def _moves(step: Step) -> bool:
    rule = RULES.get(step.op)
    return step.op in MOVING or (rule is not None and rule.moves)


def _is_region(scene: Scene, state: State, value: int) -> bool:
    arrays = state.arrays(value)
    return arrays is not None and next(scene.catalogue.boxes(arrays), None) is not None
