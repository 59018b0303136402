"""Values that are a constant multiple of what they should be."""

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import partial
from itertools import product
from math import prod

import numpy as np

from verdict.graph import Shape
from verdict.ops import Array
from verdict.sweep.compare import partner
from verdict.sweep.elements import Ids
from verdict.sweep.why.edits import multiplied
from verdict.sweep.why.fix import Fix
from verdict.sweep.why.mend import Change, State, rank_of
from verdict.sweep.why.missing import groupings, total, values_of
from verdict.sweep.why.scene import Arrays, Scene, arrays_of
from verdict.sweep.why.siblings import Instance, Siblings
from verdict.sweep.why.words import elements_text, node_text, owners

MOST_BOXES = 20_000
"""Where more boxes of one shape are listed, no further arrays are cut into such; multiples of theirs are not found."""
SAME = 1e-8
"""How near, relative to the greatest element, numbers are to a multiple, and how near to one a factor is none."""


class Scaled:
    """Finds single-device arrays of which an array is a multiple. The boxes of each shape are listed once."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.lists: dict[Shape, tuple[list[Ids], list[Array]]] = {}

    def of(self, arrays: Arrays) -> tuple[float, Ids] | None:
        """A factor other than one, and the elements that are to be multiplied."""
        if not arrays[0].size or not all(np.isfinite(array).all() for array in arrays):
            return None
        ids, stacks = self.boxes(arrays[0].shape)
        flat = [array.ravel() for array in arrays]
        pivot = int(np.argmax(np.abs(flat[0])))
        if not ids or flat[0][pivot] == 0:
            return None
        with np.errstate(all="ignore"):
            factors = [own[pivot] / stack[:, pivot] for own, stack in zip(flat, stacks, strict=True)]
            near = np.isfinite(factors[0]) & (np.abs(factors[0]) > 1e-9)
            for other in factors[1:]:
                near &= np.abs(other - factors[0]) <= SAME * np.abs(factors[0])
        for k in np.flatnonzero(near):
            factor = float(factors[0][k])
            sizes = [SAME * max(float(np.abs(own).max()), 1e-12) for own in flat]
            if all(
                np.abs(own - factor * stack[k]).max() <= size
                for own, stack, size in zip(flat, stacks, sizes, strict=True)
            ):
                return (factor, ids[k]) if abs(factor - 1) > SAME else None
        return None

    def boxes(self, shape: Shape) -> tuple[list[Ids], list[Array]]:
        """All single-device boxes of a shape that lie at multiples of it, arrays of as many elements in another view,
        and their values, one row each.
        """
        if shape not in self.lists:
            ids: list[Ids] = []
            rows: list[list[Array]] = []
            for item in self.scene.catalogue.known:
                if len(ids) > MOST_BOXES:
                    continue
                if item.ids.ndim != len(shape):
                    if item.ids.size == prod(shape):
                        ids.append(item.ids.reshape(shape))
                        rows.append([np.asarray(array, dtype=np.float64).ravel() for array in item.values])
                    continue
                steps = [range(0, n - size + 1, size) for n, size in zip(item.ids.shape, shape, strict=True)]
                for offset in product(*steps):
                    box = tuple(slice(a, a + size) for a, size in zip(offset, shape, strict=True))
                    ids.append(item.ids[box])
                    rows.append([np.asarray(array[box], dtype=np.float64).ravel() for array in item.values])
            self.lists[shape] = (ids, [np.array(seed) for seed in zip(*rows, strict=True)] if rows else [])
        return self.lists[shape]


def factors(scene: Scene, state: State, at: Siblings, scaled: Scaled) -> Iterator[Fix]:
    """The steps without the factor by which they, or the sums of their parts, are off."""
    for position in range(len(scene.step(at.first).outputs)):
        values = values_of(scene, at, position)
        bad = {place: value for place, value in values.items() if state.look(scene, value) is None}
        arrays = {place: own for place, value in bad.items() if (own := state.arrays(value)) is not None}
        if not arrays:
            continue
        found = {place: scaled.of(own) for place, own in arrays.items()}
        hits = {place: hit for place, hit in found.items() if hit is not None}
        if hits:
            yield _told(scene, at, position, {values[p]: (arrays[p], hit) for p, hit in hits.items()}, tuple(hits))
            continue
        if len({own[0].shape for own in arrays.values()}) != 1 or len(arrays) < 2:
            continue
        for groups in groupings(scene, list(arrays)):
            sums = [scaled.of(total([arrays[p] for p in group])) for group in groups]
            if all(hit is not None for hit in sums):
                each = {
                    values[p]: (arrays[p], hit)
                    for group, hit in zip(groups, sums, strict=True)
                    for p in group
                    if hit is not None
                }
                yield _told(scene, at, position, each, tuple(arrays))
                break


def _told(
    scene: Scene, at: Siblings, position: int, each: Mapping[int, tuple[Arrays, tuple[float, Ids]]],
    places: tuple[Instance, ...],
) -> Fix:  # fmt: skip
    change = Change({v: tuple(np.asarray(a / factor) for a in own) for v, (own, (factor, _)) in each.items()})
    texts = dict.fromkeys(factor_text(factor) for _, (factor, _) in each.values())
    text = " or ".join(texts)
    ids = next(iter(each.values()))[1][1]
    title = f"{node_text(scene, scene.step(at.first))} makes {text} times {elements_text(scene, ids)}"
    inverse = " or ".join(dict.fromkeys(factor_text(1 / factor) for _, (factor, _) in each.values()))
    help_text = f"multiply it by {inverse}"
    factor = next(factor for _, (factor, _) in each.values())
    numbers = [at.steps[place] for place in places]
    edits = partial(multiplied, scene, numbers, position, 1 / factor) if len(texts) == 1 else tuple
    return Fix(
        "wrong-scale", title, at, places, change, help=help_text, single=owners(scene, ids), kin=(text,), edits=edits
    )


def solved(scene: Scene, state: State, at: Siblings, tried: Callable[[Change], State | None]) -> Iterator[Fix]:
    """The factor that mends an output which depends on the value in a straight line: found by doubling the value."""
    for position in range(len(scene.step(at.first).outputs)):
        values = values_of(scene, at, position)
        arrays = {value: own for value in values.values() if (own := state.arrays(value)) is not None}
        double = tried(Change({value: tuple(np.asarray(2 * a) for a in own) for value, own in arrays.items()}))
        factor = _solution(scene, state, double) if double is not None else None
        if factor is None:
            continue
        change = Change({value: tuple(np.asarray(factor * a) for a in own) for value, own in arrays.items()})
        title = f"{node_text(scene, scene.step(at.first))} makes {factor_text(1 / factor)} times what is due"
        help_text = f"multiply it by {factor_text(factor)}"
        kin = (factor_text(factor),)
        edits = partial(multiplied, scene, at.steps.values(), position, factor)
        yield Fix("wrong-scale", title, at, tuple(values), change, help=help_text, kin=kin, edits=edits)


def _solution(scene: Scene, state: State, double: State) -> float | None:
    """The factor at which the first output that differs is right, if one factor does it in all elements."""
    for item in state.different:
        other = partner(scene.one, item.result)
        if other is None:
            continue
        rank = rank_of(item.result)
        now, then = state.arrays(item.result.value, rank), double.arrays(item.result.value, rank)
        due = arrays_of(scene.right, other.value)
        if now is None or then is None or due is None:
            continue
        region = item.result.region if due[0].ndim == len(item.result.region) else ()
        with np.errstate(invalid="ignore"):
            slopes = np.concatenate([(b - a).ravel() for a, b in zip(now, then, strict=True)])
            wanted = np.concatenate([(np.asarray(d[region]) - a).ravel() for a, d in zip(now, due, strict=True)])
        if not slopes.size or not (np.isfinite(slopes).all() and np.isfinite(wanted).all()):
            continue
        pivot = int(np.argmax(np.abs(slopes)))
        if abs(slopes[pivot]) <= 1e-12:
            continue
        factor = 1 + float(wanted[pivot] / slopes[pivot])
        if np.abs(wanted - (factor - 1) * slopes).max() <= SAME * max(float(np.abs(wanted).max()), 1e-12):
            return factor if abs(factor) > SAME else None
    return None


def factor_text(factor: float) -> str:
    """A factor as a fraction where it is one of small numbers, or of powers of two."""
    for limit in (64, 4096, 1 << 24):
        near = Fraction(factor).limit_denominator(limit)
        if near and abs(float(near) - factor) <= 1e-9 * abs(factor) and (limit <= 4096 or _power_of_two(near)):
            return str(near)
    return f"{factor:.9g}"


def _power_of_two(number: Fraction) -> bool:
    return number.denominator & (number.denominator - 1) == 0 and abs(number.numerator) < 4096
