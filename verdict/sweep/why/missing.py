"""Parts that are used as if they were the sum; and summands that nobody adds."""

from collections.abc import Iterator, Sequence

import numpy as np

from verdict.graph import ABSENT
from verdict.sweep.flow import SUM
from verdict.sweep.why.fix import Fix
from verdict.sweep.why.mend import Change, State
from verdict.sweep.why.scene import Arrays, Scene, close
from verdict.sweep.why.siblings import Instance, Partition, Siblings
from verdict.sweep.why.words import (
    elements_text,
    node_text,
    operator_text,
    owners,
    places_text,
    ranks_text,
    readers_text,
)

Values = dict[Instance, int]
REDUCING = ("all_reduce", "reduce_scatter", "reduce")
MOST_LOST = 12
"""How many values that nobody reads are tried as the summand that is missing."""


def missing_sums(scene: Scene, state: State, at: Siblings) -> Iterator[Fix]:
    """The sums over groups that are single-device values, where each member is none."""
    for position in range(len(scene.step(at.first).outputs)):
        values = values_of(scene, at, position)
        arrays = {place: state.arrays(value) for place, value in values.items()}
        present = {place: found for place, found in arrays.items() if found is not None}
        if len(present) < 2 or len({found[0].shape for found in present.values()}) != 1:
            continue
        if all(state.look(scene, values[place]) is not None for place in present):
            continue
        for groups in groupings(scene, list(present)):
            totals = [total([present[place] for place in group]) for group in groups]
            copies = [all(close(present[p], present[group[0]]) for p in group) for group in groups]
            if any(copies):
                continue
            found = [ids for array in totals if (ids := scene.look(array)) is not None]
            if len(found) < len(totals):
                continue
            change = Change({values[p]: t for group, t in zip(groups, totals, strict=True) for p in group})
            yield _told(scene, at, position, groups, change, elements_text(scene, found[0]), owners(scene, found[0]))


def _told(
    scene: Scene, at: Siblings, position: int, groups: Partition, change: Change, text: str, single: Sequence[str]
) -> Fix:
    step, group = scene.step(at.steps[groups[0][0]]), groups[0]
    collective = operator_text(scene, step) if step.op == SUM else ""
    if collective in REDUCING:
        inside = members(scene, at, group[:1])
        due = members(scene, at, group)
        title = f"{collective} {at.name} sums over {ranks_text(inside)}; the parts of {text} are on {ranks_text(due)}"
        return Fix("wrong-group", title, at, group, change, single=tuple(single))
    due = sorted({rank for rank, _ in group})
    over = ranks_text(due) if len(due) > 1 else f"the microbatches {', '.join(str(m) for _, m in group)}"
    if len(due) > 1 and len({m for _, m in group}) > 1:
        over += " and all microbatches"
    read = readers_text(scene, at, position)
    uses = "use" if " and " in read else "uses"
    parts = f"{node_text(scene, step)} makes a part of {text} on each of {ranks_text(rank for rank, _ in group)}"
    title = f"{parts}, and {read} {uses} it before it is summed over {over}"
    return Fix(
        "missing-reduction", title, at, tuple(p for g in groups for p in g), change,
        help=f"sum it over {over} before {read}", single=tuple(single), kin=(over,),
    )  # fmt: skip


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
            yield Fix(
                "gradient-missing", title, at, tuple(places), Change(added), help=f"add what {name} makes",
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
    found: set[int] = set()
    for place in group:
        for value in scene.step(at.steps[place]).inputs:
            maker = scene.maker.get(value)
            found.add(scene.step(maker).place.rank if maker is not None else place[0])
    return sorted(found)


def places_of(scene: Scene, fix: Fix) -> str:
    """Where a fix applies."""
    return places_text(scene, fix.instances)
