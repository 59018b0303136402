"""A correction tried: some values replaced, all that depends on them computed anew, the outputs compared again."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from heapq import heapify, heappop, heappush
from typing import Any, NamedTuple

import numpy as np

from verdict.comparison import Faulty
from verdict.graph import ABSENT
from verdict.sweep.compare import Different, different
from verdict.sweep.elements import Ids
from verdict.sweep.flow import CANNOT, Result, attempt
from verdict.sweep.values import Values
from verdict.sweep.why.cone import readers_of
from verdict.sweep.why.scene import Arrays, Scene, arrays_of
from verdict.sweep.why.siblings import Siblings

MOST_APPLIED = 6_000
"""How many operators are applied before the search for a cause of one kind ends."""


class Change(NamedTuple):
    """values: replaced wherever they are read. reads: (value, rank): replaced where that rank reads it."""

    values: Mapping[int, Arrays] = {}
    reads: Mapping[tuple[int, int], Arrays] = {}


@dataclass(slots=True)
class Budget:
    """What is left of the operators that may be applied."""

    left: int = MOST_APPLIED


Place = tuple[Hashable, ...]
"""Which output it is, whatever value holds it."""


@dataclass(frozen=True)
class State:
    """The parallel flow with some changes made. different: the outputs that still differ. seen: elements found. asked:
    what is kept of the corrections that were looked for, see once.py.
    """

    values: Values
    change: Change
    different: tuple[Different, ...]
    seen: dict[int, Ids | None] = field(default_factory=dict)
    asked: dict[Hashable, Any] = field(default_factory=dict)

    def arrays(self, value: int, rank: int | None = None) -> Arrays | None:
        """A value on all seeds, as read on a rank."""
        if rank is not None and (value, rank) in self.change.reads:
            return self.change.reads[value, rank]
        return arrays_of(self.values, value)

    def look(self, scene: Scene, value: int) -> Ids | None:
        """The single-device elements that a value consists of, None where it does not."""
        if value not in self.seen:
            arrays = self.arrays(value)
            self.seen[value] = scene.look(arrays) if arrays is not None else None
        return self.seen[value]

    @cached_property
    def wrong(self) -> frozenset[Place]:
        """The outputs that differ."""
        return frozenset(_place(item.result) for item in self.different)


def _place(result: Result) -> Place:
    return result.key, result.what, result.where, result.declared


def improved(scene: Scene, state: State, change: Change, budget: Budget) -> State | None:
    """The state after a change that mends outputs and breaks none; None where it does not.

    Corrections of several kinds make one change, and kinds are gone through again: each change is tried once in a
    state, and counts as often as it is asked for.
    """
    key = (improved, _spelled(change))
    if key in state.asked:
        spent, found = state.asked[key]
        budget.left -= spent
        return found if budget.left >= 0 else None
    left = budget.left
    found = _improved(scene, state, change, budget)
    if budget.left >= 0:
        state.asked[key] = (left - budget.left, found)
    return found


def _spelled(change: Change) -> bytes:
    """A digest of a change: equal exactly where it replaces the same by the same."""
    spelled = sha256()
    for part in change:
        for place, arrays in part.items():
            spelled.update(repr((place, [(array.dtype.str, array.shape) for array in arrays])).encode())
            for array in arrays:
                spelled.update(array.tobytes())
        spelled.update(b";")
    return spelled.digest()


def _improved(scene: Scene, state: State, change: Change, budget: Budget) -> State | None:
    right = [result for result in scene.other.results if _place(result) not in state.wrong]
    first = mended(scene, state, change, budget, seeds=1, right=right)
    if first is None or not first.wrong < state.wrong:
        return None
    after = mended(scene, state, change, budget)
    return after if after is not None and after.wrong < state.wrong else None


def mended(
    scene: Scene,
    state: State,
    change: Change,
    budget: Budget,
    seeds: int | None = None,
    right: Sequence[Result] = (),
) -> State | None:
    """The state after a change; None where some operator cannot be run then, or where nothing is left to try with.

    seeds: of how many seeds, the first ones; all where it is not given. right: outputs; where one of them is made to
    differ, None.
    """
    held = {result.value: result for result in right}
    merged = Change({**state.change.values, **change.values}, {**state.change.reads, **change.reads})
    values: Values = [list(seed) for seed in state.values[:seeds]]
    for value, arrays in change.values.items():
        for seed, array in zip(values, arrays, strict=False):
            seed[value] = array
    touched = {reader for value in change.values for reader in scene.readers.get(value, ())}
    for value, rank in change.reads:
        touched |= {k for k in scene.readers.get(value, ()) if scene.step(k).place.rank == rank}
    queue, queued, changed = list(touched), set(touched), set(change.values)
    heapify(queue)
    try:
        while queue:
            number = heappop(queue)
            budget.left -= 1
            if budget.left < 0:
                return None
            again = _again(scene, values, merged, number)
            changed.update(again)
            touching = tuple(held[value] for value in again if value in held)
            if touching and _differ(scene, values, touching):
                return None
            for value in again:
                for reader in scene.readers.get(value, ()):
                    if reader not in queued:
                        queued.add(reader)
                        heappush(queue, reader)
        seen = {value: ids for value, ids in state.seen.items() if value not in changed}
        return State(values, merged, _different(scene, state, values, merged, change, changed), seen)
    except (*CANNOT, Faulty):
        return None


def _differ(scene: Scene, values: Values, results: tuple[Result, ...]) -> bool:
    """Whether any of these outputs differs."""
    return next(different(results, scene.due, values, multiples=False), None) is not None


def _again(scene: Scene, values: Values, change: Change, number: int) -> list[int]:
    """Apply a step anew; which of its outputs are other numbers now."""
    step = scene.step(number)
    changed: list[int] = []
    for k, seed in enumerate(values):
        inputs = []
        for value in step.inputs:
            override = change.reads.get((value, step.place.rank))
            array = override[k] if override is not None else seed[value]
            if array is None:
                raise ValueError("nothing is made where an input is wanted")
            inputs.append(array)
        made = attempt(step, inputs)
        for value, output in zip(step.outputs, made, strict=False):
            if value == ABSENT or output is None or value in change.values:
                continue
            array = np.asarray(output, dtype=np.float64)
            before = seed[value]
            if before is None or before.shape != array.shape or not (before == array).all():
                seed[value] = array
                changed.append(value)
    return list(dict.fromkeys(changed))


def _different(
    scene: Scene, before: State, values: Values, change: Change, latest: Change, changed: set[int]
) -> tuple[Different, ...]:
    """The outputs that differ: those that hold other numbers than before are compared again. What they are times what
    they must be is told where they are compared on all seeds.
    """
    flow, found = scene.other, [list(seed) for seed in values]
    results: list[Result] = []
    own: dict[int, int] = {}
    for result in flow.results:
        rank = rank_of(result)
        if result.value not in changed and (result.value, rank) not in latest.reads:
            continue
        override = change.reads.get((result.value, rank)) if rank is not None else None
        if override is None:
            results.append(result)
            continue
        own[len(found[0])] = result.value
        results.append(result._replace(value=len(found[0])))
        for seed, array in zip(found, override, strict=False):
            seed.append(array)
    again = different(results, scene.due, found, multiples=len(values) == len(scene.right))
    compared = {_place(result) for result in results}
    kept = (item for item in before.different if _place(item.result) not in compared)
    values_of = ((item, own.get(item.result.value, item.result.value)) for item in again)
    return (*kept, *(replace(item, result=item.result._replace(value=value)) for item, value in values_of))


def behind(scene: Scene, change: Change, at: Siblings) -> frozenset[Place]:
    """The outputs that depend on what a change touches, and on what the steps make at which it is made."""
    touched = [*change.values, *(v for number in at.steps.values() for v in scene.step(number).outputs if v != ABSENT)]
    held = {_place(r) for r in scene.other.results if (r.value, rank_of(r)) in change.reads}
    for value, rank in change.reads:
        for k in scene.readers.get(value, ()):
            if scene.step(k).place.rank == rank:
                touched.extend(v for v in scene.step(k).outputs if v != ABSENT)
    steps = readers_of(scene, touched)
    reached = {*touched, *(v for k in steps for v in scene.step(k).outputs if v != ABSENT)}
    return frozenset(held | {_place(r) for r in scene.other.results if r.value in reached})


def rank_of(result: Result) -> int | None:
    """The rank that holds a result, None where it is held by several together."""
    word = result.where.rsplit(" ", maxsplit=1)[-1]
    return int(word) if word.isdigit() and "," not in result.where else None
