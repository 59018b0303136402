"""What elements of loops hold in some of their turns, on numbers: guesses of which element of a loop in one program is
which one in the other, and of which part of it a device holds.

A guess is a claim of an induction, whatever it was made from: a wrong one is not proved.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np

from verdict.backends.hlo.folds import Evaluate
from verdict.backends.hlo.loops import loop_of, turns_of
from verdict.backends.hlo.rows import Share, Shares
from verdict.backends.hlo.text import Computation
from verdict.backends.hlo.values import Found, Known, Made, Recording, Refused
from verdict.backends.torch.trace import Bound
from verdict.graph import Region, whole
from verdict.ops import Array

TURNS = 2
"""So many turns of a loop are looked at, at its begin and at its end: what comes behind it reads what these make."""
MOST_PLACES = 64
"""The most places that a part of an element may have in it."""
CLOSE = 1e-6
"""By so much of the greatest number of an element may numbers differ that are taken for one."""
Outputs = Mapping[str, Array]
"""Arrays by the names of outputs."""


class Probe:
    """The loops of one device, of whose turns the first and the last come: what changes in their states are outputs."""

    def __init__(self, recording: Recording, rank: int) -> None:
        self.bound: list[Bound] = []
        self.inside = False
        self._recording = recording
        self._rank = rank
        self._met = 0

    def cut(self, condition: Computation, body: Computation, state: Found, evaluate: Evaluate) -> Found:
        """What a loop leaves after these turns. Raises Refused."""
        number, self._met = self._met, self._met + 1
        loop = loop_of(condition, body, state)
        changing = [k for k in range(len(loop.state)) if k not in loop.kept and k not in loop.counters]
        self.inside = True
        try:
            turns = turns_of(loop, evaluate)
            last = range(len(turns) - 1)
            self._note(number, 0, changing, state)
            for turn, at in enumerate(sorted({*last[:TURNS], *last[-TURNS:]})):
                state = evaluate(body, (_counted(state, turns[at]),))
                self._note(number, turn + 1, changing, state)
            return _counted(state, turns[-1])
        finally:
            self.inside = False

    def _note(self, number: int, turn: int, changing: Sequence[int], state: Found) -> None:
        several = state if isinstance(state, tuple) and not isinstance(state, Known | Made) else ()
        for k, each in enumerate(several):
            if k in changing and isinstance(each, Known | Made):
                name = f"{self._rank} {number} {k} {turn}"
                at = self._recording.number(each)
                self.bound.append(Bound("output", name, at, each.shape, whole(each.shape)))


def _counted(state: Found, counters: Mapping[int, Known]) -> Found:
    """A state as if its loop had turned so often. Raises Refused."""
    if not isinstance(state, tuple) or isinstance(state, Known | Made):
        raise Refused("its state is no tuple")
    return tuple(counters.get(k, each) for k, each in enumerate(state))


class Element(NamedTuple):
    """An element of a loop's state: what a device holds of it before the first turn, and behind those that come."""

    place: int
    turns: tuple[Array, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.turns[0].shape)


def paired(single: Outputs, parallel: Outputs, devices: int) -> tuple[Shares, Shares]:
    """What elements are called and how they are held, in both programs. single, parallel: what their plans, with these
    turns as outputs, make of the same numbers, by name.
    """
    one, other = _elements(single), _elements(parallel)
    loops = range(min(_count(one), _count(other)))
    found = [_of_loop(one[0, loop], [other[rank, loop] for rank in range(devices)]) for loop in loops]
    return [mine for mine, _ in found], [its for _, its in found]


def _count(elements: Mapping[tuple[int, int], object]) -> int:
    return 1 + max((loop for _, loop in elements), default=-1)


def _elements(made: Outputs) -> Mapping[tuple[int, int], list[Element]]:
    """The elements of states, by device and loop."""
    turns: dict[tuple[int, int, int], dict[int, Array]] = defaultdict(dict)
    for name, array in made.items():
        rank, loop, place, turn = map(int, name.split())
        turns[rank, loop, place][turn] = np.asarray(array, dtype=np.float64)
    found: dict[tuple[int, int], list[Element]] = defaultdict(list)
    for (rank, loop, place), each in sorted(turns.items()):
        found[rank, loop].append(Element(place, tuple(each[turn] for turn in sorted(each))))
    return found


def _of_loop(single: Sequence[Element], devices: Sequence[Sequence[Element]]) -> tuple[list[Share | None], ...]:
    """The elements of one loop that have counterparts, in the program for one device and in that of each device."""
    mine: dict[int, Share] = {}
    its: dict[int, Share] = {}
    for position, first in enumerate(devices[0]):
        same = [each[position] for each in devices if position < len(each) and each[position].place == first.place]
        for one in single:
            regions = None if one.place in mine or len(same) < len(devices) else _regions(one, same)
            if regions is not None:
                mine[one.place] = Share(str(one.place), one.shape, (whole(one.shape),))
                its[first.place] = Share(str(one.place), one.shape, regions)
                break
    return tuple([found.get(k) for k in range(1 + max(found, default=-1))] for found in (mine, its))


def _regions(one: Element, same: Sequence[Element]) -> tuple[Region, ...] | None:
    """Which part of an element each device holds; None where one holds none."""
    found = []
    for each in same:
        fits = (region for region in _places(one.shape, each.shape) if _is_part(one, each, region))
        region = next(fits, None)
        if region is None:
            return None
        found.append(region)
    return tuple(found)


def _places(shape: tuple[int, ...], size: tuple[int, ...]) -> Iterator[Region]:
    """Where a part of such a size may lie: multiples of it along each dimension."""
    if len(shape) != len(size) or any(own == 0 or length % own for own, length in zip(size, shape, strict=True)):
        return
    counts = [length // own for own, length in zip(size, shape, strict=True)]
    for place in product(*map(range, counts)) if prod(counts) <= MOST_PLACES else ():
        yield tuple((own * k, own * (k + 1)) for own, k in zip(size, place, strict=True))


def _is_part(one: Element, each: Element, region: Region) -> bool:
    cut = tuple(slice(*part) for part in region)
    return len(one.turns) == len(each.turns) and all(
        _alike(whole_of[cut], part) for whole_of, part in zip(one.turns, each.turns, strict=True)
    )


def _alike(one: Array, other: Array) -> bool:
    scale = float(np.abs(one)[np.isfinite(one)].max(initial=0.0))
    return bool(np.allclose(one, other, rtol=CLOSE, atol=CLOSE * scale, equal_nan=True))
