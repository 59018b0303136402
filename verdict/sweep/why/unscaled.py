"""Summands that are taken as they are, where those of other sums beside them are multiplied by something: of what is
rescaled together, as the sums of an online softmax are when its maximum rises, one is forgotten.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from verdict.graph import ABSENT
from verdict.ops import FACTS
from verdict.sweep.flow import Step
from verdict.sweep.why.fix import Fix
from verdict.sweep.why.mend import Change, State
from verdict.sweep.why.missing import total
from verdict.sweep.why.scene import Arrays, Scene, broadcasts
from verdict.sweep.why.siblings import Instance, Siblings
from verdict.sweep.why.summands import adds
from verdict.sweep.why.words import maker_text, node_text, places_text

MOST_BESIDE = 4
"""How many factors are tried, and on each side of a sum how many others are looked at: what is rescaled together stands
together.
"""


def unscaled(scene: Scene, state: State, at: Siblings) -> Iterator[Fix]:
    """With a summand times what a summand of another sum is multiplied by."""
    numbers = tuple(sorted(at.steps.values()))
    if any(len(scene.step(number).inputs) != 2 or not adds(scene, scene.step(number)) for number in numbers):
        return
    beside = [list(islice(_factors(scene, state, number), MOST_BESIDE)) for number in numbers]
    for factors in zip(*beside, strict=False):
        for k in range(2):
            values = _with(scene, state, numbers, k, factors)
            if values is None:
                continue
            first, factor = scene.step(at.first), factors[numbers.index(at.first)]
            summand, by = maker_text(scene, first.inputs[k]), maker_text(scene, factor)
            node, where = node_text(scene, first), places_text(scene, tuple(at.steps))
            title = f"{node} on {where} adds {summand} as it is, where what is added beside it is times {by}"
            yield Fix("wrong-input", title, at, tuple(at.steps), Change(values), help=f"multiply it by {by}, too")


def _factors(scene: Scene, state: State, number: int) -> Iterator[int]:
    """Values from before a sum by which summands of other sums of its rank are multiplied, the nearest first."""
    found = set[int]()
    for other in _nearest(_sums(scene, state)[_where(scene.step(number))], number):
        for maker in (scene.maker.get(value) for value in scene.step(other).inputs):
            product = scene.step(maker) if maker is not None else None
            if product is None or not FACTS.is_product(product.op, len(product.inputs), product.attrs):
                continue
            for value in product.inputs:
                if value not in found and scene.maker.get(value, ABSENT) < number:
                    found.add(value)
                    yield value


def _nearest(steps: Sequence[int], number: int) -> Iterator[int]:
    """The steps that stand next to one of them in a flow, whether before or behind it."""
    at = steps.index(number)
    near = steps[max(0, at - MOST_BESIDE) : at + MOST_BESIDE + 1]
    return (other for other in sorted(near, key=lambda other: abs(other - number)) if other != number)


def _sums(scene: Scene, state: State) -> Mapping[Instance, Sequence[int]]:
    """The steps that add two values or more, by rank and microbatch."""
    if _sums not in state.asked:
        found = defaultdict[Instance, list[int]](list)
        for number, step in enumerate(scene.other.steps):
            if adds(scene, step):
                found[_where(step)].append(number)
        state.asked[_sums] = found
    sums: Mapping[Instance, Sequence[int]] = state.asked[_sums]
    return sums


def _where(step: Step) -> Instance:
    return step.place.rank, step.place.microbatch


def _with(
    scene: Scene, state: State, numbers: tuple[int, ...], k: int, factors: tuple[int, ...]
) -> dict[int, Arrays] | None:
    """What sums, the earliest first, make with a summand times these factors; None where shapes do not fit."""
    values: dict[int, Arrays] = {}
    for number, factor in zip(numbers, factors, strict=True):
        step = scene.step(number)
        read = [values.get(value) or state.arrays(value, step.place.rank) for value in step.inputs]
        by = state.arrays(factor, step.place.rank)
        known = [arrays for arrays in read if arrays is not None]
        if len(known) < 2 or by is None or known[0][0].shape != known[1][0].shape or not broadcasts(by, known[k]):
            return None
        known[k] = tuple(one * other for one, other in zip(known[k], by, strict=True))
        values[step.outputs[0]] = total(known)
    return values
