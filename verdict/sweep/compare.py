"""The declared outputs of two flows on numbers: which differ, which nobody holds."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from verdict.comparison import Fault, Faulty
from verdict.graph import Shape
from verdict.ops import Array
from verdict.ops.shaken import is_steady, moved
from verdict.sweep.flow import Flow, Result
from verdict.sweep.results import LOSS, Missing
from verdict.sweep.values import Values

DIFFERENT = 1e-6
"""The least difference, relative to the greatest element, that is more than rounding."""
MOST_TIMES = 64
"""The greatest denominator of a multiple that is looked for: gradients that are averaged over more ranks are rare."""
NOTHING = 1e-11
"""A single-device output below this, relative to the greatest output on the same numbers, is zero but for rounding."""
ROUNDING = 1e-13
"""Where all outputs are below this they are zero but for rounding: what both plans are given is about one."""


Shaken = Callable[[int], tuple[list[Array | None], list[Array | None]]]
"""The values of both flows on one of the seeds, by its number."""


@dataclass(frozen=True, slots=True)
class Different:
    """A declared output whose values differ: the greatest difference and the greatest element; infinite for shapes.

    times: the number times which it is what it must be, on all seeds, if it is one times one.
    """

    result: Result
    error: float
    size: float
    times: Fraction | None = None


class Compared(NamedTuple):
    """The declared outputs of two flows, held against each other.

    different: those that differ on some seed. missing: outputs of the single-device plan of which the parallel plan
    lacks elements. alone: outputs of the parallel plan that the single-device plan does not declare. total: how many
    were compared.
    """

    different: tuple[Different, ...]
    missing: tuple[Missing, ...]
    alone: tuple[Result, ...]
    total: int


class Due(NamedTuple):
    """What the outputs of a parallel flow are held against. partners: the single-device output that is due of each, by
    its key; None where none is. right: the values of the single-device flow. greatest: of each seed, the greatest
    element that it declares.
    """

    partners: Mapping[tuple[Hashable, ...], Result | None]
    right: Values
    greatest: tuple[float, ...]


def partner(flow: Flow, result: Result) -> Result | None:
    """The single-device output that a parallel one is held against; the only loss there is, whatever it is called."""
    if result.key[0] != LOSS:
        return next((other for other in flow.results if other.key == result.key), None)
    losses = [other for other in flow.results if other.key[0] == LOSS]
    _, name, origin = result.key
    of_origin = (other for other in losses if origin is not None and other.key[2] == origin)
    of_name = (other for other in losses if other.key[1] == name)
    return next(chain(of_origin, of_name, losses if len(losses) == 1 else ()), None)


def compare(
    single: Flow, parallel: Flow, right: Values, found: Values, shaken: Shaken | None = None
) -> Compared:
    """Compare all that is declared on numbers. Raises Faulty where single-device values are no numbers.

    shaken: the same values where operators are off by far more than rounding: what that changes by a tenth of a
    difference shows none. It is asked of seeds on which outputs differ alone.
    """
    covered: dict[tuple[Hashable, ...], Any] = {
        result.key: np.zeros(_shape(right[0][result.value]), dtype=bool) for result in single.results
    }
    due = due_of(single, parallel, right)
    alone = []
    for result in parallel.results:
        other = due.partners[result.key]
        if other is None:
            alone.append(result)
        elif len(result.region) <= covered[other.key].ndim:
            covered[other.key][result.region] = True
    missing = (Missing(str(r.key[0]), r.what) for r in single.results if not covered[r.key].all())
    differ = tuple(different(parallel.results, due, found, shaken))
    return Compared(differ, tuple(dict.fromkeys(missing)), tuple(alone), len(parallel.results) - len(alone))


def due_of(single: Flow, parallel: Flow, right: Values) -> Due:
    """What is due of the outputs of the parallel flow. Raises Faulty where single-device values are no numbers."""
    sizes = [[_greatest(seed[r.value]) for r in single.results] for seed in right]
    if not np.isfinite(sizes).all():
        raise Faulty(Fault("single-device values overflow or are undefined", "the declared outputs", ours=True))
    partners = {result.key: partner(single, result) for result in parallel.results}
    return Due(partners, right, tuple(max(each, default=0.0) for each in sizes))


def different(
    results: Iterable[Result], due: Due, found: Values, shaken: Shaken | None = None, multiples: bool = True
) -> Iterator[Different]:
    """Those of some outputs of the parallel flow that differ on one of the first seeds, as many as are `found`.

    shaken: see `compare`. multiples: whether it is told what they are times what they must be.
    """
    for result in results:
        other = due.partners[result.key]
        worst = _worst(result, other, due, found, shaken) if other is not None else None
        if worst is not None and other is not None and multiples and worst.error != float("inf"):
            worst = replace(worst, times=_multiple(result, other, due.right[: len(found)], found))
        if worst is not None:
            yield worst


def _worst(
    result: Result, other: Result, all_due: Due, found: Values, shaken: Shaken | None
) -> Different | None:
    """The first difference that is more than rounding."""
    for number, most in enumerate(all_due.greatest[: len(found)]):
        due, here = _pair(result, other, all_due.right[number], found[number])
        if due.shape != here.shape:
            return Different(result, float("inf"), _greatest(due))
        with np.errstate(invalid="ignore"):
            error, size = _greatest(np.asarray(here - due)), _greatest(due)
        if error <= DIFFERENT * size + max(NOTHING * most, ROUNDING):
            continue
        noise = 0.0
        if shaken is not None:
            others = _pair(result, other, *shaken(number))
            noise = sum(_greatest(moved(*each)) for each in zip((due, here), others, strict=True))
        if is_steady(error, noise):
            return Different(result, error, size)
    return None


def _pair(
    result: Result, other: Result, theirs: Sequence[Array | None], mine: Sequence[Array | None]
) -> tuple[Array, Array]:
    """What is due of an output on one seed, and what is there."""
    here, there = mine[result.value], theirs[other.value]
    if here is None or there is None:
        raise Faulty(Fault("nothing is made where an output is declared", result.what))
    return there[result.region] if there.ndim == len(result.region) else there, here


def _multiple(result: Result, other: Result, right: Values, found: Values) -> Fraction | None:
    """The simple number times which an output is what it must be on all seeds; None where there is none."""
    pairs = (_pair(result, other, theirs, mine) for theirs, mine in zip(right, found, strict=True))
    return simple_multiple(pairs)


def simple_multiple(pairs: Iterable[tuple[Array, Array]]) -> Fraction | None:
    """The simple number times which what is due is what is there, of all pairs of both; None where there is none."""
    times: Fraction | None = None
    for due, here in pairs:
        if due.shape != here.shape or not _greatest(due) or not np.isfinite(here).all():
            return None
        if times is None:
            greatest = np.unravel_index(int(np.argmax(np.abs(due))), due.shape)
            with np.errstate(over="ignore"):
                ratio = float(here[greatest] / due[greatest])
            if not np.isfinite(ratio):
                return None
            times = Fraction(ratio).limit_denominator(MOST_TIMES)
        if not _greatest(np.asarray(here - float(times) * due)) <= DIFFERENT * _greatest(due):
            return None
    return times


def _shape(array: Array | None) -> Shape:
    return array.shape if array is not None else ()


def _greatest(array: Array | None) -> float:
    return float(np.max(np.abs(array), initial=0.0)) if array is not None else 0.0
