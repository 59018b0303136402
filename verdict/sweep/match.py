"""Which single-device elements could be those of a parallel array: equal values on all seeds. Guesses, to be proved."""

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from verdict.graph import Shape
from verdict.ops import Array
from verdict.sweep.elements import Ids
from verdict.sweep.flow import Flow
from verdict.sweep.near import CLOSE, Floats, are_equal, equal, near, tolerance_of

MOST_BOXES = 4
"""How many places of one array are tried."""
TOGETHER = 4096
"""At how many places an array is looked for at once."""
PROBES = 16
"""How many elements are looked at before all of them are, where there are several places."""
MOST_PLACES = 4_000_000
"""At how many places, of all its elements together, the partners of one array are looked for."""


class Known(NamedTuple):
    """An array of the single-device flow. values: one array for each seed."""

    ids: Ids
    values: tuple[Floats, ...]


class Catalogue:
    """All single-device arrays, sorted for search by value."""

    def __init__(self, known: Sequence[Known]) -> None:
        self.known = [item for item in known if item.ids.size]
        sizes = [item.ids.size for item in self.known]
        self.starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.owners = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
        self._holding: dict[Shape, npt.NDArray[np.bool_]] = {}
        self._sizes: dict[int, tuple[Ids, Ids]] = {}
        self._by_id: Ids | None = None
        seeds = len(self.known[0].values) if self.known else 0
        self.values = [np.concatenate([item.values[k].ravel() for item in self.known]) for k in range(seeds)]
        self.ids = np.concatenate([item.ids.ravel() for item in self.known]) if self.known else np.zeros(0, np.int64)
        self.order = np.argsort(self.values[0], kind="stable") if self.known else np.zeros(0, np.int64)
        self.sorted = self.values[0][self.order] if self.known else np.zeros(0)

    def on(self, seeds: slice) -> "Catalogue":
        """The same, of some of the seeds."""
        return Catalogue([Known(item.ids, item.values[seeds]) for item in self.known])

    def positive(self) -> Ids:
        """The elements that are greater than zero on all seeds."""
        above = [values > 0 for values in self.values]
        return self.ids[np.logical_and.reduce(above)] if above else self.ids

    def of(self, ids: Ids) -> list[Floats] | None:
        """The values of single-device elements, of each seed; None where one is not known."""
        if self._by_id is None:
            self._by_id = np.argsort(self.ids, kind="stable")
        at = np.searchsorted(self.ids, ids.ravel(), sorter=self._by_id)
        places = self._by_id[np.minimum(at, self.ids.size - 1)] if self.ids.size else at
        if not self.ids.size or not np.array_equal(self.ids[places], ids.ravel()):
            return None
        return [values[places] for values in self.values]

    def alone(self, values: Sequence[Floats]) -> Iterator[Ids]:
        """Single-device arrays of one element that equal one on all seeds."""
        for item in self.known:
            if item.ids.size == 1 and all(a.flat[0] == b.flat[0] for a, b in zip(item.values, values, strict=True)):
                yield item.ids.ravel()

    def boxes(self, values: Sequence[Floats]) -> Iterator[Ids]:
        """Regions of single-device arrays that equal the whole of an array, the likeliest first."""
        first = values[0]
        if not first.size:
            return
        pivot = greatest(first)
        near = self._near([float(array.flat[pivot]) for array in values])
        near = near[self._can_hold(first.shape)[self.owners[near]]]
        if not near.size:
            return
        tolerances = [tolerance_of(array) for array in values]
        found = 0
        for begin in range(0, near.size, TOGETHER):
            owners, offsets = self._placed(near[begin : begin + TOGETHER], pivot, values, tolerances)
            for number, offset in zip(owners.tolist(), offsets.tolist(), strict=True):
                item = self.known[number]
                box = tuple(slice(start, start + length) for start, length in zip(offset, first.shape, strict=True))
                if all(equal(item.values[k][box], values[k], tolerances[k]) for k in range(len(values))):
                    yield item.ids[box]
                    found += 1
                    if found == MOST_BOXES:
                        return

    def _placed(
        self, near: Ids, pivot: int, values: Sequence[Floats], tolerances: Sequence[Floats]
    ) -> tuple[Ids, Ids]:
        """Where an array may lie of which one element lies at one of the places `near`: single-device arrays, and where
        it begins in them. Some elements are looked at, all at once.
        """
        shape = values[0].shape
        sizes, steps = self._extents(len(shape))
        owners = self.owners[near].astype(np.int64)
        there = (near - self.starts[owners])[:, None] // steps[owners] % sizes[owners]
        offsets = there - np.asarray(np.unravel_index(pivot, shape), dtype=np.int64)
        fits = ((offsets >= 0) & (offsets + np.asarray(shape, dtype=np.int64) <= sizes[owners])).all(axis=1)
        owners, offsets = owners[fits], offsets[fits]
        for probe in np.linspace(0, values[0].size - 1, min(values[0].size, PROBES)).astype(np.int64).tolist():
            if owners.size <= 1:
                break
            index = np.asarray(np.unravel_index(probe, shape), dtype=np.int64)
            at = self.starts[owners] + ((offsets + index) * steps[owners]).sum(axis=1)
            agreed = np.logical_and.reduce(
                [
                    are_equal(own[at], array.flat[probe], tolerance.flat[probe])
                    for own, array, tolerance in zip(self.values, values, tolerances, strict=True)
                ]
            )
            owners, offsets = owners[agreed], offsets[agreed]
        return owners, offsets

    def _extents(self, dims: int) -> tuple[Ids, Ids]:
        """The sizes of all arrays of so many dimensions, by number, and how far apart their elements are along each."""
        if dims not in self._sizes:
            sizes = np.ones((len(self.known), dims), dtype=np.int64)
            for number, item in enumerate(self.known):
                sizes[number] = item.ids.shape if item.ids.ndim == dims else 1
            steps = np.ones_like(sizes)
            for axis in range(dims - 2, -1, -1):
                steps[:, axis] = steps[:, axis + 1] * sizes[:, axis + 1]
            self._sizes[dims] = sizes, steps
        return self._sizes[dims]

    def _can_hold(self, shape: Shape) -> npt.NDArray[np.bool_]:
        """Which single-device arrays are as large as `shape` along every axis."""
        if shape not in self._holding:
            found = [
                item.ids.ndim == len(shape) and all(n <= m for n, m in zip(shape, item.ids.shape, strict=True))
                for item in self.known
            ]
            self._holding[shape] = np.asarray(found, dtype=bool)
        return self._holding[shape]

    def _near(self, wanted: Sequence[float]) -> npt.NDArray[np.int64]:
        """The places of elements with these values, one for each seed."""
        tolerance = CLOSE * abs(wanted[0]) + 1e-15 if np.isfinite(wanted[0]) else 1e-15
        low = int(np.searchsorted(self.sorted, wanted[0] - tolerance, side="left"))
        high = int(np.searchsorted(self.sorted, wanted[0] + tolerance, side="right"))
        places = self.order[low:high]
        for k in range(1, len(wanted)):
            if not places.size:
                break
            places = places[near(np.asarray(wanted[k]), self.values[k][places])]
        return np.sort(places)

    def each(self, values: Sequence[Floats]) -> tuple[Ids, npt.NDArray[np.bool_]]:
        """For each element by itself one that equals it, where there is one. The second array says where.

        Of several it is one of the array in which most others have a partner; among those, the one where it would
        stand if all stood in even steps along each axis, as those do that have but one partner; else the one that
        stands as the nearest of these does.
        """
        shape = values[0].shape
        flat = [array.ravel() for array in values]
        _, first, group = np.unique(np.stack(flat, axis=1), axis=0, return_index=True, return_inverse=True)
        group = group.ravel()
        near = self._partners(flat, first)
        owners = {k: self.owners[places] for k, places in near.items()}
        weight = np.zeros(len(self.known), dtype=np.int64)
        for k, size in enumerate(np.bincount(group).tolist()):
            if k in owners:
                weight[np.unique(owners[k])] += size
        among = {k: np.sort(places[owners[k] == owners[k][np.argmax(weight[owners[k]])]]) for k, places in near.items()}
        ids, met = np.zeros(len(group), dtype=np.int64), np.isin(group, list(among))
        single = np.isin(group, [k for k, places in among.items() if places.size == 1])
        sure = {int(k): int(among[int(group[k])][0]) for k in np.flatnonzero(single)}
        order, evenly = np.flatnonzero(single), _evenly(sure, shape)
        for k in np.flatnonzero(met).tolist():
            places = among[int(group[k])]
            place = evenly[k] if evenly[k] in places else _aligned(k, places, order, sure, shape)
            ids[k] = self.ids[place]
        return ids.reshape(shape), met.reshape(shape)

    def scattered(self, values: Sequence[Floats]) -> Ids | None:
        """Elements that equal those of an array, each by itself; None where one has no partner."""
        ids, met = self.each(values)
        return ids if met.all() else None

    def holds(self, wanted: Sequence[float]) -> bool:
        """Whether an element has these values, one for each seed."""
        return bool(self._near(wanted).size)

    def _partners(self, flat: Sequence[Floats], first: npt.NDArray[np.int64]) -> dict[int, npt.NDArray[np.int64]]:
        """For each of the elements `first`, by its number there, the places of what equals it; of those left out that
        nothing equals, or so much that all together would be too many places to look at.
        """
        wanted, tolerances = flat[0][first], tolerance_of(flat[0])[first]
        low = np.searchsorted(self.sorted, wanted - tolerances, side="left")
        high = np.searchsorted(self.sorted, wanted + tolerances, side="right")
        rarest = np.argsort(high - low, kind="stable")
        looked = rarest[np.cumsum((high - low)[rarest]) <= MOST_PLACES]
        counts = (high - low)[looked]
        who = np.repeat(looked, counts)
        begins = np.repeat(low[looked] - (np.cumsum(counts) - counts), counts)
        places = self.order[begins + np.arange(who.size)]
        for own, theirs in zip(flat[1:], self.values[1:], strict=True):
            kept = near(own[first[who]], theirs[places])
            who, places = who[kept], places[kept]
        if not places.size:
            return {}
        ends = np.flatnonzero(np.diff(who)) + 1
        return dict(zip(who[[0, *ends.tolist()]].tolist(), np.split(places, ends), strict=True))


def greatest(array: Floats) -> int:
    """The position (flat) of the greatest element by magnitude that is finite."""
    return int(np.argmax(np.where(np.isfinite(array), np.abs(array), -1.0)))


def _evenly(sure: Mapping[int, int], shape: Shape) -> Ids:
    """The places of all elements of an array, where those that are known go on by one step along each axis; else -1."""
    nowhere = np.full(prod(shape), -1, dtype=np.int64)
    if not sure:
        return nowhere
    indices = np.stack([np.ones(prod(shape)), *(axis.ravel() for axis in np.indices(shape))], axis=1)
    known = np.fromiter(sure, dtype=np.int64)
    places = np.fromiter(sure.values(), dtype=np.int64)
    steps = np.linalg.lstsq(indices[known], places.astype(np.float64), rcond=None)[0]
    found = np.rint(indices @ np.rint(steps)).astype(np.int64)
    return found if np.array_equal(found[known], places) else nowhere


def _aligned(k: int, places: Ids, order: Ids, sure: Mapping[int, int], shape: Shape) -> int:
    """Of several places for element k, the one as far from those of its surest neighbours as k is from them.

    places: sorted. sure: the place of each element that has but one; order: these elements, sorted.
    """
    if places.size == 1:
        return int(places[0])
    after = int(np.searchsorted(order, k))
    here = np.unravel_index(k, shape)

    def apart(other: int) -> tuple[int, int]:
        there = np.unravel_index(other, shape)
        common = next((axis for axis, (a, b) in enumerate(zip(here, there, strict=True)) if a != b), len(shape))
        return -common, abs(other - k)

    for other in sorted(order[max(0, after - 1) : after + 1].tolist(), key=apart):
        wanted = sure[other] + k - int(other)
        at = int(np.searchsorted(places, wanted))
        if at < places.size and places[at] == wanted:
            return wanted
    return int(places[0])


def catalogue_of(
    flow: Flow, values: Sequence[Sequence[Array | None]], given: Mapping[int, Ids],
    seeds: Sequence[Mapping[int, Array]], ids: Sequence[Ids | None],
) -> Catalogue:  # fmt: skip
    """All that the single-device plan is given and computes."""
    known = [
        Known(own, tuple(np.asarray(seed[logical], dtype=np.float64) for seed in seeds))
        for logical, own in given.items()
    ]
    seen = set()
    for step in flow.steps:
        for value in step.outputs:
            own_ids = ids[value] if value >= 0 else None
            if own_ids is None or own_ids.tobytes() in seen:
                continue
            seen.add(own_ids.tobytes())
            arrays = [seed[value] for seed in values]
            known.append(Known(own_ids, tuple(np.asarray(array) for array in arrays if array is not None)))
    return Catalogue(known)
