"""Which random numbers of the ranks stand for which of the single-device step.

Draws that agree in all of it are one. Else each draw of a rank is taken for a region of a single-device draw of its law
and module: a guess, of which only the conditions count under which both sides' draws have one law (docs/soundness.md,
Random numbers of recorded programs).
"""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from verdict.graph.draws import BERNOULLI, Draw, Use, as_inputs, draws_of, named
from verdict.graph.names import unwrapped
from verdict.graph.plan import INPUT, Plan
from verdict.graph.region import Region, Shape, spelled, whole
from verdict.graph.statements import GIVEN
from verdict.outcome import Assumption, Finding

BY_LAW = Assumption(
    "masks-by-law",
    "random numbers that ranks draw from different states are independent, and stand for those that one device draws",
)
Pair = tuple[Plan, Plan]


class Wrong(NamedTuple):
    """What is wrong with the draws of a plan, and the two of them that tell."""

    finding: Finding
    one: Draw
    other: Draw


class Paired(NamedTuple):
    """A draw of a rank and the single-device draw whose part it may be. piece: its microbatch, of how many."""

    draw: Draw
    partner: Draw
    piece: tuple[int, int]


class Matched(NamedTuple):
    """Both plans with their draws as inputs.

    own: each draw is an input of its own; exact: and each of the ranks' is one of the single-device plan. assigned: the
    ranks' draws are regions of single-device draws; None where no such assignment is known. alone, uses: of that, what
    the draws of both plans are. wrong: why the draws have not the law of the single-device draws; None where they have.
    """

    own: Pair
    exact: bool
    assigned: Pair | None = None
    alone: tuple[tuple[Draw, Use], ...] = ()
    uses: tuple[tuple[Draw, Use], ...] = ()
    wrong: Wrong | None = None

    @property
    def first(self) -> Pair:
        """The plans as they are compared first: assigned where nothing is wrong with that."""
        return self.own if self.assigned is None or self.wrong is not None else self.assigned


def matched(single: Plan, parallel: Plan) -> Matched | None:
    """How the draws of two plans belong together; None where there are none."""
    alone, ranks = draws_of(single), draws_of(parallel)
    if not alone and not ranks:
        return None
    names = named([*alone, *ranks])
    known = {draw.same for draw in alone}
    others = {draw.same: draw for draw in ranks if draw.same not in known}
    first = tuple((draw, names[draw.same]) for draw in alone)
    own = (
        as_inputs(single, first, [(draw, names[draw.same]) for draw in others.values()]),
        as_inputs(parallel, [(draw, names[draw.same]) for draw in ranks]),
    )
    uses = None if not others else _assigned(parallel, alone, ranks, names)
    if uses is None:
        return Matched(own, not others)
    wrong = _wrong(parallel, uses)
    there = as_inputs(parallel, uses)
    if wrong is None:
        there = replace(there, assumptions=(*there.assumptions, BY_LAW))
    return Matched(own, False, (as_inputs(single, first), there), first, tuple(uses), wrong)


def _assigned(
    parallel: Plan, alone: Sequence[Draw], ranks: Sequence[Draw], names: Mapping[Hashable, Use]
) -> list[tuple[Draw, Use]] | None:
    """For each draw of the ranks the region of a single-device draw that it stands for; None where that is not told."""
    first = {draw.same: draw for draw in alone if not draw.attrs["again"]}
    if {draw.same for draw in alone} != set(first) or len({draw.state for draw in first.values()}) != len(first):
        return None
    for by_module in (True, False):
        pairs = _paired(list(first.values()), ranks, by_module)
        if pairs is not None:
            break
    else:
        return None
    cuts = _Cuts(parallel)
    uses = []
    for draw, partner, piece in pairs:
        region = cuts.region(draw, partner.shape, piece)
        if region is None:
            return None
        uses.append((draw, names[partner.same]._replace(region=region)))
    regions: dict[str, set[Region]] = defaultdict(set)
    for _, use in uses:
        regions[use.name].add(use.region)
    apart = (_apart(one, other) for found in regions.values() for one in found for other in found - {one})
    return uses if all(apart) else None


def _apart(one: Region, other: Region) -> bool:
    return any(a[1] <= b[0] or b[1] <= a[0] for a, b in zip(one, other, strict=True))


def _paired(alone: Sequence[Draw], ranks: Sequence[Draw], by_module: bool) -> list[Paired] | None:
    """Each draw of the ranks with the single-device draw of its law and module, in the order of each rank.

    A rank that draws several times as often does so for one microbatch after the other.
    """
    due: dict[Hashable, list[Draw]] = defaultdict(list)
    found: dict[tuple[Hashable, int, Hashable], list[Draw]] = defaultdict(list)
    for draw in alone:
        due[_site(draw, by_module)].append(draw)
    for draw in ranks:
        found[_site(draw, by_module), draw.device, draw.attrs["again"]].append(draw)
    pairs: list[Paired] = []
    for (site, _, _), draws in found.items():
        each = len(due[site])
        if not each or len(draws) % each:
            return None
        count = len(draws) // each
        pairs += [Paired(draw, due[site][at % each], (at // each, count)) for at, draw in enumerate(draws)]
    return pairs


def _site(draw: Draw, by_module: bool) -> Hashable:
    return (draw.law, unwrapped(str(draw.attrs["module"]))) if by_module else draw.law


class _Cuts:
    """How a plan cuts what its ranks are given, as far as it tells which part of a draw a rank may have.

    Along the first dimension that is the part of the inputs, along others the place on a mesh axis that does not divide
    the inputs, or the part of the weights.
    """

    def __init__(self, plan: Plan) -> None:
        self._parts: dict[tuple[int, bool], dict[int, int]] = defaultdict(dict)
        for segment in plan.segments:
            for tensor in sorted({t for node in segment.nodes for t in (*node.inputs, *node.outputs) if t >= 0}):
                if plan.kind(tensor) in GIVEN:
                    is_input = plan.kind(tensor) == INPUT
                    held = plan.tensors[tensor]
                    for count, part in _parts(held.region, plan.logicals[held.logical].shape):
                        self._parts[segment.device, is_input].setdefault(count, part)
        self._axes = []
        stride = plan.ranks
        for _, size in plan.mesh:
            stride //= size
            places = [rank // stride % size for rank in range(plan.devices)]
            if any(self._parts[rank, True].get(size) != place for rank, place in enumerate(places)):
                self._axes.append((size, places))

    def _told(self, device: int, count: int, first: bool) -> Iterator[tuple[Hashable, int | None]]:
        """By what, and which of `count` parts a device has; the likeliest first."""
        inputs, weights = ((is_input, self._parts[device, is_input].get(count)) for is_input in (True, False))
        axes = [(number, places[device]) for number, (size, places) in enumerate(self._axes, 2) if size == count]
        yield from (inputs, *axes, weights) if first else (*axes, weights, inputs)

    def region(self, draw: Draw, shape: Shape, piece: tuple[int, int]) -> Region | None:
        """Which region of a tensor of this shape a draw of a rank stands for; None where nothing says so.

        piece: which microbatch of the rank's rows, of how many.
        """
        if len(shape) != len(draw.shape):
            return None
        used: set[tuple[Hashable, int]] = set()
        region = []
        for dim, (own, size) in enumerate(zip(draw.shape, shape, strict=True)):
            at, pieces = piece if dim == 0 else (0, 1)
            if own * pieces == size:
                region.append((at * own, (at + 1) * own))
                continue
            count = size // (own * pieces) if own and size % (own * pieces) == 0 else 0
            told = self._told(draw.device, count, first=dim == 0)
            known = ((by, part) for by, part in told if part is not None and (by, count) not in used)
            by, part = next(known, (0, None))
            if part is None:
                return None
            used.add((by, count))
            start = (part * pieces + at) * own
            region.append((start, start + own))
        return tuple(region)


def _parts(region: Region, shape: Shape) -> Iterator[tuple[int, int]]:
    """(number of parts, part) of each axis that is cut evenly."""
    for (start, stop), size in zip(region, shape, strict=True):
        length = stop - start
        if 0 < length < size and size % length == 0 and start % length == 0:
            yield size // length, start // length


def _wrong(parallel: Plan, uses: Sequence[tuple[Draw, Use]]) -> Wrong | None:
    """Why draws that stand for these regions have not the law of the regions; None where they have."""
    stood: dict[Hashable, tuple[Draw, Use]] = {}
    drawn: dict[tuple[str, Region], Draw] = {}
    for draw, use in uses:
        other, before = stood.setdefault(draw.state, (draw, use))
        if before != use:
            return Wrong(_same_state(parallel, other, before, draw, use), other, draw)
        first = drawn.setdefault((use.name, use.region), draw)
        if first.same != draw.same:
            return Wrong(_other_state(parallel, first, draw), first, draw)
    return None


def _same_state(plan: Plan, one: Draw, first: Use, other: Draw, second: Use) -> Finding:
    ranks = tuple(sorted({one.device, other.device}))
    who = f"ranks {ranks[0]} and {ranks[1]} draw" if len(ranks) == 2 else f"rank {ranks[0]} draws"
    what = "mask" if one.attrs["kind"] == BERNOULLI else "random numbers"
    return Finding(
        "same-random-state",
        f"{who} the same {what} in {one.module}, where one device draws independent ones",
        _where(plan, other),
        (
            f"rank {one.device} draws {_said(first)} from state {one.state}",
            f"rank {other.device} draws {_said(second)} from the same state",
            "with draws from different states, all results have the law of the single-device results",
        ),
        "draw from a state that depends on which part the rank holds",
        ranks=ranks,
        modules=(one.module,),
    )


def _other_state(plan: Plan, one: Draw, other: Draw) -> Finding:
    ranks = tuple(sorted({one.device, other.device}))
    again = one.device == other.device and other.attrs["again"]
    who = f"ranks {ranks[0]} and {ranks[1]} draw" if len(ranks) == 2 else f"rank {ranks[0]} draws"
    what = "the forward pass and its recomputation use" if again else "they hold copies of"
    help = "restore the generator's state for the recomputation (preserve_rng_state=True)"
    return Finding(
        "random-state-differs",
        f"{who} other random numbers in {one.module} where {what} the same",
        _where(plan, other),
        (
            f"rank {one.device} draws from state {one.state}, rank {other.device} from state {other.state}",
            "with draws from one state, all results are those of the single-device plan",
        ),
        help if again else "seed the generators of ranks that hold copies alike",
        ranks=ranks,
        modules=(one.module,),
    )


def _said(use: Use) -> str:
    return "all of it" if use.region == whole(use.shape) else f"{spelled(use.region)} of it"


def _where(plan: Plan, draw: Draw) -> str:
    return f"{plan.segments[draw.segment].nodes[draw.node].name} on rank {draw.device}"
