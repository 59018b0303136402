"""What it means that a step reads one value where another one is due: the code, and the sentence."""

from typing import NamedTuple

import numpy as np

from verdict.graph import GRAD
from verdict.ops import FACTS
from verdict.sweep.elements import Block, Ids, Kind
from verdict.sweep.flow import SUM, Step
from verdict.sweep.why.factors import factor_text
from verdict.sweep.why.mend import State
from verdict.sweep.why.scene import Arrays, Scene, arrays_of, close
from verdict.sweep.why.words import elements_text, node_text

BACKWARD = "backward"
"""What the names of recorded nodes say that are part of a gradient."""
SAME = 1e-8
"""How near, relative to the greatest element, what is read is to a multiple of what is due to be told as such."""


class Read(NamedTuple):
    """Input `k` of a step: what it has, and what is due: numbers, elements. whole: all
    that the single-device step reads."""

    step: Step
    k: int
    has: Arrays
    due: Arrays
    elements: Ids
    whole: Ids


def misread(scene: Scene, state: State, read: Read, where: str) -> tuple[str, str]:
    """The code and the sentence of a wrong input."""
    node, value = node_text(scene, read.step), read.step.inputs[read.k]
    has, due = state.look(scene, value), elements_text(scene, read.elements)
    factor = multiple_of(read.has, read.due)
    if factor is not None:
        what = elements_text(scene, has) if has is not None else _maker(scene, value)
        return "wrong-scale", f"{node} on {where} reads {what}, {factor_text(factor)} times {due}, which is due"
    if has is None:
        return _no_such_value(scene, state, read, where)
    text = elements_text(scene, has)
    if within(has, read.whole):
        same = np.array_equal(np.sort(has.ravel()), np.sort(read.elements.ravel()))
        code = "wrong-order" if same else "wrong-slice"
        if read.elements.size > has.size:
            return code, f"{node} on {where} takes {text} only, where {due}, all of it, is due"
        how = "in another order" if same and text == due else f"{text} as input {read.k}"
        if value in scene.maker and scene.elements.constants(has) is not None:
            wanted = f"{due} is due" if text != due else "they are due at other places"
            return code, f"{node} on {where} reads {text} of {_maker(scene, value)} as input {read.k}, where {wanted}"
        return code, f"{node} on {where} reads {how}, where {due} is due"
    if _same_given(scene, has, read.elements):
        return "wrong-slice", f"{node} on {where} reads {text} as input {read.k}, where {due} is due"
    lacking = _lacks(scene, read)
    if lacking:
        code = "gradient-missing" if of_gradients(scene, read.elements) else "missing-reduction"
        return code, f"{node} on {where} reads {text} for {due}: the summand {lacking} is missing"
    return "wrong-input", f"{node} on {where} reads {text} as input {read.k}, where {due} is due"


def _same_given(scene: Scene, has: Ids, due: Ids) -> bool:
    """Whether both are of one tensor that is given, and as much of it."""
    blocks = scene.elements.blocks_of(np.concatenate([has.ravel(), due.ravel()]))
    return has.shape == due.shape and len(blocks) == 1 and blocks[0].kind is Kind.GIVEN


def _no_such_value(scene: Scene, state: State, read: Read, where: str) -> tuple[str, str]:
    """What is read is nothing that the single-device plan has: a sum with a summand too many, or another operator."""
    value, node = read.step.inputs[read.k], node_text(scene, read.step)
    due, made_by = elements_text(scene, read.elements), _maker(scene, value)
    if adds_too_much(scene, state, value, read.due):
        step = scene.step(scene.maker[value])
        others = [v for v in step.inputs if not _equal(state.arrays(v), read.due)]
        extra = " and ".join(_text(scene, state, other) for other in others) or "something"
        return "wrong-input", f"{made_by} adds {extra} to {due}, which alone is due in {node}"
    return "wrong-input", f"{node} on {where} reads what {made_by} makes as input {read.k}, where {due} is due"


def adds_too_much(scene: Scene, state: State, value: int, due: Arrays) -> bool:
    """Whether a value is the sum of what is due and of something else."""
    maker = scene.maker.get(value)
    if maker is None:
        return False
    step = scene.step(maker)
    return (step.op == SUM or FACTS.is_sum(step.op)) and any(_equal(state.arrays(v), due) for v in step.inputs)


def _equal(one: Arrays | None, other: Arrays) -> bool:
    return one is not None and one[0].shape == other[0].shape and close(one, other)


def _text(scene: Scene, state: State, value: int) -> str:
    ids = state.look(scene, value)
    return elements_text(scene, ids) if ids is not None else _maker(scene, value)


def within(ids: Ids, whole: Ids) -> bool:
    """Whether all elements are among others. Most are not, which the first of them tells: it lies before or behind."""
    if not ids.size or not whole.size or not whole.min() <= ids.flat[0] <= whole.max():
        return False
    return bool(np.isin(ids.ravel(), whole.ravel()).all())


def of_gradients(scene: Scene, due: Ids) -> bool:
    """Whether one of the summands of a single-device sum is made by a gradient."""
    blocks = [block for block in scene.elements.blocks_of(due) if block.kind is Kind.SINGLE]
    read = [ids for block in blocks for ids in scene.trace.reads[block.owner] if ids.size]
    owners = [block.owner for ids in read for block in scene.elements.blocks_of(ids) if block.kind is Kind.SINGLE]
    return any(is_backward(scene.one.steps[owner]) for owner in owners)


def is_backward(step: Step) -> bool:
    """Whether a step is part of a gradient."""
    return step.op.endswith(GRAD) or BACKWARD in step.place.name


def _lacks(scene: Scene, read: Read) -> str:
    """Where what is due is a sum of what is read and of others in the single-device plan: the others."""
    for block in scene.elements.blocks_of(read.elements):
        if block.kind is not Kind.SINGLE or not FACTS.is_sum(scene.one.steps[block.owner].op):
            continue
        summands = scene.one.steps[block.owner].inputs
        others = [
            ids
            for value, ids in zip(summands, scene.trace.reads[block.owner], strict=True)
            if not _is_there(scene, value, block, read)
        ]
        if len(others) < len(summands):
            return " and ".join(elements_text(scene, ids) for ids in others)
    return ""


def _is_there(scene: Scene, summand: int, block: Block, read: Read) -> bool:
    """Whether what is read is a summand, where what is due is of the sum: its numbers are."""
    arrays = arrays_of(scene.right, summand)
    if arrays is None or arrays[0].shape != block.shape or read.elements.shape != read.has[0].shape:
        return False
    inside = read.elements.ravel() - block.start
    if inside.min() < 0 or inside.max() >= arrays[0].size:
        return False
    return close(tuple(array.ravel()[inside].reshape(read.elements.shape) for array in arrays), read.has)


def multiple_of(has: Arrays, due: Arrays) -> float | None:
    """By what one value is a multiple of the other, on all seeds; None where it is none."""
    if has[0].shape != due[0].shape or not has[0].size or not all(np.isfinite(a).all() for a in (*has, *due)):
        return None
    pivot = int(np.argmax(np.abs(due[0])))
    if due[0].flat[pivot] == 0 or has[0].flat[pivot] == 0:
        return None
    factor = float(has[0].flat[pivot] / due[0].flat[pivot])
    for mine, theirs in zip(has, due, strict=True):
        if np.max(np.abs(mine - factor * theirs)) > SAME * max(float(np.max(np.abs(mine))), 1e-12):
            return None
    return factor


def _maker(scene: Scene, value: int) -> str:
    maker = scene.maker.get(value)
    return node_text(scene, scene.step(maker)) if maker is not None else "what is given"
