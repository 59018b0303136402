"""Steps that read another value than the single-device step of their kind: with the right one in its place."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice, product
from math import prod
from typing import NamedTuple

import numpy as np

from verdict.graph import ABSENT
from verdict.ops import RULES
from verdict.sweep.elements import Ids
from verdict.sweep.flow import REDUCTIONS, Step
from verdict.sweep.trace import frozen
from verdict.sweep.why.edits import wired
from verdict.sweep.why.fix import Fix
from verdict.sweep.why.mend import Change, State
from verdict.sweep.why.movers import first_misplaced
from verdict.sweep.why.naming import Read, adds_too_much, misread, within
from verdict.sweep.why.once import shared
from verdict.sweep.why.scene import Arrays, Scene, close
from verdict.sweep.why.siblings import Instance, Siblings
from verdict.sweep.why.steps import doubtful, outputs_with
from verdict.sweep.why.upstream import parting
from verdict.sweep.why.words import elements_text, entered, node_text, places_text, single_line

MOST_PARTNERS = 8
"""How many inputs of single-device steps are tried as what is due in a step, the first that may be."""
MOST_CANDIDATES = 8
"""How many other values are tried in place of one input of a step, the first that fit."""
MOST_BOXES = 64
"""Of so many boxes of the shape that is read each is tried in place of an input: shares of a few ranks. Of a table of
thousands of rows every row is a box, and none is a share.
"""


EXOTIC = frozenset({"wrong-input", "operator-differs", "wrong-collective"})
"""What reading a value of which the rank has nothing comes to: nobody gets that wrong by a slip."""


MISPLACED = frozenset({"wrong-slice", "wrong-order"})
"""What reading other elements of the right value comes to."""


UNSUMMED = "unsummed"
"""What corrections have in common that wire in the sum in place of a part of it."""


class Candidate(NamedTuple):
    """A value that could be read. name: of the node of the same rank that makes it; empty where none does.

    value: its number, where it is one. made: what the step makes of it, where that was looked at.
    """

    arrays: Arrays
    ids: Ids
    name: str
    value: int | None = None
    made: Mapping[int, Arrays] = {}


Chosen = Mapping[Instance, Candidate]


def other_input(scene: Scene, state: State, at: Siblings) -> Iterator[tuple[bool, Fix]]:
    """Another value in place of one input, of those that a single-device step of the same operator reads, and whether
    it is one that the rank has, or another share or sum of what it reads. What is read for its shape alone is no wrong
    value: another one there mends what else is made of it.
    """
    if at.op.startswith("~"):
        return
    first = doubtful(scene, state, at)
    reads = [state.look(scene, value) for value in first.inputs]
    rule = RULES.get(first.op)
    unread = rule.shape_only if rule is not None else ()
    tried = 0
    for number, other in enumerate(scene.one.steps):
        if other.op != first.op or len(other.inputs) != len(first.inputs) or frozen(other.attrs) != frozen(first.attrs):
            continue
        fits = [ids is not None and within(ids, own) for ids, own in zip(reads, scene.trace.reads[number], strict=True)]
        apart = [k for k, fit in enumerate(fits) if not fit and k not in unread]
        if len({first.inputs[k] for k in apart}) > 1:
            continue
        for k in apart[:1] or [k for k in range(len(fits)) if k not in unread and _cut_here(scene, first, k)]:
            tried += 1
            if tried > MOST_PARTNERS:
                return
            known: dict[tuple[tuple[Instance, int], ...], list[tuple[bool, Fix]]] = {}
            for chosen in _choices(scene, state, at, number, k):
                same = tuple((place, id(candidate)) for place, candidate in chosen.items())
                if same not in known:
                    known[same] = list(_wired(scene, state, at, number, k, chosen))
                yield from known[same]


def _cut_here(scene: Scene, step: Step, k: int) -> bool:
    """Whether an input is given, moved or received, so that it may be another share than it should be."""
    maker = scene.maker.get(step.inputs[k])
    if maker is None:
        return True
    source = scene.step(maker)
    rule = RULES.get(source.op)
    return source.op.startswith("~") or source.place.rank != step.place.rank or (rule is not None and rule.moves)


def _choices(scene: Scene, state: State, at: Siblings, number: int, k: int) -> Iterator[Chosen]:
    """Which value each of the steps could read: those that read a wrong one first, then all, then each by itself."""
    due = scene.trace.reads[number][k]
    held: dict[Instance, list[Candidate]] = {}
    boxes: dict[Instance, list[Candidate]] = {}
    wrong: set[Instance] = set()
    for place, step_number in sorted(at.steps.items()):
        step = scene.step(step_number)
        current = state.arrays(step.inputs[k], place[0])
        if current is None:
            return
        has = state.look(scene, step.inputs[k])
        if has is None or not within(has, due):
            wrong.add(place)
        others = (c for c in _held(scene, state, place, current, due) if not close(c.arrays, current))
        held[place] = list(islice(_fitting(state, step, k, others), MOST_CANDIDATES))
        boxes[place] = list(_fitting(state, step, k, _boxes(scene, current, due, _averages(step))))
    both = {place: [*held[place], *boxes[place]] for place in held}
    groups = [sorted(wrong), sorted(held)] if 0 < len(wrong) < len(held) else [sorted(held)]
    for among in groups:
        for across in (False, True):
            spread = {place: _at(boxes[place], n, len(held), across) for n, place in enumerate(sorted(held))}
            yield {place: one for place in among if (one := spread[place]) is not None}
        for turn in range(min(max(len(both[place]) for place in among), MOST_CANDIDATES)):
            yield {place: both[place][min(turn, len(both[place]) - 1)] for place in among if both[place]}
    if len(held) > 1:
        for place, found in both.items():
            yield from ({place: candidate} for candidate in found[:MOST_CANDIDATES])


def _fitting(state: State, step: Step, k: int, candidates: Iterable[Candidate]) -> Iterator[Candidate]:
    """Those that the step can read as its input k, with what it makes of them."""
    for candidate in candidates:
        made = outputs_with(state, step, {k: candidate.arrays})
        if made:
            yield candidate._replace(made=made)


def _at(boxes: list[Candidate], number: int, count: int, across: bool) -> Candidate | None:
    """The box of one of `count` ranks: the boxes in turn, or each for a run of ranks."""
    if not boxes:
        return None
    return boxes[number % len(boxes) if across else number * len(boxes) // count]


def _wired(
    scene: Scene, state: State, at: Siblings, number: int, k: int, chosen: Chosen
) -> Iterator[tuple[bool, Fix]]:
    """The input replaced wherever the rank reads it, then for this step alone."""
    reads: dict[tuple[int, int], Arrays] = {}
    has: dict[Instance, Arrays] = {}
    for place, candidate in chosen.items():
        step = scene.step(at.steps[place])
        current = state.arrays(step.inputs[k], place[0])
        if current is None or close(current, candidate.arrays):
            continue
        has[place] = current
        reads[step.inputs[k], place[0]] = candidate.arrays
    if not has:
        return
    steps = {place: scene.step(at.steps[place]) for place in has}
    place, current = next(iter(has.items()))
    step, candidate = steps[place], chosen[place]
    where = places_text(scene, (place,))
    read = Read(step, k, current, candidate.arrays, candidate.ids, scene.trace.reads[number][k])
    code, title = misread(scene, state, read, where)
    if code == "wrong-slice" and candidate.ids.size > current[0].size:
        code = "missing-reduction"
    early = _sums(scene, candidate.value, step.inputs[k])
    if early:
        code = "missing-reduction"
        title = f"{node_text(scene, step)} on {where} reads a part of what {candidate.name} sums, and not the sum"
    notes = (f"rank {place[0]} holds that as {candidate.name}",) if candidate.name else ()
    help_text = f"wire in {candidate.name or elements_text(scene, candidate.ids)}"
    lines = (single_line(scene, number),)
    instances = tuple(has)
    edits = partial(wired, scene, [at.steps[own] for own in has], k, [chosen[own].value for own in has])
    value = step.inputs[k]
    apart = not early and code != "wrong-scale" and state.look(scene, value) is None
    if apart and not adds_too_much(scene, state, value, candidate.arrays):
        found = parting(scene, state, value, candidate.ids, instances)
        if found is not None:
            notes = (*notes, title)
            code, title, lines, help_text = found.code, found.title, (single_line(scene, found.single),), ""
            at, instances = _class_of(scene, found.step)
    if code in MISPLACED:
        mover = first_misplaced(scene, state, value)
        if mover is not None:
            (at, _), notes = _class_of(scene, mover), (*notes, title)
            instances = tuple(at.steps)
            title = _misplacing(scene, mover, instances, read)
    held = code not in EXOTIC or bool(candidate.name)
    change: dict[int, Arrays] = {}
    for own in steps:
        change.update(chosen[own].made)
    for made in (Change({}, reads), Change(change)):
        kin = (UNSUMMED,) if early else ()
        yield held, Fix(code, title, at, instances, made, notes, help_text, lines, kin, edits)


def _sums(scene: Scene, made: int | None, value: int) -> bool:
    """Whether one value is the sum over ranks of which another one is a part, or a multiple of that."""
    maker = scene.maker.get(made) if made is not None else None
    if maker is None:
        return False
    step = scene.step(maker)
    if step.op in REDUCTIONS.values():
        return value in step.inputs
    rule = RULES.get(step.op)
    scales = len(step.inputs) == 1 and rule is not None and 0 in rule.linear_in(1, step.attrs)
    return scales and _sums(scene, step.inputs[0], value)


def _misplacing(scene: Scene, mover: int, instances: Sequence[Instance], read: Read) -> str:
    node = f"{node_text(scene, scene.step(mover))} on {places_text(scene, instances[:1])}"
    whole, due = elements_text(scene, read.whole), elements_text(scene, read.elements)
    return f"{node} makes no region of {whole}" + (f", of which {due} is due" if due != whole else ", which is due")


def _class_of(scene: Scene, number: int) -> tuple[Siblings, tuple[Instance, ...]]:
    """The matching steps among which a step is, and its place."""
    at = next(one for one in scene.classes if number in one.steps.values())
    return at, tuple(place for place, step in at.steps.items() if step == number)


def _held(scene: Scene, state: State, place: Instance, current: Arrays, due: Ids) -> Iterator[Candidate]:
    """Values of the rank, of the same shape, that are elements of `due`."""
    seen: list[Arrays] = []
    for made in shared(state, (_of_rank, place, current[0].shape), partial(_of_rank, scene, state, place, current)):
        if within(made.ids, due) and not any(close(made.arrays, other) for other in seen):
            seen.append(made.arrays)
            yield made


def _of_rank(scene: Scene, state: State, place: Instance, like: Arrays) -> Iterator[Candidate]:
    """Values of the rank, of the same shape as others, that are single-device elements."""
    for one in scene.classes:
        number = one.steps.get(place)
        if number is None and one.op in REDUCTIONS.values():
            number = next((k for k in one.steps.values() if place[0] in entered(scene, scene.step(k))), None)
        for value in scene.step(number).outputs if number is not None else ():
            arrays = state.arrays(value) if value != ABSENT else None
            if number is None or arrays is None or arrays[0].shape != like[0].shape:
                continue
            ids = state.look(scene, value)
            if ids is not None:
                yield Candidate(arrays, ids, node_text(scene, scene.step(number)), value)


def _averages(step: Step) -> bool:
    """Whether a step is a mean of what it reads: parts of it are to be weighed, and nobody gives it the whole."""
    rule = RULES.get(step.op)
    return rule is not None and bool(rule.average_of)


def _boxes(scene: Scene, current: Arrays, due: Ids, averages: bool) -> list[Candidate]:
    """The boxes of `due` of the shape that is read, and all of it: a norm of a share where the whole is due. averages:
    whether that is not to be tried.
    """
    shape = current[0].shape
    for item in scene.catalogue.known:
        if item.ids.shape != due.shape or not np.array_equal(item.ids, due):
            continue
        arrays = tuple(map(np.asarray, item.values))
        if len(shape) == 1 and due.ndim > 1 and shape[0] < due.size:
            due, arrays = due.ravel(), tuple(array.ravel() for array in arrays)
        if due.ndim != len(shape) or any(size > n for n, size in zip(due.shape, shape, strict=True)):
            return [Candidate(arrays, due, "")]
        steps = [range(0, n - size + 1, max(size, 1)) for n, size in zip(due.shape, shape, strict=True)]
        if prod(map(len, steps)) > MOST_BOXES:
            return []
        slices = [
            tuple(slice(a, a + size) for a, size in zip(offset, shape, strict=True)) for offset in product(*steps)
        ]
        whole = [] if due.shape == shape or averages else [Candidate(arrays, due, "")]
        return [*(Candidate(tuple(array[box] for array in arrays), due[box], "") for box in slices), *whole]
    return []
