"""Steps against single-device steps: other attributes, another operator, another input."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from verdict.graph import ABSENT, GRAD
from verdict.ops import FACTS, RULES, Array
from verdict.sweep.flow import CANNOT, Step, attempt, require_fit
from verdict.sweep.trace import frozen
from verdict.sweep.why.edits import attributes
from verdict.sweep.why.fix import Fix
from verdict.sweep.why.mend import Budget, Change, State, mended
from verdict.sweep.why.naming import within
from verdict.sweep.why.scene import Arrays, Scene, arrays_of, close
from verdict.sweep.why.siblings import Instance, Siblings
from verdict.sweep.why.words import attributes_text, called, node_text, places_text, single_line

MOST_PARTNERS = 8
"""How many single-device steps that read the same are tried as what a step should be, the first ones."""


def other_attributes(scene: Scene, state: State, at: Siblings) -> Iterator[Fix]:
    """The attributes of single-device steps of the same operator on the same values, and those of the siblings."""
    if at.op.startswith("~"):
        return
    own = {place: scene.step(number) for place, number in at.steps.items()}
    distinct = {frozen(step.attrs): step for step in own.values()}
    if len(distinct) > 1:
        for like in distinct.values():
            yield from _changed(scene, state, at, own, like, tuple({*like.attrs, *first_of(own).attrs}), -1)
    for number in partners(scene, state, at, same=True):
        like = _counting(scene, number)
        attrs = like.attrs
        names = sorted(
            {k for step in own.values() for k in {*attrs, *step.attrs} if _at(attrs, k) != _at(step.attrs, k)}
        )
        for chosen in (*((name,) for name in names if len(names) > 1), tuple(names)):
            yield from _changed(scene, state, at, own, like, chosen, number)


def _changed(
    scene: Scene, state: State, at: Siblings, own: Mapping[Instance, Step], like: Step, names: Sequence[str],
    number: int,
) -> Iterator[Fix]:  # fmt: skip
    """The steps with some attributes as another one has them: single-device step `number` if that is none."""
    attrs = like.attrs
    apart = {place: step for place, step in own.items() if any(_at(attrs, k) != _at(step.attrs, k) for k in names)}
    if number >= 0:
        apart = {place: step for place, step in apart.items() if not right(scene, state, step, number)}
    due = {
        place: {**{k: v for k, v in step.attrs.items() if k not in names}, **{k: attrs[k] for k in names if k in attrs}}
        for place, step in apart.items()
    }
    change = applied(state, {place: step._replace(attrs=due[place]) for place, step in apart.items()})
    if not change:
        return
    step = first_of(apart)
    told = [k for k in sorted(names) if _at(attrs, k) != _at(step.attrs, k)]
    mine, wanted = attributes_text(step, told), attributes_text(like, told)
    against = "the single-device node has" if number >= 0 else "on the other ranks it has"
    title = f"{node_text(scene, step)} has {mine} on {places_text(scene, tuple(apart))}; {against} {wanted}"
    lines = (single_line(scene, number),) if number >= 0 else ()
    rule = RULES.get(step.op.removesuffix(GRAD))
    code = "wrong-order" if rule is not None and rule.moves and number >= 0 else "wrong-constant"
    if told == ["count"]:
        code = "wrong-scale"
    edits = partial(attributes, scene, [at.steps[place] for place in apart], like.stated, told)
    yield Fix(code, title, at, tuple(apart), Change(change), single=lines, help=f"use {wanted}", edits=edits)


def _counting(scene: Scene, number: int) -> Step:
    """A single-device step; for a mean, its attributes say also over how many elements."""
    step = scene.one.steps[number]
    rule = FACTS.of(step.op)
    if rule is None or not rule.average_of or "count" in step.attrs:
        return step
    many, few = scene.trace.reads[number][step.grads], scene.trace.reads[number][0]
    made = few if step.grads else scene.trace.ids[step.outputs[0]]
    if made is None or not made.size:
        return step
    return step._replace(attrs={**step.attrs, "count": many.size // made.size})


def right(scene: Scene, state: State, step: Step, number: int) -> bool:
    """Whether all that a step makes are regions of what a single-device step makes."""
    for value, other in zip(step.outputs, scene.one.steps[number].outputs, strict=False):
        if value == ABSENT:
            continue
        mine, whole = state.arrays(value), arrays_of(scene.right, other) if other != ABSENT else None
        if mine is None or whole is None or mine[0].ndim != whole[0].ndim:
            return False
        steps = [range(0, n - k + 1, max(k, 1)) for n, k in zip(whole[0].shape, mine[0].shape, strict=True)]
        boxes = (tuple(slice(a, a + k) for a, k in zip(at, mine[0].shape, strict=True)) for at in product(*steps))
        if not any(close(mine, tuple(np.asarray(array[box]) for array in whole)) for box in boxes):
            return False
    return True


def first_of(steps: Mapping[Instance, Step]) -> Step:
    """The first of some steps."""
    return next(iter(steps.values()))


def other_operator(scene: Scene, state: State, at: Siblings) -> Iterator[Fix]:
    """Another operator that the single-device plan has on the same values."""
    if at.op.startswith("~") or _declares_given(scene, scene.step(at.first)):
        return
    own = {place: scene.step(number) for place, number in at.steps.items()}
    bad = {p: s for p, s in own.items() if any(o != ABSENT and state.look(scene, o) is None for o in s.outputs)}
    for number in partners(scene, state, at, same=False):
        other = scene.one.steps[number]
        for places in (own, bad) if bad and len(bad) < len(own) else (own,):
            swapped = {
                p: s._replace(op=other.op, attrs=other.attrs, grads=other.grads)
                for p, s in places.items()
                if len(s.inputs) == len(other.inputs) and len(s.outputs) == len(other.outputs)
            }
            change = applied(state, swapped)
            if not change:
                continue
            step = first_of(places)
            due = called(other.op, other.place.name)
            title = f"{node_text(scene, step)} stands where the single-device plan has {due}"
            averaging = FACTS.averages(step.op, other.op)
            yield Fix(
                "mean-instead-of-sum" if averaging else "operator-differs", title, at, tuple(places), Change(change),
                single=(single_line(scene, number),), help=f"use {other.op}",
            )  # fmt: skip


def _declares_given(scene: Scene, step: Step) -> bool:
    """Whether a step does nothing but declare what is given: a weight that a rank leaves as it is."""
    copy = FACTS.copies(step.op, len(step.inputs), len(step.outputs))
    return copy and step.inputs[0] not in scene.maker and not any(map(scene.readers.get, step.outputs))


def partners(scene: Scene, state: State, at: Siblings, same: bool) -> list[int]:
    """Single-device steps that read all that these read: of the same operator, or of others."""
    step = doubtful(scene, state, at)
    reads = [state.look(scene, value) for value in step.inputs]
    found = []
    for k, other in enumerate(scene.one.steps):
        if (other.op == step.op) != same or len(other.inputs) != len(step.inputs):
            continue
        if all(ids is None or within(ids, own) for ids, own in zip(reads, scene.trace.reads[k], strict=True)) and any(
            ids is not None for ids in reads
        ):
            found.append(k)
            if len(found) == MOST_PARTNERS:
                break
    return found


def doubtful(scene: Scene, state: State, at: Siblings) -> Step:
    """The first of matching steps that makes what is no single-device value; the first of all where none does."""
    steps = [scene.step(number) for number in at.steps.values()]
    odd = (s for s in steps if any(v != ABSENT and state.look(scene, v) is None for v in s.outputs))
    return next(odd, steps[0])


def applied(state: State, steps: Mapping[Instance, Step]) -> dict[int, Arrays]:
    """What steps would make as they are given, where that is something else. Empty where one cannot be run."""
    found = made_by(state, steps.values()) or {}
    now = {value: arrays_of(state.values, value) for value in found}
    return {value: own for value, own in found.items() if (held := now[value]) is not None and not close(held, own)}


def made_by(state: State, steps: Iterable[Step]) -> dict[int, Arrays] | None:
    """What steps would make as they are given, each of what those before it make; None where one cannot be run."""
    found: dict[int, Arrays] = {}
    for step in steps:
        made = outputs_with(state, step, {k: found[value] for k, value in enumerate(step.inputs) if value in found})
        if made is None:
            return None
        found.update(made)
    return found


def in_turn(scene: Scene, state: State, runs: Iterable[Mapping[Instance, Step]]) -> dict[int, Arrays]:
    """What steps would make as they are given, one run after the other: each goes on from the last. Empty where one
    cannot be run.
    """
    found: dict[int, Arrays] = {}
    budget = Budget()
    for steps in runs:
        found.update(change := applied(state, steps))
        after = mended(scene, state, Change(change), budget)
        if after is None:
            return {}
        state = after
    return found


def outputs_with(state: State, step: Step, instead: Mapping[int, Arrays]) -> dict[int, Arrays] | None:
    """What a step makes with some of its inputs replaced; None where it cannot be run, or makes other shapes."""
    inputs = [instead.get(k) or state.arrays(value, step.place.rank) for k, value in enumerate(step.inputs)]
    if any(arrays is None for arrays in inputs):
        return None
    made: dict[int, list[Array]] = {}
    seeds = len(state.values)
    try:
        require_fit(step, [arrays[0].shape for arrays in inputs if arrays is not None])
        for seed in range(seeds):
            given = [arrays[seed] for arrays in inputs if arrays is not None]
            outputs = attempt(step, given)
            for value, array in zip(step.outputs, outputs, strict=False):
                if value != ABSENT and array is not None:
                    made.setdefault(value, []).append(np.asarray(array, dtype=np.float64))
    except CANNOT:
        return None
    before = {value: arrays_of(state.values, value) for value in made}
    if any(own is None or own[0].shape != made[value][0].shape for value, own in before.items()):
        return None
    return {value: tuple(arrays) for value, arrays in made.items()}


def _at(attrs: Mapping[str, Any], name: str) -> str:
    return repr(attrs[name]) if name in attrs else ""
