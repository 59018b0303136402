"""Steps against single-device steps: other attributes, another operator, another input."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from verdict.graph import ABSENT
from verdict.ops import RULES, Array
from verdict.sweep.elements import Ids
from verdict.sweep.flow import GRAD, Step, apply
from verdict.sweep.trace import frozen
from verdict.sweep.why.fix import Fix
from verdict.sweep.why.mend import CANNOT, Change, State
from verdict.sweep.why.scene import Arrays, Scene, arrays_of, close
from verdict.sweep.why.siblings import Instance, Siblings
from verdict.sweep.why.words import elements_text, node_text, places_text, single_line

MOST_PARTNERS = 8
MOST_CANDIDATES = 8
AVERAGING = (("sum", "mean"), ("aten.sum", "aten.mean"))


def other_attributes(scene: Scene, state: State, at: Siblings) -> Iterator[Fix]:
    """The attributes of single-device steps of the same operator on the same values, and those of the siblings."""
    if at.op.startswith("~"):
        return
    own = {place: scene.step(number) for place, number in at.steps.items()}
    known: dict[tuple[tuple[str, str], ...], tuple[Mapping[str, Any], int]] = {}
    for number in partners(scene, state, at, same=True):
        known.setdefault(frozen(scene.one.steps[number].attrs), (scene.one.steps[number].attrs, number))
    for step in own.values():
        known.setdefault(frozen(step.attrs), (step.attrs, -1))
    for key, (attrs, number) in known.items():
        apart = {place: step for place, step in own.items() if frozen(step.attrs) != key}
        change = _applied(state, {p: step._replace(attrs=attrs) for p, step in apart.items()})
        if not apart or not change:
            continue
        step = next(iter(apart.values()))
        names = [k for k in sorted({*attrs, *step.attrs}) if repr(attrs.get(k)) != repr(step.attrs.get(k))]
        mine, due = _values(step.attrs, names), _values(attrs, names)
        against = "the single-device node has" if number >= 0 else "on the other ranks it has"
        title = f"{node_text(scene, step)} has {mine} on {places_text(scene, tuple(apart))}; {against} {due}"
        lines = (single_line(scene, number),) if number >= 0 else ()
        rule = RULES.get(step.op.removesuffix(GRAD))
        code = "wrong-order" if rule is not None and rule.moves and number >= 0 else "wrong-constant"
        yield Fix(code, title, at, tuple(apart), Change(change), single=lines, help=f"use {due}")


def other_operator(scene: Scene, state: State, at: Siblings) -> Iterator[Fix]:
    """Another operator that the single-device plan has on the same values."""
    if at.op.startswith("~"):
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
            change = _applied(state, swapped)
            if not change:
                continue
            step = next(iter(places.values()))
            title = f"{node_text(scene, step)} stands where the single-device plan has {other.op} {other.place.name}"
            averaging = any({step.op, other.op} in ({a, b}, {a + GRAD, b + GRAD}) for a, b in AVERAGING)
            yield Fix(
                "mean-instead-of-sum" if averaging else "operator-differs", title, at, tuple(places), Change(change),
                single=(single_line(scene, number),), help=f"use {other.op}",
            )  # fmt: skip


def partners(scene: Scene, state: State, at: Siblings, same: bool) -> list[int]:
    """Single-device steps that read all that these read: of the same operator, or of others."""
    number = at.first
    step = scene.step(number)
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


def other_input(scene: Scene, state: State, at: Siblings) -> Iterator[Fix]:
    """Another value in place of one input, of those that a single-device step of the same operator reads."""
    if at.op.startswith("~"):
        return
    first = scene.step(at.first)
    reads = [state.look(scene, value) for value in first.inputs]
    tried = 0
    for number, other in enumerate(scene.one.steps):
        if other.op != first.op or len(other.inputs) != len(first.inputs) or frozen(other.attrs) != frozen(first.attrs):
            continue
        fits = [ids is not None and within(ids, own) for ids, own in zip(reads, scene.trace.reads[number], strict=True)]
        apart = [k for k, fit in enumerate(fits) if not fit]
        if len(apart) > 1:
            continue
        for k in apart or range(len(fits)):
            tried += 1
            if tried > MOST_PARTNERS:
                return
            yield from _rewired(scene, state, at, number, k)


def _rewired(scene: Scene, state: State, at: Siblings, number: int, k: int) -> Iterator[Fix]:
    """Each of the values that could be input `k` where single-device step `number` is meant."""
    options: dict[Instance, list[tuple[Arrays, Ids, str]]] = {}
    for place, step_number in at.steps.items():
        step = scene.step(step_number)
        current = state.arrays(step.inputs[k], place[0])
        if current is None:
            return
        found = list(_candidates(scene, state, place, current, scene.trace.reads[number][k]))
        fitting = [c for c in found if _makes(scene, state, step, k, c[0])]
        if fitting:
            options[place] = fitting[:MOST_CANDIDATES]
    if not options:
        return
    for round_ in range(max(map(len, options.values()))):
        chosen = {place: found[min(round_, len(found) - 1)] for place, found in options.items()}
        yield _wired(scene, state, at, number, k, chosen)
    for place, found in options.items() if len(options) > 1 else ():
        for candidate in found:
            yield _wired(scene, state, at, number, k, {place: candidate})


def _wired(
    scene: Scene, state: State, at: Siblings, number: int, k: int, chosen: Mapping[Instance, tuple[Arrays, Ids, str]]
) -> Fix:
    change: dict[int, Arrays] = {}
    for place, (arrays, _, _) in chosen.items():
        change.update(_outputs(state, scene.step(at.steps[place]), {k: arrays}) or {})
    place, (_, due, name) = next(iter(chosen.items()))
    step = scene.step(at.steps[place])
    has = state.look(scene, step.inputs[k])
    text = elements_text(scene, has) if has is not None else "what is no single-device value"
    expected = elements_text(scene, due)
    code = "wrong-input"
    if has is not None and within(has, scene.trace.reads[number][k]):
        code = "wrong-slice" if not np.array_equal(np.sort(has.ravel()), np.sort(due.ravel())) else "wrong-order"
    where = places_text(scene, (place,))
    title = f"{node_text(scene, step)} on {where} reads {text} as input {k}, where {expected} is due"
    notes = (f"rank {place[0]} holds that as {name}",) if name else ()
    return Fix(
        code, title, at, tuple(chosen), Change(change), notes, f"wire in {name or expected}",
        (single_line(scene, number),),
    )  # fmt: skip


def _candidates(
    scene: Scene, state: State, place: Instance, current: Arrays, due: Ids
) -> Iterator[tuple[Arrays, Ids, str]]:
    """Values of the same shape that are elements of `due`: those that the rank holds, then boxes of the whole."""
    shape = current[0].shape
    seen: list[Arrays] = [current]
    for one in scene.classes:
        number = one.steps.get(place)
        if number is None:
            continue
        for value in scene.step(number).outputs:
            arrays = state.arrays(value) if value != ABSENT else None
            if arrays is None or arrays[0].shape != shape:
                continue
            ids = state.look(scene, value)
            if ids is not None and within(ids, due) and not any(close(arrays, other) for other in seen):
                seen.append(arrays)
                yield arrays, ids, node_text(scene, scene.step(number))
    for item in scene.catalogue.known:
        if item.ids.shape != due.shape or not np.array_equal(item.ids, due) or due.ndim != len(shape):
            continue
        steps = [range(0, n - size + 1, max(size, 1)) for n, size in zip(due.shape, shape, strict=True)]
        for offset in product(*steps):
            box = tuple(slice(a, a + size) for a, size in zip(offset, shape, strict=True))
            arrays = tuple(np.asarray(array[box]) for array in item.values)
            if not any(close(arrays, other) for other in seen):
                seen.append(arrays)
                yield arrays, due[box], ""
        return


def _makes(scene: Scene, state: State, step: Step, k: int, arrays: Arrays) -> bool:
    """Whether a step would make other single-device values, or parts of them, with another input."""
    made = _outputs(state, step, {k: arrays})
    return made is not None and bool(made)


def _applied(state: State, steps: Mapping[Instance, Step]) -> dict[int, Arrays]:
    """What steps would make as they are given, where that is something else. Empty where one cannot be run."""
    found: dict[int, Arrays] = {}
    for step in steps.values():
        made = _outputs(state, step, {})
        if made is None:
            return {}
        found.update(made)
    now = {value: arrays_of(state.values, value) for value in found}
    return {value: own for value, own in found.items() if (held := now[value]) is not None and not close(held, own)}


def _outputs(state: State, step: Step, instead: Mapping[int, Arrays]) -> dict[int, Arrays] | None:
    inputs = [instead.get(k) or state.arrays(value, step.place.rank) for k, value in enumerate(step.inputs)]
    if any(arrays is None for arrays in inputs):
        return None
    made: dict[int, list[Array]] = {}
    seeds = len(state.values)
    try:
        for seed in range(seeds):
            with np.errstate(all="ignore"):
                outputs = apply(step, [arrays[seed] for arrays in inputs if arrays is not None])
            for value, array in zip(step.outputs, outputs, strict=False):
                if value != ABSENT and array is not None:
                    made.setdefault(value, []).append(np.asarray(array, dtype=np.float64))
    except CANNOT:
        return None
    before = {value: arrays_of(state.values, value) for value in made}
    if any(own is None or own[0].shape != made[value][0].shape for value, own in before.items()):
        return None
    return {value: tuple(arrays) for value, arrays in made.items()}


def within(ids: Ids, whole: Ids) -> bool:
    """Whether all elements are among others."""
    return ids.size > 0 and bool(np.isin(ids.ravel(), whole.ravel()).all())


def _values(attrs: Mapping[str, Any], names: Sequence[str]) -> str:
    return ", ".join(f"{name}={attrs[name]!r}" if name in attrs else f"no {name}" for name in names)
