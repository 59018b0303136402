"""From a value that the single-device plan has nowhere back to the step that first goes another way."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from verdict.graph import ABSENT
from verdict.graph.sources import in_short
from verdict.ops import FACTS, RULES, Axes, Law
from verdict.sweep.elements import Ids, Kind
from verdict.sweep.flow import CANNOT, REDUCTIONS, Step
from verdict.sweep.trace import frozen
from verdict.sweep.why.fix import Fix
from verdict.sweep.why.mend import Change, State
from verdict.sweep.why.scene import Scene, arrays_of
from verdict.sweep.why.siblings import Instance, Siblings
from verdict.sweep.why.words import (
    attributes_text,
    called,
    elements_text,
    node_text,
    places_text,
    ranks_text,
    single_line,
)

MOST_STEPS = 24
"""How many steps the way is followed back; a parting that lies further is not told, but what it leads to."""
OWN_SHARE = "own-share"
"""What corrections have in common that give a step all of what it has a share of."""


class Parting(NamedTuple):
    """step: of the parallel flow, where it goes another way. single: the step of the other flow that is due there."""

    code: str
    title: str
    step: int
    single: int


def parting(scene: Scene, state: State, value: int, due: Ids, readers: Sequence[Instance]) -> Parting | None:
    """Where the way to `value`, which `readers` read, leaves that to the elements `due`; None where it is not seen."""
    ranks = {rank for rank, _ in readers}
    for _ in range(MOST_STEPS):
        maker, block = scene.maker.get(value), scene.elements.of(int(due.flat[0]))
        if maker is None or block.kind is not Kind.SINGLE:
            return None
        step, other = scene.step(maker), scene.one.steps[block.owner]
        reads = scene.trace.reads[block.owner]
        rank = step.place.rank
        node = f"{node_text(scene, step)} on {places_text(scene, readers) if rank in ranks else ranks_text([rank])}"
        if step.op in REDUCTIONS.values():
            title = f"{node} sums what are no parts of one sum, where {called(other.op, other.place.name)} is due"
            return Parting("wrong-collective", title, maker, block.owner)
        before = _moved(state, step, due) if step.op != other.op else None
        if before is not None:
            value, due = step.inputs[0], before
            continue
        if step.op != other.op or len(step.inputs) != len(other.inputs):
            title = f"{node} stands where the single-device plan has {called(other.op, other.place.name)}"
            return Parting("operator-differs", title, maker, block.owner)
        seen = [state.look(scene, number) for number in step.inputs]
        apart = [k for k, (ids, whole) in enumerate(zip(seen, reads, strict=True)) if not _within(ids, whole)]
        if not apart:
            return _own_fault(scene, step, maker, block.owner, seen, reads, node)
        k = apart[0]
        mine = seen[k]
        if mine is not None:
            title = (
                f"{node} reads {elements_text(scene, mine)} as input {k}, where {elements_text(scene, reads[k])} is due"
            )
            return Parting("wrong-input", title, maker, block.owner)
        value, due = step.inputs[k], reads[k]
    return None


def _moved(state: State, step: Step, due: Ids) -> Ids | None:
    """What a step must read that puts all elements of one tensor elsewhere, so that it makes `due`; None of others."""
    rule = FACTS.of(step.op)
    read = state.arrays(step.inputs[0]) if rule is not None and rule.moves and len(step.inputs) == 1 else None
    if rule is None or read is None:
        return None
    places = rule.forward([np.arange(read[0].size).reshape(read[0].shape)], dict(step.attrs))[0]
    if places is None or places.shape != due.shape or len(np.unique(places)) != read[0].size:
        return None
    before = np.empty(read[0].size, due.dtype)
    before[places.ravel()] = due.ravel()
    return before.reshape(read[0].shape)


def _own_fault(
    scene: Scene, step: Step, maker: int, single: int, seen: list[Ids | None], reads: tuple[Ids, ...], node: str
) -> Parting:
    """A step that reads what it should, of the right operator: its attributes, or too little that it sums over."""
    other = scene.one.steps[single]
    mine, due = dict(frozen(step.attrs)), dict(frozen(other.attrs))
    share = any(ids is not None and ids.size < whole.size for ids, whole in zip(seen, reads, strict=True))
    rule = FACTS.of(step.op)
    local = rule.local if rule is not None and share else frozenset()
    names = [name for name in sorted({*mine, *due} - local) if mine.get(name) != due.get(name)]
    if names:
        told, wanted = attributes_text(step, names), attributes_text(other, names)
        return Parting("wrong-constant", f"{node} has {told}; the single-device node has {wanted}", maker, single)
    if share and _takes_all(step, seen, reads):
        return Parting("missing-reduction", _of_share(scene, node, seen, reads), maker, single)
    if share and sums(step, seen):
        text = elements_text(scene, next(ids for ids in seen if ids is not None))
        title = f"{node} sums {text} only, and is read before the other parts of {in_short(other.place.name)} are added"
        return Parting("missing-reduction", title, maker, single)
    told = attributes_text(step, [*mine])
    right = called(other.op, other.place.name)
    title = f"{node} makes of its region what is no region of {right}, with {told or 'no attributes'}"
    return Parting("wrong-constant" if told else "not-equivalent", title, maker, single)


def _of_share(scene: Scene, node: str, seen: Sequence[Ids | None], reads: Sequence[Ids]) -> str:
    own, every = next((o, w) for o, w in zip(seen, reads, strict=True) if o is not None and o.size < w.size)
    return f"{node} is of {elements_text(scene, own)} alone, where one of all of {elements_text(scene, every)} is due"


def of_own_shares(scene: Scene, state: State, at: Siblings) -> Iterator[Fix]:
    """What the single-device step makes of all that each of the steps reads a share of, and must have all of: the mean
    and the variance of a batch of which each rank has some rows.
    """
    first = scene.step(at.first)
    for number, other in enumerate(scene.one.steps):
        if other.op != first.op or len(other.inputs) != len(first.inputs) or frozen(other.attrs) != frozen(first.attrs):
            continue
        reads = scene.trace.reads[number]
        shares = {place: [state.look(scene, v) for v in scene.step(k).inputs] for place, k in at.steps.items()}
        if any(len(scene.step(k).outputs) != len(other.outputs) for k in at.steps.values()):
            continue
        if not all(_is_share(first, seen, reads) for seen in shares.values()):
            continue
        due = [arrays_of(scene.right, value) if value != ABSENT else None for value in other.outputs]
        made = [(v, own) for k in at.steps.values() for v, own in zip(scene.step(k).outputs, due, strict=True)]
        change = {value: own for value, own in made if value != ABSENT and own is not None}
        if all((held := state.arrays(v)) is not None and held[0].shape == own[0].shape for v, own in change.items()):
            node = f"{node_text(scene, first)} on {places_text(scene, tuple(at.steps))}"
            title = _of_share(scene, node, shares[min(at.steps)], reads)
            lines = (single_line(scene, number),)
            kin = (OWN_SHARE,)
            yield Fix("missing-reduction", title, at, tuple(at.steps), Change(change), single=lines, kin=kin)
            return


def _is_share(step: Step, seen: list[Ids | None], reads: tuple[Ids, ...]) -> bool:
    """Whether what is read is a part of what must all be read, and of which parts do not add up."""
    parts = any(ids is not None and ids.size < whole.size for ids, whole in zip(seen, reads, strict=True))
    return parts and all(map(_within, seen, reads)) and not sums(step, seen) and _takes_all(step, seen, reads)


def _takes_all(step: Step, seen: list[Ids | None], reads: tuple[Ids, ...]) -> bool:
    """Whether a step reads a share that is cut along an axis of which it must have all: a variance."""
    shapes, axes = [ids.shape for ids in seen if ids is not None], _axes(step, seen)
    if axes is None or len(shapes) < len(reads):
        return False
    whole = {atom.name for atom in axes.atoms if atom.law is not Law.EACH}
    sizes = zip(shapes, (ids.shape for ids in reads), axes.inputs, strict=True)
    return any(
        mine < due and not whole.isdisjoint(names)
        for own, other, dimensions in sizes
        if len(own) == len(other)
        for mine, due, names in zip(own, other, dimensions, strict=True)
    )


def sums(step: Step, reads: list[Ids | None]) -> bool:
    """Whether a step sums along an axis that it could be given a share of. reads: all that it reads, as elements."""
    axes = _axes(step, reads)
    return axes is not None and any(atom.law is Law.SUM for atom in axes.atoms)


def _axes(step: Step, reads: Sequence[Ids | None]) -> Axes | None:
    """The index axes of a step; None where not all that it reads is known, or it reads complex numbers, of which the
    elements have an axis more than the rule speaks of.
    """
    rule = RULES.get(step.op)
    if rule is None or any(ids is None for ids in reads):
        return None
    try:
        return rule.axes([ids.shape for ids in reads if ids is not None], step.attrs)
    except CANNOT:
        return None


def _within(ids: Ids | None, whole: Ids) -> bool:
    return ids is not None and ids.size > 0 and bool(np.isin(ids.ravel(), whole.ravel()).all())
