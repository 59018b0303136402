"""Parts that are used as if they were the sum; and summands that nobody adds."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from verdict.graph import ABSENT
from verdict.graph.sources import cited_in
from verdict.ops import FACTS, RULES
from verdict.sweep.elements import Ids
from verdict.sweep.flow import REDUCTIONS, SUM, Step
from verdict.sweep.results import DECLARED
from verdict.sweep.trace import frozen
from verdict.sweep.why.edits import added as adding
from verdict.sweep.why.edits import reduced
from verdict.sweep.why.fix import Fix
from verdict.sweep.why.mend import Change, State
from verdict.sweep.why.scene import Arrays, Scene, close, is_mask, is_table
from verdict.sweep.why.siblings import Instance, Partition, Siblings
from verdict.sweep.why.words import (
    REDUCING,
    called,
    elements_text,
    entered,
    node_text,
    operator_text,
    owners,
    ranks_text,
    readers_text,
)

Values = dict[Instance, int]
MOST_LINEAR = 4
"""How many linear steps may stand between a part and the reduction that sums it."""
MOST_LOST = 12
"""How many values that nobody reads are tried as the summand that is missing."""


class Part(NamedTuple):
    """Parts that an output of matching steps makes, and what mends it. ids: what the first group's sum is."""

    position: int
    groups: Partition
    word: str
    change: Change
    ids: Ids


def missing_sums(scene: Scene, state: State, at: Siblings) -> Iterator[Fix]:
    """The sums over groups that are single-device values, where each member is none, and the means of such; those of
    all outputs at once first, as the gradients of a norm's weights are made.
    """
    outputs = range(len(scene.step(at.first).outputs))
    parts = [part for position in outputs for part in _parts(scene, state, at, position)]
    for part in parts:
        alike = [one for one in parts if (one.groups, one.word) == (part.groups, part.word)]
        if len(alike) > 1 and alike[0] is part:
            yield _summed_in_vain(scene, _told(scene, at, alike))
    yield from (_summed_in_vain(scene, _told(scene, at, [part])) for part in parts)


def _parts(scene: Scene, state: State, at: Siblings, position: int) -> Iterator[Part]:
    values = values_of(scene, at, position)
    if reduced_next(scene, state, set(values.values())):
        return
    for groups, sums in _sums(scene, state, at, position):
        means = [tuple(np.asarray(a / len(g)) for a in own) for g, own in zip(groups, sums, strict=True)]
        ids_of = {word: _known(scene, whole) for word, whole in (("summed", sums), ("averaged", means))}
        told = next((ids for ids in ids_of.values() if ids), [])
        exact = [word for word, ids in ids_of.items() if len(ids) == len(groups)]
        for word in (*exact, *(word for word in ids_of if told and word not in exact)):
            whole, found = sums if word == "summed" else means, ids_of[word] or told
            change = Change({values[p]: own for group, own in zip(groups, whole, strict=True) for p in group})
            yield Part(position, groups, word, change, found[0])


def _sums(scene: Scene, state: State, at: Siblings, position: int) -> Iterator[tuple[Partition, list[Arrays]]]:
    """The sums of what steps make, over groups of which some members make different values. Truth values have none."""
    values = values_of(scene, at, position)
    if scene.other.truths.intersection(values.values()):
        return
    arrays = {place: state.arrays(value) for place, value in values.items()}
    present = {place: found for place, found in arrays.items() if found is not None}
    if len({found[0].shape for found in present.values()}) != 1 or all(map(is_mask, present.values())):
        return
    for groups in groupings(scene, list(present)):
        if not any(all(close(present[p], present[group[0]]) for p in group) for group in groups):
            sums = [total([present[place] for place in group]) for group in groups]
            if not any(map(is_table, sums)):
                yield groups, sums


def are_parts(scene: Scene, state: State, at: Siblings, position: int) -> bool:
    """Whether the single-device plan has all sums of what steps make, over some groups."""
    each = (sums for _, sums in _sums(scene, state, at, position))
    return any(all(scene.look(whole) is not None for whole in sums) for sums in each)


def _known(scene: Scene, arrays: Sequence[Arrays]) -> list[Ids]:
    return [ids for array in arrays if (ids := scene.look(array)) is not None]


def _told(scene: Scene, at: Siblings, parts: Sequence[Part]) -> Fix:
    """The correction of outputs of steps, told of the first of them."""
    position, groups, word, _, ids = parts[0]
    change = Change({value: arrays for part in parts for value, arrays in part.change.values.items()})
    step, group = scene.step(at.steps[groups[0][0]]), groups[0]
    text, single = elements_text(scene, ids), owners(scene, ids)
    collective = operator_text(scene, step) if step.op == SUM else ""
    if collective in REDUCING:
        inside = members(scene, at, group[:1])
        due = members(scene, at, group)
        node = called(collective, at.name)
        title = f"{node} sums over {ranks_text(inside)}; the parts of {text} are on {ranks_text(due)}"
        return Fix("wrong-group", title, at, group, change, single=single)
    due = sorted({rank for rank, _ in group})
    word_of = "microbatches" if scene.parallel.microbatches > 1 else "runs"
    over = ranks_text(due) if len(due) > 1 else f"the {word_of} {', '.join(str(m) for _, m in group)}"
    if len(due) > 1 and len({m for _, m in group}) > 1:
        over += f" and all {word_of}"
    read = readers_text(scene, at, position)
    uses = "use" if " and " in read else "uses"
    where = f"on each of {ranks_text(due)}" if len(due) > 1 else f"in each of the {word_of}"
    made = f"{node_text(scene, step)} makes a part of {text} {where}"
    title = f"{made}, and {read} {uses} it before it is {word} over {over}"
    return Fix(
        "missing-reduction", title, at, tuple(p for g in groups for p in g), change,
        help=f"let it be {word} over {over} before {read}", single=single, kin=(over,),
        edits=partial(reduced, scene, at, [p.position for p in parts], groups, "sum" if word == "summed" else "avg"),
    )  # fmt: skip


def _summed_in_vain(scene: Scene, fix: Fix) -> Fix:
    """The correction, told of the reduction that sums these parts, as they are or moved, and that nobody reads, where
    there is one: that of a copy in its place, say. Of a program that is its line, since no node hands on the other one.
    """
    if fix.code != "missing-reduction":
        return fix
    declared = {result.value for result in scene.other.results}
    moved = _moved(scene, set(fix.change.values))
    for other in (other for other in scene.classes if other.op in REDUCTIONS.values()):
        made = values_of(scene, other, 0)
        read = {value for number in other.steps.values() for value in scene.step(number).inputs}
        if not read <= moved or any(scene.readers.get(value) or value in declared for value in made.values()):
            continue
        if {rank for place in other.steps for rank in members(scene, other, [place])} == {r for r, _ in fix.instances}:
            vain = f"nothing reads what {node_text(scene, scene.step(other.first))} sums"
            told = fix._replace(title=f"{vain}: {fix.title}")
            return told if cited_in(other.name) is None else told._replace(at=other, instances=tuple(other.steps))
    return fix


def _moved(scene: Scene, values: set[int]) -> set[int]:
    """These values, and what only moves or copies them."""
    found, waiting = set(values), list(values)
    while waiting:
        for step in (scene.step(number) for number in scene.readers.get(waiting.pop(), ())):
            rule = RULES.get(step.op)
            if len(step.inputs) == 1 and ((rule is not None and rule.moves) or FACTS.copies(step.op, 1, 1)):
                waiting.extend(value for value in step.outputs if value != ABSENT and value not in found)
                found.update(step.outputs)
    return found


def reduced_next(scene: Scene, state: State, values: set[int]) -> bool:
    """Whether these values go into nothing but reductions over ranks, or into what is linear in them and goes there;
    what is the same whatever they are (their shape, a one) aside.
    """
    declared = {result.value for result in scene.other.results}
    summed = False
    for _ in range(MOST_LINEAR):
        readers = [(scene.step(k), value) for value in values for k in scene.readers.get(value, ())]
        if not readers or not declared.isdisjoint(values):
            return False
        if _cut_apart(step for step, _ in readers):
            return False
        further: set[int] = set()
        for step, value in readers:
            if _reduces(scene, step):
                summed = True
            elif _linear(step, value):
                further.update(output for output in step.outputs if output != ABSENT)
            elif not _steady(state, step):
                return False
        if not further:
            return summed
        values = further
    return False


def _cut_apart(steps: Iterable[Step]) -> bool:
    """Whether ranks go on with other pieces of what they read: these are parts of no one sum."""
    taken: dict[str, set[object]] = defaultdict(set)
    for step in steps:
        rule = RULES.get(step.op)
        if rule is not None and rule.moves:
            taken[step.place.name].add(frozen(step.attrs))
    return any(len(attrs) > 1 for attrs in taken.values())


def _reduces(scene: Scene, step: Step) -> bool:
    """Whether a step is a reduction over ranks, or the sum that outputs are declared to be parts of."""
    is_one = step.op in REDUCTIONS.values()
    return is_one and (operator_text(scene, step) in REDUCING or step.place.name == DECLARED.step.node.name)


def _steady(state: State, step: Step) -> bool:
    """Whether a step makes the same on all seeds."""
    made = [arrays for value in step.outputs if value != ABSENT and (arrays := state.arrays(value)) is not None]
    return all(np.array_equal(array, arrays[0]) for arrays in made for array in arrays)


def _linear(step: Step, value: int) -> bool:
    """Whether a step is linear in this one of its inputs, or adds it to others."""
    rule = RULES.get(step.op)
    if rule is None:
        return False
    arity = len(step.inputs)
    if FACTS.is_sum(step.op):
        return True
    positions = range(arity) if rule.moves else rule.linear_in(arity, step.attrs)
    return step.inputs.count(value) == 1 and step.inputs.index(value) in positions


def lost_summands(scene: Scene, state: State, at: Siblings) -> Iterator[Fix]:
    """Values that nobody reads, added."""
    values = values_of(scene, at, 0)
    arrays = {place: state.arrays(value) for place, value in values.items()}
    if any(found is None for found in arrays.values()) or all(
        state.look(scene, value) is not None for value in values.values()
    ):
        return
    declared = {result.value for result in scene.other.results}
    tried = 0
    for other in scene.classes:
        for position in range(len(scene.step(other.first).outputs)):
            lost = values_of(scene, other, position)
            if any(scene.readers.get(value) or value in declared for value in lost.values()):
                continue
            places = [place for place in values if place in lost] or [
                (rank, m) for rank, m in values for r, _ in lost if r == rank
            ]
            added: dict[int, Arrays] = {}
            for place in places:
                mine = arrays[place]
                theirs = [state.arrays(v) for (rank, m), v in lost.items() if (rank, m) == place or rank == place[0]]
                if mine is None or any(t is None or t[0].shape != mine[0].shape for t in theirs):
                    continue
                added[values[place]] = total([mine, *(t for t in theirs if t is not None)])
            if not added:
                continue
            tried += 1
            if tried > MOST_LOST:
                return
            name = node_text(scene, scene.step(other.first))
            title = f"{node_text(scene, scene.step(at.first))} lacks a summand: nothing reads what {name} makes"
            there = all(place in lost for place in places)
            edits = partial(
                adding, scene, [at.steps[place] for place in places], [lost[place] for place in places]
            ) if there else tuple  # fmt: skip
            yield Fix(
                "gradient-missing", title, at, tuple(places), Change(added), help=f"add what {name} makes",
                edits=edits,
            )  # fmt: skip


def values_of(scene: Scene, at: Siblings, position: int) -> Values:
    """Output `position` of matching steps."""
    found = {}
    for place, number in at.steps.items():
        outputs = scene.step(number).outputs
        if position < len(outputs) and outputs[position] != ABSENT:
            found[place] = outputs[position]
    return found


def groupings(scene: Scene, places: Sequence[Instance]) -> Iterator[Partition]:
    """The partitions of these instances in which every group has several members, each once."""
    seen: set[Partition] = set()
    among = set(places)
    for partition in scene.partitions:
        groups = tuple(g for g in (tuple(p for p in group if p in among) for group in partition) if g)
        if groups in seen or any(len(group) < 2 for group in groups):
            continue
        seen.add(groups)
        yield groups


def total(arrays: Sequence[Arrays]) -> Arrays:
    """The sum, on each seed."""
    return tuple(np.asarray(sum(found[1:], start=found[0])) for found in zip(*arrays, strict=True))


def members(scene: Scene, at: Siblings, group: Sequence[Instance]) -> list[int]:
    """The ranks whose values the sums at these places add."""
    return sorted({rank for place in group for rank in entered(scene, scene.step(at.steps[place]))})
