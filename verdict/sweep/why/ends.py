"""Declared outputs for which no correction of a step is known: what they are instead, and where the trail begins."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from verdict.graph import ABSENT
from verdict.ops import FACTS
from verdict.sweep.compare import Different, partner
from verdict.sweep.elements import Ids, Kind
from verdict.sweep.flow import Result, Step
from verdict.sweep.multiple import factors_of
from verdict.sweep.results import GRADIENT, OUTPUT
from verdict.sweep.trace import frozen
from verdict.sweep.why.fix import Fix
from verdict.sweep.why.mend import Change, State, rank_of
from verdict.sweep.why.missing import are_parts
from verdict.sweep.why.naming import of_gradients, within
from verdict.sweep.why.scene import Arrays, Scene, arrays_of, close
from verdict.sweep.why.search import Cause
from verdict.sweep.why.siblings import Siblings
from verdict.sweep.why.upstream import sums
from verdict.sweep.why.words import called, elements_text, node_text, owners


class Trail(NamedTuple):
    """Where the way to outputs begins that differ: of matching steps one makes what the other plan has nowhere."""

    at: Siblings
    behind: tuple[Different, ...]


def other_values(scene: Scene, state: State) -> tuple[list[Cause], tuple[Different, ...]]:
    """Outputs that are another single-device value than is due, as causes; and those that are none at all."""
    found: list[Cause] = []
    left: list[Different] = []
    for item in state.different:
        cause = _instead(scene, state, item)
        if cause is None:
            left.append(item)
        else:
            found.append(cause)
    return found, tuple(left)


def _instead(scene: Scene, state: State, item: Different) -> Cause | None:
    result = item.result
    other, has = partner(scene.one, result), state.look(scene, result.value)
    whole = scene.trace.ids[other.value] if other is not None else None
    if whole is None or other is None:
        return None
    due = whole[result.region] if whole.ndim == len(result.region) else whole
    full = arrays_of(scene.right, other.value)
    if full is None:
        return None
    arrays = tuple(np.asarray(array[result.region]) if array.ndim == len(result.region) else array for array in full)
    rank = rank_of(result)
    number = scene.maker.get(result.value)
    if rank is None or number is None:
        return None
    step = scene.step(number)
    at = next(one for one in scene.classes if number in one.steps.values())
    holder = _holder(scene, state, rank, arrays)
    notes = (f"rank {rank} holds that as {holder}",) if holder else ()
    if has is not None:
        code, said = _meaning(scene, has, due)
        title = f"the declared {result.what} is {elements_text(scene, has)}, {elements_text(scene, due)} is due{said}"
        if _is_kept(scene, result, has):
            mine = elements_text(scene, has)
            title = f"rank {rank} leaves {mine} as it was given, where {elements_text(scene, due)} is due{said}"
    elif (part := _part(scene, state, step, other)) is not None:
        code = "gradient-missing" if result.key[0] == GRADIENT else "missing-reduction"
        mine, of = node_text(scene, step), elements_text(scene, due)
        title = f"the declared {result.what} is what {mine} makes of {part} alone: nothing adds the other parts of {of}"
    else:
        twin = _twin(scene, state, item)
        if twin is None or twin.op == step.op:
            return None
        code, mine, theirs = "operator-differs", node_text(scene, step), node_text(scene, twin)
        title = f"rank {rank} makes the {result.what} by {mine}, rank {twin.place.rank} by {theirs}, which is right"
    place = next(place for place, k in at.steps.items() if k == number)
    change = Change({}, {(result.value, rank): arrays})
    help_text = f"declare {holder}" if holder else f"compute {elements_text(scene, due)}"
    kin = (str(result.key[0]),)
    fix = Fix(code, title, at, (place,), change, notes, help_text, owners(scene, due), kin)
    return Cause(fix, state, (item,))


def _is_kept(scene: Scene, result: Result, has: Ids) -> bool:
    """Whether an updated weight or buffer is what it was before the step."""
    kind, logical = result.key[:2]
    blocks = scene.elements.blocks_of(has)
    return kind == OUTPUT and all(block.kind is Kind.GIVEN and block.owner == logical for block in blocks)


def _part(scene: Scene, state: State, step: Step, due: Result) -> str | None:
    """Of which share of what it must read a step sums, in words, where it is the step that makes a single-device output
    but for that; None where it is not.
    """
    number = next((k for k, one in enumerate(scene.one.steps) if due.value in one.outputs), None)
    other = scene.one.steps[number] if number is not None else None
    if number is None or other is None or other.op != step.op or frozen(other.attrs) != frozen(step.attrs):
        return None
    reads, seen = scene.trace.reads[number], [state.look(scene, value) for value in step.inputs]
    if len(reads) != len(seen) or not sums(step, seen):
        return None
    known = [(ids, whole) for ids, whole in zip(seen, reads, strict=True) if ids is not None and within(ids, whole)]
    share = next((ids for ids, whole in known if ids.size < whole.size), None)
    return elements_text(scene, share) if share is not None and len(known) == len(reads) else None


def _twin(scene: Scene, state: State, item: Different) -> Step | None:
    """The step by which another rank makes the same region of the same output, and makes it right."""
    wrong = {(one.result.key, one.result.where) for one in state.different}
    for result in scene.other.results:
        if (result.key, result.region) == (item.result.key, item.result.region):
            number = scene.maker.get(result.value)
            if (result.key, result.where) not in wrong and number is not None:
                return scene.step(number)
    return None


def _meaning(scene: Scene, has: Ids, due: Ids) -> tuple[str, str]:
    """A code, and what the single-device plan does to get from one to the other."""
    for block in scene.elements.blocks_of(due):
        if block.kind is not Kind.SINGLE:
            continue
        step = scene.one.steps[block.owner]
        reads = scene.trace.reads[block.owner]
        if any(within(has, ids) for ids in reads):
            others = " and ".join(elements_text(scene, ids) for ids in reads if not within(has, ids))
            if others and FACTS.is_sum(step.op):
                code = "gradient-missing" if of_gradients(scene, due) else "missing-reduction"
                return code, f": the summand {others} is missing"
            return "operator-differs", f": the parallel plan has no {called(step.op, step.place.name)}"
    blocks = {block.start for ids in (has, due) for block in scene.elements.blocks_of(ids)}
    return "wrong-slice" if len(blocks) == 1 else "wrong-input", ""


def _holder(scene: Scene, state: State, rank: int, arrays: Arrays) -> str:
    """The node of a rank that makes these values."""
    for one in scene.classes:
        for (own, _), number in one.steps.items():
            if own != rank:
                continue
            for value in scene.step(number).outputs:
                found = state.arrays(value) if value != ABSENT else None
                if found is not None and found[0].shape == arrays[0].shape and close(found, arrays):
                    return node_text(scene, scene.step(number))
    return ""


def trails(scene: Scene, state: State, left: Sequence[Different]) -> tuple[list[Trail], list[Different]]:
    """Where the way to outputs begins that are explained by no correction, and the outputs of which that is not known.

    The steps are those that make of single-device values what the single-device plan has nowhere, those on the way to
    most outputs first: what some of these depend on may be as it should be. The way goes back along such values alone:
    what is made whole by a reduction before it is used is not on it. Nor are multiples of what the single-device plan
    has, as the gradients of each rank's own mean are, nor parts of which it has the sum, but where nothing else is
    wrong on it; nor integers, as each rank's own rows are.
    """
    begins: dict[int, list[Different]] = defaultdict(list)
    factors = factors_of(scene.parallel)

    @cache
    def there(value: int) -> bool:
        return state.look(scene, value) is not None

    @cache
    def scaled(value: int) -> bool:
        arrays = None if there(value) else state.arrays(value)
        if arrays is None:
            return there(value)
        multiples = (tuple(np.asarray(array / float(factor)) for array in arrays) for factor in factors)
        return any(scene.look(each) is not None for each in multiples)

    @cache
    def summed(value: int) -> bool:
        number = scene.maker.get(value)
        if number is None or scaled(value):
            return scaled(value)
        return parts(classes[number], scene.step(number).outputs.index(value))

    @cache
    def parts(kind: int, position: int) -> bool:
        return are_parts(scene, state, scene.classes[kind], position)

    classes = {number: k for k, at in enumerate(scene.classes) for number in at.steps.values()}
    for item in left:
        first = _first(scene, summed, item) or _first(scene, scaled, item) or _first(scene, there, item)
        reals = [number for number in first if _makes_reals(state, scene.step(number))]
        for k in dict.fromkeys(classes[number] for number in reals or first):
            begins[k].append(item)
    found: list[Trail] = []
    rest = list(left)
    while rest:
        k = max(sorted(begins), key=lambda k: sum(item in rest for item in begins[k]), default=-1)
        behind = [item for item in rest if item in begins[k]]
        if not behind:
            break
        found.append(Trail(scene.classes[k], tuple(behind)))
        rest = [item for item in rest if item not in behind]
    return found, rest


def _first(scene: Scene, there: Callable[[int], bool], item: Different) -> list[int]:
    """The steps on the way to an output with which it goes astray: all that they read is there."""
    steps = ((number, scene.step(number).inputs) for number in sorted(_astray(scene, there, item.result.value)))
    return [number for number, inputs in steps if inputs and all(map(there, inputs))]


def _makes_reals(state: State, step: Step) -> bool:
    """Whether a step makes numbers that are no integers and no truth values."""
    made = (arrays for value in step.outputs if value != ABSENT and (arrays := state.arrays(value)) is not None)
    return any(not np.array_equal(array, np.floor(array)) for arrays in made for array in arrays)


def _astray(scene: Scene, there: Callable[[int], bool], value: int) -> set[int]:
    """The steps that make a value, as far back as what they make is nowhere in the single-device plan."""
    stack, found = [value], set[int]()
    while stack:
        made = stack.pop()
        number = scene.maker.get(made)
        if number is not None and number not in found and not there(made):
            found.add(number)
            stack.extend(scene.step(number).inputs)
    return found
