"""Both plans run on the same numbers, and what is seen to differ."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import repeat, takewhile
from typing import NamedTuple

import numpy as np

from verdict.comparison import Fault, Faulty
from verdict.graph import Plan
from verdict.inputs import USUAL, Domain, Scale, defined, marks, random_values, thresholds, with_usual_rows
from verdict.ops import Array
from verdict.ops.shaken import MOST_SHAKEN
from verdict.reduction import Reduced
from verdict.semantics import column_axes, itself
from verdict.sweep.apart import apart
from verdict.sweep.compare import Compared, compare, different, due_of
from verdict.sweep.flow import CANNOT, Flow
from verdict.sweep.unroll import unroll
from verdict.sweep.values import Values, nearest_to_no_numbers, positive, positive_buffers, run

Kept = tuple[frozenset[int], frozenset[int]]


Turn = tuple[Mapping[int, Array], list[Array | None], list[Array | None]]
"""Of one seed: what is given, what the single flow makes of it, and what the parallel one does."""

USUAL_SEEDS = slice(0, None, 2)
"""The seeds on which nothing that is given is a number that the plans name: every other one, from the first on."""
MOST_TURNS = 5
"""So often as many seeds again are tried for such as tell two plans apart: what shows beyond a bound shows seldom."""


class Seen(NamedTuple):
    """given: what both plans are given on each seed. values: what the single and the parallel flow make of it.
    compared: their declared outputs; those that differ do so with usual integers (`Domain.usual`). unusual: whether
    some differ, or are not made, but with unusual ones only.
    """

    given: tuple[Mapping[int, Array], ...]
    values: tuple[Values, Values]
    compared: Compared
    unusual: bool


def seen(
    flows: tuple[Flow, Flow], reduced: Reduced, seeds: Sequence[int], integers: Mapping[int, Domain],
    kept: Kept | None = None, scale: Scale = USUAL,
) -> Seen:  # fmt: skip
    """Both flows on numbers; where they differ or one cannot be run, with usual integers in the place of the others.

    integers: the `domains` of the single-device plan. kept: see `run`. scale: of the numbers.
    Raises Faulty where a plan cannot be run.
    """
    given, right = _drawn(flows[0], reduced, seeds, integers, kept and kept[0], scale)
    alike = all(domain.is_usual for domain in integers.values())
    try:
        found = _made(flows[1], reduced.parallel, given, kept and kept[1])
        compared = compare(*flows, right, found)
    except Faulty:
        if alike:
            raise
    else:
        if alike or not compared.different:
            return Seen(tuple(given), (right, found), compared, False)
    given = [with_usual_rows(values, integers) for values in given]
    right = _made(flows[0], reduced.single, given, kept and kept[0])
    found = _made(flows[1], reduced.parallel, given, kept and kept[1])
    compared = compare(*flows, right, found)
    return Seen(tuple(given), (right, found), compared, not compared.different)


def certain(flows: tuple[Flow, Flow], found: Seen, plans: tuple[Plan, Plan], kept: Kept | None = None) -> Seen:
    """What was seen, of which no output differs by what is a property of floats (verdict/ops/shaken.py)."""
    if not found.compared.different or sum(flow.elements for flow in flows) > MOST_SHAKEN:
        return found
    ends = kept or (frozenset(r.value for r in flows[0].results), frozenset(r.value for r in flows[1].results))

    @cache
    def shaken(number: int) -> tuple[list[Array | None], list[Array | None]]:
        given = found.given[number : number + 1]
        one, other = (_made(*each, True)[0] for each in zip(flows, plans, repeat(given), ends, strict=False))
        return one, other

    return found._replace(compared=compare(*flows, *found.values, shaken))


def telling(
    flows: tuple[Flow, Flow], reduced: Reduced, found: Seen, seeds: range, integers: Mapping[int, Domain],
    scale: Scale = USUAL,
) -> Seen:  # fmt: skip
    """The same on as many seeds, of which as many as can be had tell the plans apart: a correction that mends what one
    seed shows may do so by chance. seeds, integers, scale: of `found`.
    """
    apart, alike = _sorted(flows, found)
    for _ in range(MOST_TURNS):
        if len(apart) >= len(seeds):
            break
        seeds = range(seeds.stop, seeds.stop + len(seeds))
        apart += _sorted(flows, seen(flows, reduced, seeds, integers, scale=scale))[0]
    given, right, other = zip(*[*apart, *alike][: len(seeds)], strict=True)
    return found._replace(given=given, values=(list(right), list(other)))


def _sorted(flows: tuple[Flow, Flow], found: Seen) -> tuple[list[Turn], list[Turn]]:
    """What is given and made on the seeds on which outputs differ, and on the others."""
    apart: list[Turn] = []
    alike: list[Turn] = []
    for turn in zip(found.given, *found.values, strict=True):
        found_apart = different(flows[1].results, due_of(*flows, [turn[1]]), [turn[2]], multiples=False)
        (alike if next(found_apart, None) is None else apart).append(turn)
    return apart, alike


def _made(
    flow: Flow, plan: Plan, given: Sequence[Mapping[int, Array]], kept: frozenset[int] | None, shakes: bool = False
) -> Values:
    with _running(plan):
        return [run(flow, values, kept, shakes) for values in given]


def _drawn(
    flow: Flow, reduced: Reduced, seeds: Sequence[int], integers: Mapping[int, Domain], kept: frozenset[int] | None,
    scale: Scale,
) -> tuple[list[dict[int, Array]], list[list[Array | None]]]:  # fmt: skip
    """What both plans are given on each seed, and what the single-device `flow` makes of it: large integers too on the
    first seed, and numbers that the plans name, if all that the flow declares is then a number; where it is none even
    without these, some of the given numbers lose their signs, else integers of one tensor are made alike (`defined`),
    else all lose their signs. integers, kept, scale: see `seen`.
    """
    single, near = reduced.single, marks(*reduced.small)
    near_bounds, usual = thresholds(*reduced.small), range(len(seeds))[USUAL_SEEDS]
    for wild, named in ((True, near_bounds), (False, near_bounds), (False, ())):
        drawn = [
            random_values(
                single,
                reduced.small[0],
                seed,
                False,
                near,
                wild and seed == seeds[0],
                integers,
                () if number in usual else named,
                scale,
            )
            for number, seed in enumerate(seeds)
        ]
        given = [positive_buffers(single, values) for values in drawn]
        made = _numbers(flow, single, given, kept)
        if made is not None:
            return given, made
    signless = _positive(given, nearest_to_no_numbers(flow, given[0]))
    made = _numbers(flow, single, signless, kept)
    if made is not None:
        return signless, made
    numbered = list(takewhile(bool, (_numbered(flow, each, integers, single) for each in given)))
    given = numbered if len(numbered) == len(given) else _positive(given, frozenset(given[0]))
    return given, _made(flow, single, given, kept)


def _positive(given: Sequence[Mapping[int, Array]], logicals: frozenset[int]) -> list[dict[int, Array]]:
    """What is given on each seed, without the signs of some."""
    return [{k: positive(array) if k in logicals else array for k, array in values.items()} for values in given]


def _numbers(
    flow: Flow, plan: Plan, given: Sequence[Mapping[int, Array]], kept: frozenset[int] | None
) -> Values | None:
    """What a flow makes on each seed; None where something that it declares is no number."""
    made: Values = []
    for values in given:
        made += _made(flow, plan, [values], kept)
        if not _finite(flow, made[-1:]):
            return None
    return made


def _numbered(
    flow: Flow, given: Mapping[int, Array], integers: Mapping[int, Domain], single: Plan
) -> dict[int, Array]:
    """What is given on one seed, where need be with fewer different integers, so that all that is declared is a number;
    nothing where that does not help.
    """
    ends = frozenset(result.value for result in flow.results)

    def makes_numbers(values: Mapping[int, Array]) -> bool:
        return _finite(flow, _made(flow, single, [values], ends))

    return dict(given if makes_numbers(given) else defined(given, integers, makes_numbers) or {})


def _finite(flow: Flow, made: Values) -> bool:
    """Whether all that the flow declares is a number, on each seed."""
    ends = (values[result.value] for values in made for result in flow.results)
    return all(bool(np.isfinite(array).all()) for array in ends if array is not None)


def flows_of(reduced: Reduced) -> tuple[Flow, Flow]:
    """Both plans unrolled at their shapes. Raises Faulty where one cannot be run."""
    single, parallel, binding, small, _ = reduced
    given = small[0].logicals
    axes = column_axes(single, parallel)
    return unroll(single, small[0], itself(single), given), unroll(parallel, small[1], binding, given, axes)


def in_pieces(flows: tuple[Flow, Flow], found: Seen) -> tuple[tuple[Flow, Flow], tuple[Values, Values]]:
    """The flows with what is computed of flat buffers piece by piece, and the values of both on each seed."""
    single, parallel = (_in_pieces(flow, values, found.given) for flow, values in zip(flows, found.values, strict=True))
    return (single[0], parallel[0]), (single[1], parallel[1])


def _in_pieces(flow: Flow, values: Values, given: Sequence[Mapping[int, Array]]) -> tuple[Flow, Values]:
    pieces = apart(flow, [() if array is None else array.shape for array in values[0]])
    return pieces, values if pieces.values == flow.values else [run(pieces, each) for each in given]


@contextmanager
def _running(plan: Plan) -> Iterator[None]:
    try:
        yield
    except CANNOT as error:
        raise Faulty(Fault(f"it cannot be run on numbers: {error}", plan.source, ours=True)) from error
